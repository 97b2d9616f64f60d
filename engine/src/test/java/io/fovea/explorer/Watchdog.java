package io.fovea.explorer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Notices that nothing goes on any more. It counts ticks of its own instead of reading a clock: on
 * a machine that gives this process no time there are no ticks either.
 */
final class Watchdog {
  private static final long TICK_NANOS = 100_000_000;

  /** So long nobody ends a step, or one hand does not. */
  private final long ticksMax;

  private final AtomicLong ticks = new AtomicLong();
  private final AtomicLong marks = new AtomicLong();
  private final Consumer<String> onHang;
  private volatile LongSupplier steps = () -> 0;
  private volatile List<Hand> hands = List.of();
  private static final long SLOW_TICKS = 300;

  private volatile long phaseBegan;
  private volatile String slow = "";
  private volatile String phase = "";
  private volatile boolean stopped;

  /**
   * Begins to watch.
   *
   * @param seconds how long nothing may happen, on a machine that is idle otherwise
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

  /** Something else goes on now. */
  void phase(String name) {
    phase = name;
    phaseBegan = ticks.get();
    slow = "";
    marks.incrementAndGet();
  }

  /** The stacks of all threads when the phase had taken half a minute; empty if it has not. */
  String slow() {
    return slow;
  }

  void watch(LongSupplier of, List<Hand> whose) {
    steps = of;
    hands = whose;
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
      for (Hand h : hands) {
        if (h.busy != 0 && now - h.since > 2 * ticksMax) {
          late = "hand " + h.id + " does not end its step";
        }
      }
      if (now - since > ticksMax) {
        late = "nothing goes on";
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
