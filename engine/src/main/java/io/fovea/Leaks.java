package io.fovea;

import java.lang.System.Logger.Level;
import java.lang.ref.Cleaner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds what was never closed, and says where it was made.
 *
 * <p>Watches databases and explicit transactions by phantom reachability, cursors when their
 * transaction ends before them. Any thread.
 */
final class Leaks {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final int SAMPLE = 64;

  /** Outlives databases, since it is there to notice that one was forgotten. */
  private static final class Holder {
    static final Cleaner CLEANER = Cleaner.create();
  }

  private final Options.LeakDetection detection;
  private final AtomicLong found = new AtomicLong();

  Leaks(Options.LeakDetection detection) {
    this.detection = detection;
  }

  /** How many leaks were reported. */
  long found() {
    return found.get();
  }

  @Nullable Throwable siteOfCursor() {
    return detection == Options.LeakDetection.ALL ? new Throwable("opened here") : null;
  }

  /**
   * Watches something that is to be closed.
   *
   * @param release called, by a thread of its own, when it was forgotten
   * @return to be run when it is closed; null if it is not watched
   */
  @Nullable Runnable watch(Object closeable, String what, Runnable release) {
    if (detection == Options.LeakDetection.OFF) {
      return null;
    }
    boolean site =
        detection == Options.LeakDetection.ALL || ThreadLocalRandom.current().nextInt(SAMPLE) == 0;
    Watch watch = new Watch(this, what, site ? new Throwable("made here") : null, release);
    Cleaner.Cleanable cleanable = Holder.CLEANER.register(closeable, watch);
    return () -> {
      watch.closed = true;
      cleanable.clean();
    };
  }

  void report(String what, @Nullable Throwable site) {
    found.incrementAndGet();
    if (site != null) {
      LOG.log(Level.WARNING, what, site);
    } else {
      LOG.log(Level.WARNING, what + " (Options.leakDetection(ALL) tells where it was made)");
    }
  }

  private static final class Watch implements Runnable {
    private final Leaks leaks;
    private final String what;
    private final @Nullable Throwable site;
    private final Runnable release;
    volatile boolean closed;

    Watch(Leaks leaks, String what, @Nullable Throwable site, Runnable release) {
      this.leaks = leaks;
      this.what = what;
      this.site = site;
      this.release = release;
    }

    @Override
    public void run() {
      if (!closed) {
        leaks.report(what + " was never closed", site);
        release.run();
      }
    }
  }
}
