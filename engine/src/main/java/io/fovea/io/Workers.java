package io.fovea.io;

import io.fovea.memory.Threads;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The threads of a device that block on behalf of others: for virtual threads, whose carrier a
 * blocking call would hold, and for batches, whose entries should run concurrently.
 *
 * <p>They start when first needed and end after some idle time. The queue is not bounded, but holds
 * at most one task per waiting caller and a few per batch.
 *
 * <p><b>If no thread can be started</b>, an executor rethrows the error of the start or of an
 * allocation. The task may still be in the queue, and run later. So a task tracks its remaining
 * work, and the caller runs it if it could not be handed over. The caller takes longer then, and a
 * virtual one holds its carrier, but accepted work completes.
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
            Threads.factory("fovea-io " + name + " "));
    executor.allowCoreThreadTimeOut(true);
  }

  int threads() {
    return threads;
  }

  /**
   * Passes a task to a thread.
   *
   * @param task may run several times, concurrently, and late: it tracks its own remaining work
   * @return false if it is not certain that a thread will run it: the caller must then run it, even
   *     if a thread may do so too. Does not throw
   */
  boolean tryExecute(Runnable task) {
    try {
      executor.execute(task);
      return true;
    } catch (RejectedExecutionException | Error e) {
      // Rejected after a close. A device closes after the end of each batch, so this task is done.
      return false;
    }
  }

  /**
   * Performs one operation on a thread of the device while the caller parks, or on the caller if
   * there is no such thread.
   *
   * <p>Exactly one of the two performs it: the one that sets {@code taken}. If that is a thread
   * which starts late, the caller waits for it.
   *
   * @param device its name, for messages
   * @return 0 or an error number
   */
  int perform(DeviceFile file, IoBatch single, String device) {
    AtomicBoolean taken = new AtomicBoolean();
    Runnable task =
        () -> {
          if (taken.compareAndSet(false, true)) {
            single.complete(0, file.perform(single, 0));
          }
        };
    single.begin(device);
    if (!tryExecute(task)) {
      task.run();
    }
    single.await();
    return single.error(0);
  }

  /** Ends the threads. Requires that nothing is in progress. */
  @Override
  public void close() {
    executor.shutdown();
  }
}
