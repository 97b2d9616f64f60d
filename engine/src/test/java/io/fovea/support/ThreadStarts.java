package io.fovea.support;

import io.fovea.memory.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/**
 * Fails thread starts, as when the system has no resources for another thread, and iterations of
 * service threads. Several tests may use it concurrently, for different threads.
 */
public final class ThreadStarts implements AutoCloseable {
  private static final List<ThreadStarts> ALL = new CopyOnWriteArrayList<>();

  private final boolean turns;
  private final Predicate<String> which;
  private final IntPredicate fails;
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();

  private ThreadStarts(boolean turns, Predicate<String> which, IntPredicate fails) {
    this.turns = turns;
    this.which = which;
    this.fails = fails;
    ALL.add(this);
    Threads.onStart(name -> passed(name, false));
    Threads.onIteration(name -> passed(name, true));
  }

  /**
   * Fails starts until this is closed.
   *
   * @param which selects threads by name; called on the starting thread
   * @param fails selects their starts, from 1
   */
  public static ThreadStarts failing(Predicate<String> which, IntPredicate fails) {
    return new ThreadStarts(false, which, fails);
  }

  /**
   * Fails iterations of service threads until this is closed.
   *
   * @param which selects threads by name; called on the thread itself
   * @param fails selects their iterations, from 1
   */
  public static ThreadStarts failingTurns(Predicate<String> which, IntPredicate fails) {
    return new ThreadStarts(true, which, fails);
  }

  private static void passed(String name, boolean turn) {
    for (ThreadStarts s : ALL) {
      if (s.turns == turn && s.which.test(name) && s.fails.test(s.begun.incrementAndGet())) {
        s.failed.incrementAndGet();
        throw new OutOfMemoryError((turn ? "in an iteration of " : "cannot start thread: ") + name);
      }
    }
  }

  /** Returns how many starts or iterations have begun, including failed ones. */
  public int begun() {
    return begun.get();
  }

  /** Returns how many have failed. */
  public int failed() {
    return failed.get();
  }

  @Override
  public void close() {
    ALL.remove(this);
  }
}
