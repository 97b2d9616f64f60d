package io.fovea.cli;

import java.util.concurrent.CountDownLatch;

/**
 * Lets a command that has created something end properly when the JVM exits, as after Ctrl-C:
 * interrupts the thread that runs the command, and delays the exit until that thread has called
 * {@link #close}. Commands of a shell do not need it, because {@link Session#stop} ends them.
 *
 * <pre>
 *   command     working -------------- interrupt ---> cleaning up ---> close()
 *                                          |                             |
 *   exit              hook: stopping ------+        waits ---------------+--> ends
 * </pre>
 *
 * <p>{@link #cleanUp} separates the two phases: afterwards the thread is not interrupted, so that
 * closing and deleting work. Created and closed by the thread of the command.
 */
final class UntilExit implements AutoCloseable {
  private final Thread worker = Thread.currentThread();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread hook = new Thread(this::stop, "fovea-end");
  private volatile boolean stopping;

  /** Guarded by this. */
  private boolean cleaning;

  UntilExit() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** Ends the command; returns when it has ended. Called by the hook, and by tests. */
  void stop() {
    synchronized (this) {
      stopping = true;
      if (!cleaning) {
        worker.interrupt();
      }
    }
    boolean interrupted = false;
    while (true) {
      try {
        ended.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether the command must end. */
  boolean isStopping() {
    return stopping;
  }

  /** Begins to clean up. */
  synchronized void cleanUp() {
    cleaning = true;
    if (stopping) {
      Thread.interrupted(); // clears an interrupt meant for the work
    }
  }

  @Override
  public void close() {
    cleanUp();
    ended.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the JVM is ending
    }
  }
}
