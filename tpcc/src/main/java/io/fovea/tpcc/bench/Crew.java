package io.fovea.tpcc.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Platform or virtual threads that start and end together. The first failure stops them all. */
public final class Crew {
  private final String name;
  private final Shutdown shutdown;
  private final Thread.Builder builder;
  private final Thread[] threads;
  private final CountDownLatch running;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private volatile boolean stop;

  public Crew(String name, int size, boolean virtual, Shutdown shutdown) {
    this.name = name;
    this.builder = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
    this.shutdown = shutdown;
    this.threads = new Thread[size];
    this.running = new CountDownLatch(size);
  }

  /** The work of each thread. */
  @FunctionalInterface
  public interface Job {
    void run(int number);
  }

  public void start(Job job) {
    for (int i = 0; i < threads.length; i++) {
      int number = i;
      threads[i] =
          builder
              .name(name + "-" + i)
              .unstarted(
                  () -> {
                    try {
                      job.run(number);
                    } catch (Throwable t) {
                      if (!failure.compareAndSet(null, t)) {
                        failure.get().addSuppressed(t);
                      }
                      stop();
                    } finally {
                      running.countDown();
                    }
                  });
    }
    for (Thread t : threads) {
      t.start();
    }
  }

  /** Tells whether threads should end, for whatever reason. */
  public boolean stopping() {
    return stop || shutdown.requested();
  }

  public void stop() {
    stop = true;
  }

  /** Waits until the threads have ended; false if the time ran out first. */
  public boolean await(long nanos) {
    try {
      return running.await(Math.max(nanos, 0), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      stop();
      Thread.currentThread().interrupt();
      throw new DriverException(Exit.INTERRUPTED, "interrupted");
    }
  }

  /** Waits for a time; true if the threads have ended, or are about to because a signal arrived. */
  public boolean endsWithin(long nanos) {
    return await(nanos) || shutdown.requested();
  }

  /** Stops the threads and waits for their end. */
  public void join() {
    stop();
    while (!await(TimeUnit.SECONDS.toNanos(1))) {
      // a transaction may take long
    }
  }

  /** Throws if a thread failed. Call after the threads have ended. */
  private void checkFailure() {
    Throwable t = failure.get();
    if (t != null) {
      throw new DriverException(Exit.ERROR, "a " + name + " thread failed: " + t, t);
    }
  }

  /**
   * Stops the threads and waits for their end. A signal is not a failure: the results so far count,
   * and {@link Shutdown#results} ends the command.
   *
   * @param early whether they had ended, or were about to, before the planned time
   * @throws DriverException if a thread failed
   * @throws IllegalStateException if they ended early without a signal or failure
   */
  public void end(boolean early) {
    join();
    checkFailure();
    if (early && !shutdown.requested()) {
      throw new IllegalStateException("the " + name + " threads ended early");
    }
  }

  /**
   * Throws if the ended threads left work undone.
   *
   * @param meaning the consequence of a signal for the user
   * @throws DriverException if a thread failed or a signal arrived
   */
  public void check(Progress progress, String meaning) {
    checkFailure();
    shutdown.check(progress, meaning);
  }
}
