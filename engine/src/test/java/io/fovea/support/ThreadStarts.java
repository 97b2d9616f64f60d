package io.fovea.support;

import io.fovea.memory.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/**
 * Starts of threads that fail as they do where the system has no room for one more, and turns of
 * threads that serve others. Several tests may do that at the same time, each with threads of its
 * own.
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
    Threads.onTurn(name -> passed(name, true));
  }

  /**
   * Fails starts until this is closed.
   *
   * @param which threads, by name; asked on the thread that starts
   * @param fails which of their starts, from 1
   */
  public static ThreadStarts failing(Predicate<String> which, IntPredicate fails) {
    return new ThreadStarts(false, which, fails);
  }

  /**
   * Fails turns of threads that serve others, until this is closed.
   *
   * @param which threads, by name; asked on the thread itself
   * @param fails which of their turns, from 1
   */
  public static ThreadStarts failingTurns(Predicate<String> which, IntPredicate fails) {
    return new ThreadStarts(true, which, fails);
  }

  private static void passed(String name, boolean turn) {
    for (ThreadStarts s : ALL) {
      if (s.turns == turn && s.which.test(name) && s.fails.test(s.begun.incrementAndGet())) {
        s.failed.incrementAndGet();
        throw new OutOfMemoryError((turn ? "in a turn of " : "no thread to be had: ") + name);
      }
    }
  }

  /** How many have begun, those that failed included. */
  public int begun() {
    return begun.get();
  }

  /** How many have failed. */
  public int failed() {
    return failed.get();
  }

  @Override
  public void close() {
    ALL.remove(this);
  }
}
