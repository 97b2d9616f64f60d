package io.fovea.explorer;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Delays of threads at places of the engine that {@link DelayWeaver} marks. For each life some of
 * the places are chosen. The first threads that come to such a place are delayed with a high
 * probability, later ones more and more rarely: so rare steps are stretched as often as frequent
 * ones, and a life takes about as long as without.
 *
 * <p>Any thread.
 */
public final class Delays {
  private static final int MAX = 1 << 15;
  private static final AtomicInteger NUMBER = new AtomicInteger();

  /**
   * Of each place: how many threads pass it until one is delayed; 0 where none is. Not exact: two
   * threads may count as one.
   */
  private static final int[] LEFT = new int[MAX];

  private static final int[] PASSED = new int[MAX];

  /** Where threads were stopped: a place that is not among these comes first. */
  private static final boolean[] STOPPED_BEFORE = new boolean[MAX];

  private static final boolean[] STOPPED_BEFORE_END = new boolean[MAX];

  /** Of so many times that a thread comes to a place where none was stopped, it is once. */
  private static final int NEW = 16;

  /** How threads are stopped now; null if they are not. */
  private static volatile @Nullable Stop stop;

  /** The last one that has stopped the thread. */
  private static final ThreadLocal<@Nullable Stop> LAST = new ThreadLocal<>();

  /** Threads come to stand where they are, each once, until all may go on. */
  private static final class Stop {
    final boolean[] before;
    final int rarely;
    final long nanos;
    volatile boolean over;

    Stop(boolean[] before, int rarely, long nanos) {
      this.before = before;
      this.rarely = rarely;
      this.nanos = nanos;
    }
  }

  private Delays() {}

  /** The number of a place. */
  static int site(String where) {
    return Math.min(MAX - 1, NUMBER.getAndIncrement()); // the last one may be several
  }

  /**
   * From now on there are delays at other places.
   *
   * @param part one place of so many is chosen; 0 for none
   */
  public static void choose(Random random, int part) {
    for (int i = 0; i < MAX; i++) {
      PASSED[i] = 1;
      LEFT[i] = part > 0 && random.nextInt(part) == 0 ? 1 + random.nextInt(4) : 0;
    }
  }

  /** A thread comes to a place. */
  public static void at(int site) {
    if (LEFT[site] != 0) {
      pass(site);
    }
    Stop now = stop;
    if (now != null) {
      stop(now, site);
    }
  }

  /**
   * From now on each thread is stopped once somewhere, as if it had lost its processor.
   *
   * @param atEnd whether the database is about to end: that has places of its own that are new
   * @param millis for how long at most
   */
  public static void stop(Random random, boolean atEnd, int millis) {
    stop =
        new Stop(
            atEnd ? STOPPED_BEFORE_END : STOPPED_BEFORE,
            1 << 4 + random.nextInt(12),
            millis * 1_000_000L);
    if (atEnd && random.nextInt(4) != 0) {
      LAST.set(stop); // this thread ends the database, and the others stand meanwhile
    }
  }

  /**
   * No thread is stopped from now on; those that were may go on, or only when their time is over.
   */
  public static void stopNoMore(boolean mayGo) {
    Stop now = stop;
    if (now != null) {
      now.over = mayGo;
    }
    stop = null;
  }

  private static void stop(Stop now, int site) {
    int one = now.before[site] ? now.rarely : NEW;
    if (ThreadLocalRandom.current().nextInt(one) != 0 || LAST.get() == now) {
      return;
    }
    LAST.set(now);
    now.before[site] = true;
    long until = System.nanoTime() + now.nanos;
    while (!now.over && System.nanoTime() < until && delay(500_000)) {
      // stands
    }
  }

  private static void pass(int site) {
    if (--LEFT[site] != 0) {
      return;
    }
    ThreadLocalRandom r = ThreadLocalRandom.current();
    int passed = Math.min(PASSED[site], 1 << 24);
    PASSED[site] = 4 * passed;
    LEFT[site] = 1 + r.nextInt(4 * passed);
    int how = r.nextInt(16);
    delay(r.nextInt(how == 0 ? 20_000_000 : how < 6 ? 2_000_000 : 200_000));
  }

  /** Does not park: that would take a permit that is meant for the engine's own wait. */
  private static boolean delay(int nanos) {
    try {
      Thread.sleep(nanos / 1_000_000, nanos % 1_000_000);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
