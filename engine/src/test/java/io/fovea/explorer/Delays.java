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

  /** For how long a thread is stopped while the database ends. */
  private static final long END_NANOS = 3_000_000_000L;

  /**
   * How often in a row the ending thread must be seen waiting before a stopped thread goes on. Some
   * threads are so patient that a close gives up its limited waits and reaches its later steps.
   */
  private static final int[] WAITS = {50, 100, 1_000, Integer.MAX_VALUE};

  private static final AtomicInteger NUMBER = new AtomicInteger();

  /**
   * Of each place: how many threads pass it until one is delayed; 0 where none is. Not exact: two
   * threads may count as one.
   */
  private static final int[] LEFT = new int[MAX];

  private static final int[] PASSED = new int[MAX];

  /** How often threads came to each place while some were to be stopped. */
  private static final int[] MET = new int[MAX];

  private static final int[] MET_AT_END = new int[MAX];

  /** The same for threads that end the database. */
  private static final int[] MET_BY_END = new int[MAX];

  /** How threads are stopped now; null if they are not. */
  private static volatile @Nullable Stop stop;

  /** The last one that has stopped the thread. */
  private static final ThreadLocal<@Nullable Stop> LAST = new ThreadLocal<>();

  /** Threads come to stand where they are, each once, until all may go on. */
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

  /** The number of a place. */
  static int site(String where) {
    return Math.min(MAX - 1, NUMBER.getAndIncrement()); // the last one may be several
  }

  /**
   * From now on there are delays at other places.
   *
   * @param part one site in {@code part} is chosen; 0 for none
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
   * @param millis for how long at most
   */
  public static void stop(int millis) {
    stop = new Stop(MET, null, millis * 1_000_000L);
  }

  /**
   * The same while the calling thread ends the database: until it has, or waits. At one of its own
   * sites it lets the others go on and is delayed itself, so that they run between any two of its
   * steps.
   */
  public static void stopAtEnd() {
    stop = new Stop(MET_AT_END, Thread.currentThread(), END_NANOS);
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

  /** Each place gets its turn about as often as any other one, however often threads come there. */
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
