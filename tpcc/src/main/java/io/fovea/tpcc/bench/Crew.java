package io.fovea.tpcc.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Threads that begin and end together, platform or virtual ones. The first failure stops them all.
 */
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

  /** What each thread does. */
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

  /** Whether a thread is to come to an end, for whatever reason. */
  public boolean stopping() {
    return stop || shutdown.requested();
  }

  public void stop() {
    stop = true;
  }

  /** Waits for the threads' end; false if the time was over first. */
  public boolean await(long nanos) {
    try {
      return running.await(Math.max(nanos, 0), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      stop();
      Thread.currentThread().interrupt();
      throw new DriverException(Exit.INTERRUPTED, "interrupted");
    }
  }

  /** Waits for so long; true if the threads have ended before, or are about to: a signal came. */
  public boolean endsWithin(long nanos) {
    return await(nanos) || shutdown.requested();
  }

  /** Stops the threads and waits for their end. */
  public void join() {
    stop();
    while (!await(TimeUnit.SECONDS.toNanos(1))) {
      // a transaction may take its time
    }
  }

  /**
   * Complains after the threads' end where one of them failed.
   *
   * @throws DriverException if a thread failed
   */
  private void checkFailure() {
    Throwable t = failure.get();
    if (t != null) {
      throw new DriverException(Exit.ERROR, "a " + name + " thread failed: " + t, t);
    }
  }

  /**
   * Stops the threads and waits for their end. A signal is a good one: what there is until then
   * counts, and {@link Shutdown#results} ends the command.
   *
   * @param early whether they had ended, or had been about to, when they were to go on
   * @throws DriverException if a thread failed
   * @throws IllegalStateException if they ended early, and nobody had told them to
   */
  public void end(boolean early) {
    join();
    checkFailure();
    if (early && !shutdown.requested()) {
      throw new IllegalStateException("the " + name + " threads ended before their time");
    }
  }

  /**
   * Complains after the threads' end where they have not done all that was to be done.
   *
   * @param meaning what it means for the user that a signal has stopped them
   * @throws DriverException if a thread failed or a signal came
   */
  public void check(Progress progress, String meaning) {
    checkFailure();
    shutdown.check(progress, meaning);
  }
}
