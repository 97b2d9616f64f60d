package io.fovea.io;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads of a device that block so that others need not: for virtual threads, whose carrier a
 * blocking call would hold, for batches, whose entries should be under way together, and for
 * channels, which an interrupt of a caller would close.
 *
 * <p>They start when they are first needed and end when there was nothing to do for a while. The
 * queue has no bound of its own: what waits in it is at most one task for each caller that waits
 * for it, and a few for each batch.
 */
final class Workers implements AutoCloseable {
  private static final long IDLE_SECONDS = 10;

  private final ThreadPoolExecutor executor;
  private final int threads;

  Workers(String name, int threads) {
    this.threads = threads;
    this.executor =
        new ThreadPoolExecutor(
            threads,
            threads,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("fovea-io " + name + " ", 0).factory());
    executor.allowCoreThreadTimeOut(true);
  }

  int threads() {
    return threads;
  }

  void execute(Runnable task) {
    executor.execute(task);
  }

  /** Only when nothing is under way any more. */
  @Override
  public void close() {
    executor.shutdown();
  }
}
