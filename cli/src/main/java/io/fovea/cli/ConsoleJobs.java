package io.fovea.cli;

import io.fovea.cli.console.Failure;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The long operations of a console, one at a time, each on its own thread. The last one of each
 * kind is kept with its result. Thread-safe.
 */
final class ConsoleJobs implements AutoCloseable {
  /** An operation. */
  private static final class Job {
    final Thread thread;
    final LongSupplier done;
    final long total;
    final long began = System.nanoTime();
    boolean running = true;
    long nanos;
    @Nullable Object result;
    @Nullable String error;

    Job(Thread thread, LongSupplier done, long total) {
      this.thread = thread;
      this.done = done;
      this.total = total;
    }
  }

  private final Map<String, Job> jobs = new TreeMap<>();
  private boolean closed;

  /**
   * Starts an operation.
   *
   * @param kind its name
   * @param done what it has done so far
   * @param total what it has to do; 0 if unknown
   * @param work returns its result
   */
  synchronized void start(String kind, LongSupplier done, long total, Callable<Object> work) {
    requireIdle();
    Thread thread = new Thread(() -> run(kind, work), "fovea-console-" + kind);
    thread.setDaemon(true);
    jobs.put(kind, new Job(thread, done, total));
    thread.start();
  }

  private void requireIdle() {
    if (closed) {
      throw new Failure(503, "the console is shutting down");
    }
    jobs.forEach(
        (kind, job) -> {
          if (job.running) {
            throw new Failure(409, "an operation is running: " + kind + ". Wait, or cancel it");
          }
        });
  }

  private void run(String kind, Callable<Object> work) {
    Object result = null;
    String error = "the operation failed"; // if its error can't be described
    try {
      result = work.call();
      error = null;
    } catch (Throwable e) { // otherwise an error would let the operation run forever
      error = ConsoleApi.failure(e).getMessage();
    } finally {
      ended(kind, result, error);
    }
  }

  private void ended(String kind, @Nullable Object result, @Nullable String error) {
    synchronized (this) {
      Job job = jobs.get(kind);
      if (job != null) {
        job.running = false;
        job.nanos = System.nanoTime() - job.began;
        job.result = result;
        job.error = error;
      }
    }
  }

  /** The state of each operation by kind. */
  synchronized Map<String, Map<String, @Nullable Object>> all() {
    Map<String, Map<String, @Nullable Object>> all = new LinkedHashMap<>();
    jobs.forEach(
        (kind, job) -> {
          Map<String, @Nullable Object> m = new LinkedHashMap<>();
          m.put("running", job.running);
          m.put("done", job.running ? job.done.getAsLong() : 0);
          m.put("total", job.total);
          m.put("seconds", (job.running ? System.nanoTime() - job.began : job.nanos) / 1e9);
          m.put("error", job.error);
          m.put("result", job.result);
          all.put(kind, m);
        });
    return all;
  }

  /** Interrupts an operation. */
  synchronized void cancel(String kind) {
    Job job = jobs.get(kind);
    if (job != null && job.running) {
      job.thread.interrupt();
    }
  }

  /** Interrupts all operations, and waits for their end. */
  @Override
  public void close() {
    Map<String, Job> all;
    synchronized (this) {
      closed = true;
      all = new TreeMap<>(jobs);
    }
    all.forEach(
        (kind, job) -> {
          cancel(kind);
          boolean interrupted = false;
          while (job.thread.isAlive()) {
            try {
              job.thread.join();
            } catch (InterruptedException e) {
              interrupted = true;
            }
          }
          if (interrupted) {
            Thread.currentThread().interrupt();
          }
        });
  }
}
