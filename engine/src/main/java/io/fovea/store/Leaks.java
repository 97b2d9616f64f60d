package io.fovea.store;

import io.fovea.config.LeakDetection;
import java.lang.System.Logger.Level;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds objects that were never closed, and reports where they were created.
 *
 * <p>Unclosed databases and explicit transactions are found when they become unreachable ({@link
 * LeakRegistry}); unclosed cursors are found when their transaction ends. Thread-safe.
 */
public final class Leaks {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final int oneOf;
  private final AtomicLong found = new AtomicLong();

  /** Creates a detector; {@code detection} selects the objects whose creation site is recorded. */
  public Leaks(LeakDetection detection) {
    this.oneOf =
        switch (detection) {
          case OFF -> 0;
          case SAMPLED -> 64;
          case ALL -> 1;
        };
  }

  /** Returns the number of reported leaks. */
  public long found() {
    return found.get();
  }

  /** Ends the registry's thread if nothing in the process is watched. */
  public static void endIfUnused() {
    LeakRegistry.endIfUnused();
  }

  public @Nullable Throwable siteOfCursor() {
    return oneOf == 1 ? new Throwable("opened here") : null;
  }

  /**
   * Watches a closeable object.
   *
   * @param release called by the registry's thread if the object has leaked
   * @return an action to run when the object is closed; null if it is not watched
   * @throws OutOfMemoryError if it cannot be watched
   */
  public @Nullable Runnable watch(Object closeable, String what, Runnable release) {
    if (oneOf == 0) {
      return null;
    }
    boolean site = ThreadLocalRandom.current().nextInt(oneOf) == 0;
    Watch watch =
        new Watch(closeable, this, what, site ? new Throwable("created here") : null, release);
    boolean held = false;
    try {
      LeakRegistry.hold(watch);
      held = true;
      return watch;
    } finally {
      // The caller closes an object that is not watched, so it must not be released again.
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
          Level.WARNING,
          what + " (TransactionOptions.leakDetection(ALL) reports where it was created)");
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
    void leaked() {
      try {
        leaks.report(what + " was never closed", site);
      } finally {
        release.run(); // even if the logger fails
      }
    }
  }
}
