package io.fovea.support;

import io.fovea.memory.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/**
 * Starts of threads that fail as they do where the system has no room for one more. Several tests
 * may do that at the same time, each with threads of its own.
 */
public final class ThreadStarts implements AutoCloseable {
  private static final List<ThreadStarts> ALL = new CopyOnWriteArrayList<>();

  private final Predicate<String> which;
  private final IntPredicate fails;
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();

  private ThreadStarts(Predicate<String> which, IntPredicate fails) {
    this.which = which;
    this.fails = fails;
    ALL.add(this);
    Threads.onStart(ThreadStarts::started);
  }

  /**
   * Fails starts until this is closed.
   *
   * @param which threads, by name; asked on the thread that starts
   * @param fails which of their starts, from 1
   */
  public static ThreadStarts failing(Predicate<String> which, IntPredicate fails) {
    return new ThreadStarts(which, fails);
  }

  private static void started(String name) {
    for (ThreadStarts s : ALL) {
      if (s.which.test(name) && s.fails.test(s.begun.incrementAndGet())) {
        s.failed.incrementAndGet();
        throw new OutOfMemoryError("unable to create native thread: " + name);
      }
    }
  }

  /** How many starts have failed. */
  public int failed() {
    return failed.get();
  }

  @Override
  public void close() {
    ALL.remove(this);
  }
}
