package io.fovea.store;

import io.fovea.config.LeakDetection;
import java.lang.System.Logger.Level;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds what was never closed, and says where it was made.
 *
 * <p>Watches databases and explicit transactions by phantom reachability ({@link LeakRegistry}),
 * cursors when their transaction ends before them. Any thread.
 */
public final class Leaks {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final int oneOf;
  private final AtomicLong found = new AtomicLong();

  /**
   * A detector.
   *
   * @param detection which of the things that are watched remember where they were made
   */
  public Leaks(LeakDetection detection) {
    this.oneOf =
        switch (detection) {
          case OFF -> 0;
          case SAMPLED -> 64;
          case ALL -> 1;
        };
  }

  /** How many leaks were reported. */
  public long found() {
    return found.get();
  }

  /**
   * Ends the thread that finds what was forgotten, if nothing of the process is watched any more.
   */
  public static void endIfUnused() {
    LeakRegistry.endIfUnused();
  }

  public @Nullable Throwable siteOfCursor() {
    return oneOf == 1 ? new Throwable("opened here") : null;
  }

  /**
   * Watches something that is to be closed.
   *
   * @param release called, by a thread of its own, when it was forgotten
   * @return to be run when it is closed; null if it is not watched
   * @throws OutOfMemoryError where it can't be watched; nothing is then
   */
  public @Nullable Runnable watch(Object closeable, String what, Runnable release) {
    if (oneOf == 0) {
      return null;
    }
    boolean site = ThreadLocalRandom.current().nextInt(oneOf) == 0;
    Watch watch =
        new Watch(closeable, this, what, site ? new Throwable("made here") : null, release);
    boolean held = false;
    try {
      LeakRegistry.hold(watch);
      held = true;
      return watch;
    } finally {
      // The caller closes what is not watched: it must not be released once more later.
      if (!held) {
        watch.run();
      }
    }
  }

  public void report(String what, @Nullable Throwable site) {
    found.incrementAndGet();
    if (site != null) {
      LOG.log(Level.WARNING, what, site);
    } else {
      LOG.log(
          Level.WARNING, what + " (TransactionOptions.leakDetection(ALL) tells where it was made)");
    }
  }

  private static final class Watch extends LeakRegistry.Watch {
    private final Leaks leaks;
    private final String what;
    private final @Nullable Throwable site;
    private final Runnable release;

    Watch(Object closeable, Leaks leaks, String what, @Nullable Throwable site, Runnable release) {
      super(closeable);
      this.leaks = leaks;
      this.what = what;
      this.site = site;
      this.release = release;
    }

    @Override
    void forgotten() {
      try {
        leaks.report(what + " was never closed", site);
      } finally {
        release.run(); // also where the logger fails
      }
    }
  }
}
