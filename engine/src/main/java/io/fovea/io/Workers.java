package io.fovea.io;

import io.fovea.memory.Threads;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The threads of a device that block so that others need not: for virtual threads, whose carrier a
 * blocking call would hold, and for batches, whose entries should be under way together.
 *
 * <p>They start when they are first needed and end when there was nothing to do for a while. The
 * queue has no bound of its own: what waits in it is at most one task for each caller that waits
 * for it, and a few for each batch.
 *
 * <p><b>No thread to be had.</b> An executor passes on what the start of a thread throws, and what
 * an allocation throws. Neither says whether a thread has the task: it may be in the queue. So a
 * task counts for itself what is left to do, and the caller runs it when it could not be handed
 * over. The caller takes longer then, and a virtual one holds its carrier; but what was accepted
 * comes to its end.
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
   * Has a thread run a task.
   *
   * @param task may be run several times, at the same time, and late: it counts for itself what is
   *     left to do
   * @return false where that is not certain: then the caller is to run it, whether or not a thread
   *     comes to it, too. Nothing is thrown
   */
  boolean tryExecute(Runnable task) {
    try {
      executor.execute(task);
      return true;
    } catch (RejectedExecutionException | Error e) {
      // Rejected: closed. A device closes behind the end of each batch, so this task has been done.
      return false;
    }
  }

  /**
   * Does one operation on a thread of the device while the caller parks; on the caller, where there
   * is no such thread.
   *
   * <p>Exactly one of the two does it: who sets {@code taken}. If that is a thread which comes to
   * it late, the caller waits for it as it would have anyway.
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

  /** Only when nothing is under way any more. */
  @Override
  public void close() {
    executor.shutdown();
  }
}
