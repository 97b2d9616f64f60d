package io.fovea.explorer;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Listeners of the close, some of which fail: each is called once, and the database closes. */
final class Listeners {
  private final List<AtomicInteger> told = new CopyOnWriteArrayList<>();

  static void step(Life life, Worker worker) {
    Listeners own = life.state(Listeners.class, Listeners::new);
    AtomicInteger times = new AtomicInteger();
    int how = worker.random.nextInt(4);
    life.db.onClose(
        () -> {
          times.incrementAndGet();
          if (how == 0) {
            throw new IllegalStateException("of a listener");
          }
          if (how == 1) {
            throw new AssertionError("of a listener");
          }
        });
    own.told.add(times);
  }

  /** Called when the database is closed and no longer used. */
  static void check(Life life) {
    for (AtomicInteger times : life.state(Listeners.class, Listeners::new).told) {
      Violation.same(1, times.get(), "calls of a close listener");
    }
  }
}
