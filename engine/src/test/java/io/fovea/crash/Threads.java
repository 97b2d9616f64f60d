package io.fovea.crash;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Runs work in several threads, every second one virtual. */
final class Threads {
  private Threads() {}

  interface Body {
    void run(int id) throws Exception;
  }

  /** Runs a body in each thread and waits for all; throws the first failure. */
  static void run(int count, Body body) throws Exception {
    Queue<Throwable> failed = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int id = i;
      Runnable run =
          () -> {
            try {
              body.run(id);
            } catch (Throwable e) {
              failed.add(e);
            }
          };
      threads.add(i % 2 == 0 ? Thread.ofPlatform().start(run) : Thread.startVirtualThread(run));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!failed.isEmpty()) {
      throw new AssertionError(failed.peek());
    }
  }
}
