package io.fovea.explorer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Detects missing progress. It counts ticks instead of reading a clock: if the machine does not
 * schedule this process, ticks stop as well.
 */
final class Watchdog {
  private static final long TICK_NANOS = 100_000_000;

  /** The failure threshold in ticks: no step ends, or one worker's step does not. */
  private final long ticksMax;

  private final AtomicLong ticks = new AtomicLong();
  private final AtomicLong marks = new AtomicLong();
  private final Consumer<String> onHang;
  private volatile LongSupplier steps = () -> 0;
  private volatile List<Worker> workers = List.of();
  private static final long SLOW_TICKS = 300;

  private volatile long phaseBegan;
  private volatile String slow = "";
  private volatile String phase = "";
  private volatile boolean stopped;

  /**
   * Starts watching.
   *
   * @param seconds the threshold, on an otherwise idle machine
   * @param onHang gets the stacks of all threads
   */
  Watchdog(int seconds, Consumer<String> onHang) {
    this.ticksMax = seconds * 10L;
    this.onHang = onHang;
    Thread.ofPlatform().daemon().name("watchdog").start(this::watch);
  }

  long ticks() {
    return ticks.get();
  }

  /** Begins another phase. */
  void phase(String name) {
    phase = name;
    phaseBegan = ticks.get();
    slow = "";
    marks.incrementAndGet();
  }

  /** Returns the stacks taken after half a minute of a phase; empty if no phase took so long. */
  String slow() {
    return slow;
  }

  void watch(LongSupplier of, List<Worker> whose) {
    steps = of;
    workers = whose;
  }

  void stop() {
    stopped = true;
  }

  private void watch() {
    long last = -1;
    long since = 0;
    while (!stopped) {
      LockSupport.parkNanos(TICK_NANOS);
      long now = ticks.incrementAndGet();
      if (now - phaseBegan == SLOW_TICKS) {
        slow = stacks();
      }
      long progress = steps.getAsLong() + marks.get() * 1_000_000_007L;
      if (progress != last) {
        last = progress;
        since = now;
      }
      String late = "";
      for (Worker h : workers) {
        if (h.busy != 0 && now - h.since > 2 * ticksMax) {
          late = "worker " + h.id + " did not finish its step";
        }
      }
      if (now - since > ticksMax) {
        late = "no progress";
      }
      if (!late.isEmpty()) {
        onHang.accept(late + " (" + phase + ")\n" + stacks());
        return;
      }
    }
  }

  static String stacks() {
    StringBuilder s = new StringBuilder();
    for (Map.Entry<Thread, StackTraceElement[]> e : Thread.getAllStackTraces().entrySet()) {
      s.append(e.getKey().getName()).append(' ').append(e.getKey().getState()).append('\n');
      for (StackTraceElement at : e.getValue()) {
        s.append("    at ").append(at).append('\n');
      }
    }
    return s.toString();
  }
}
