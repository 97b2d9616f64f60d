package io.fovea.buffer;

import io.fovea.config.Pretouch;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Touches memory before it is needed, with several threads in turn.
 *
 * <pre>
 *   0        2 MiB    4 MiB    6 MiB
 *   | thread 0 | thread 1 | thread 2 | thread 0 | ...
 * </pre>
 *
 * <p>The system places memory on the node of the thread that touches it first, and clears it there.
 * A single thread would put the whole buffer on one node, and take a second for a few GiB. Several
 * threads are spread over the nodes, and with them the stripes of the buffer.
 *
 * <p>Runs before the pool is opened, or concurrently with its use.
 */
final class Pretoucher {
  private static final long PAGE = 4096;
  private static final long STRIPE = 2L << 20;

  private static final long BYTES_EACH = 256L << 20;

  private static final int THREADS_MAX = 32;

  private final @Nullable Thread ahead;
  private volatile boolean stopped;

  Pretoucher(Frames frames, Pretouch when) {
    if (when == Pretouch.BLOCKING) {
      frames.pretouch(() -> false);
    }
    ahead = when == Pretouch.BACKGROUND ? start(frames) : null;
  }

  private @Nullable Thread start(Frames frames) {
    try {
      return Threads.start("fovea-pretouch", () -> frames.pretouch(() -> stopped));
    } catch (OutOfMemoryError none) {
      return null; // memory is touched on first use
    }
  }

  /** Runs the next step of opening, and stops if it fails, because the memory is then released. */
  void runOrStop(Runnable next) {
    boolean done = false;
    try {
      next.run();
      done = true;
    } finally {
      if (!done) {
        stop();
      }
    }
  }

  /** Stops and waits for the thread, before the memory is released. */
  void stop() {
    stopped = true;
    while (ahead != null && ahead.isAlive()) {
      Thread.yield();
    }
  }

  /** Touches each page of the given range once; returns when that is done, or stopped. */
  static void touch(long bytes, BooleanSupplier stopped, LongConsumer touch) {
    int cpus = Runtime.getRuntime().availableProcessors();
    touch(bytes, threads(bytes, cpus), stopped, touch);
  }

  static int threads(long bytes, int cpus) {
    return (int) Math.max(1, Math.min(Math.min(cpus, THREADS_MAX), bytes / BYTES_EACH));
  }

  static void touch(long bytes, int threads, BooleanSupplier stopped, LongConsumer touch) {
    List<Thread> others = new ArrayList<>();
    try {
      for (int i = 1; i < threads; i++) {
        int number = i;
        others.add(
            Threads.start("fovea-pretouch", () -> stripes(bytes, number, threads, stopped, touch)));
      }
    } catch (OutOfMemoryError none) {
      // This thread does the rest.
    }
    try {
      stripes(bytes, 0, threads, stopped, touch);
      for (int i = others.size() + 1; i < threads; i++) {
        stripes(bytes, i, threads, stopped, touch);
      }
    } finally {
      // Even on failure: the memory that they touch is released afterwards.
      others.forEach(Waits::join);
    }
  }

  private static void stripes(
      long bytes, int first, int threads, BooleanSupplier stopped, LongConsumer touch) {
    for (long from = first * STRIPE; from < bytes; from += threads * STRIPE) {
      long end = Math.min(bytes, from + STRIPE);
      for (long at = from; at < end && !stopped.getAsBoolean(); at += PAGE) {
        touch.accept(at);
      }
    }
  }
}
