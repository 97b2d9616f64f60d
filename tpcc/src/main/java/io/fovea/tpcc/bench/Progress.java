package io.fovea.tpcc.bench;

import java.io.PrintWriter;
import java.util.Locale;

/** Prints progress lines. */
public final class Progress {
  /** The interval between lines. */
  public static final long INTERVAL_NANOS = 2_000_000_000L;

  private final PrintWriter out;

  public Progress(PrintWriter out) {
    this.out = out;
  }

  /** Returns "1 thread" or "2 threads". */
  public static String count(int n, String what) {
    return String.format(Locale.ROOT, "%,d %s%s", n, what, n == 1 ? "" : "s");
  }

  public void say(String format, Object... args) {
    out.println(String.format(Locale.ROOT, format, args));
    out.flush();
  }

  /** Prints a table of several lines, including line ends. */
  public void table(String lines) {
    out.print(lines);
    out.flush();
  }

  public void loading(long rows, long expected, double seconds) {
    say(
        "%6.0f s  loading   %,13d rows  %3d %%  %,9.0f rows/s",
        seconds, rows, Math.min(99, 100 * rows / expected), rows / seconds);
  }

  public void loaded(Loaded result) {
    say(
        "%6.1f s  loaded    %,13d rows, %,.0f rows/s",
        result.seconds(), result.rows(), result.rows() / result.seconds());
  }

  public void running(
      double seconds,
      boolean warmingUp,
      double perSecond,
      double newOrders,
      double conflicts,
      String level) {
    say(
        "%6.0f s  %-8s  %,9.0f tx/s  %,9.0f New-Order/s  %7.3f %% conflicts  durability %s",
        seconds, warmingUp ? "warm-up" : "running", perSecond, newOrders, 100 * conflicts, level);
  }

  public void checking(int warehouse, int warehouses) {
    say("          checking  warehouse %,d of %,d", warehouse, warehouses);
  }
}
