package io.fovea.explorer;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Delays threads at sites of the engine that {@link DelayWeaver} adds. Some sites are chosen for
 * each life. The first threads at a site are likely to be delayed, later ones less and less: so
 * rare steps are stretched as often as frequent ones, at little total cost. Thread-safe.
 */
public final class Delays {
  private static final int MAX = 1 << 15;

  /** How long a thread is stopped while the database ends. */
  private static final long END_NANOS = 3_000_000_000L;

  /**
   * How often in a row the ending thread must be seen waiting before a stopped thread goes on. Some
   * threads stay stopped for so long that a close times out in its bounded waits and reaches its
   * later steps.
   */
  private static final int[] WAITS = {50, 100, 1_000, Integer.MAX_VALUE};

  private static final AtomicInteger NUMBER = new AtomicInteger();

  /**
   * By site, how many threads pass until one is delayed; 0: none is. Racy: two threads may count as
   * one.
   */
  private static final int[] LEFT = new int[MAX];

  private static final int[] PASSED = new int[MAX];

  /** By site, how often threads arrived while threads were to be stopped. */
  private static final int[] MET = new int[MAX];

  private static final int[] MET_AT_END = new int[MAX];

  /** The same for threads that end the database. */
  private static final int[] MET_BY_END = new int[MAX];

  /** How threads are currently stopped; null if they are not. */
  private static volatile @Nullable Stop stop;

  /** The last stop that has affected the thread. */
  private static final ThreadLocal<@Nullable Stop> LAST = new ThreadLocal<>();

  /** Stops each thread once, until all are released. */
  private static final class Stop {
    final int[] met;
    final @Nullable Thread ending;
    final long nanos;
    volatile boolean over;

    Stop(int[] met, @Nullable Thread ending, long nanos) {
      this.met = met;
      this.ending = ending;
      this.nanos = nanos;
    }
  }

  private Delays() {}

  /** Returns the number of a new site. */
  static int site(String where) {
    return Math.min(
        MAX - 1, NUMBER.getAndIncrement()); // sites beyond the limit share the last number
  }

  /**
   * Chooses the sites of delays.
   *
   * @param part one site in {@code part} is chosen; 0: none
   */
  public static void choose(Random random, int part) {
    for (int i = 0; i < MAX; i++) {
      PASSED[i] = 1;
      LEFT[i] = part > 0 && random.nextInt(part) == 0 ? 1 + random.nextInt(4) : 0;
    }
  }

  /** Called at a site. */
  public static void at(int site) {
    if (LEFT[site] != 0) {
      pass(site);
    }
    Stop now = stop;
    if (now != null) {
      stop(now, site);
    }
  }

  /** Stops each thread once from now on, for up to {@code millis}, as if it were descheduled. */
  public static void stop(int millis) {
    stop = new Stop(MET, null, millis * 1_000_000L);
  }

  /**
   * The same while the calling thread ends the database: until it has, or waits. At one of its
   * sites it resumes the others and is delayed itself, so that they run between any two of its
   * steps.
   */
  public static void stopAtEnd() {
    stop = new Stop(MET_AT_END, Thread.currentThread(), END_NANOS);
  }

  /** Stops no more threads; {@code mayGo}: releases the stopped ones before their time is over. */
  public static void stopNoMore(boolean mayGo) {
    Stop now = stop;
    if (now != null) {
      now.over = mayGo;
    }
    stop = null;
  }

  /** Selects all sites about equally often, however often threads arrive there. */
  private static void stop(Stop now, int site) {
    if (LAST.get() == now) {
      return;
    }
    Thread ending = now.ending;
    boolean ends = ending == Thread.currentThread();
    int times = ends ? MET_BY_END[site]++ : now.met[site]++;
    if (ThreadLocalRandom.current().nextInt(16 + (times >> 2)) != 0) {
      return;
    }
    LAST.set(now);
    if (ends) {
      now.over = true;
      delay(ThreadLocalRandom.current().nextInt(1, 100) * 1_000_000);
      return;
    }
    long until = System.nanoTime() + now.nanos;
    int most = WAITS[ThreadLocalRandom.current().nextInt(WAITS.length)];
    int waits = 0;
    while (!now.over && System.nanoTime() < until && waits < most && delay(500_000)) {
      waits = ending == null || ending.getState() == Thread.State.RUNNABLE ? 0 : waits + 1;
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

  /** Does not park, which would consume a permit meant for the engine's own wait. */
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
