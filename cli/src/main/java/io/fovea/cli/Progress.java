package io.fovea.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Says on standard error how far a command is: at a terminal on one line, which it takes away at
 * the end; else, where it was asked for, on a line each second and one at the end.
 *
 * <p>What it says is looked at from outside (records that were counted, bytes of files), so that
 * the work itself knows nothing of it. A thread of its own, from {@code start} to {@code close}.
 */
final class Progress implements AutoCloseable {
  private static final String ERASE = "\r\033[K";

  private final PrintWriter err;
  private final String what;
  private final String unit;
  private final LongSupplier done;
  private final long total;
  private final boolean asked;
  private final boolean terminal;
  private final long began = System.nanoTime();
  private final CountDownLatch end = new CountDownLatch(1);
  private final @Nullable Thread thread;

  Progress(
      PrintWriter err,
      String what,
      String unit,
      LongSupplier done,
      long total,
      boolean asked,
      boolean terminal) {
    this.err = err;
    this.what = what;
    this.unit = unit;
    this.done = done;
    this.total = total;
    this.asked = asked;
    this.terminal = terminal;
    this.thread = asked || terminal ? new Thread(this::run, "progress") : null;
  }

  /** Begins to say it. */
  void start() {
    Thread t = thread;
    if (t != null) {
      t.setDaemon(true);
      t.start();
    }
  }

  private void run() {
    try {
      while (!end.await(1, TimeUnit.SECONDS)) {
        if (terminal) {
          err.print(ERASE + line());
        } else {
          err.println("fovea: " + line());
        }
        err.flush();
      }
    } catch (InterruptedException e) {
      // Nobody interrupts it; if somebody does, it says no more.
    }
  }

  private String line() {
    long n = done.getAsLong();
    long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began);
    StringBuilder s = new StringBuilder(what).append(": ").append(amount(n));
    if (total > 0) {
      s.append(" of ").append(amount(total));
      s.append(" (").append(Math.min(100, 100 * n / total)).append(" %)");
    }
    return s.append(unit.isEmpty() ? "" : " " + unit)
        .append(", ")
        .append(seconds)
        .append(" s")
        .toString();
  }

  private String amount(long n) {
    return unit.isEmpty()
        ? String.format(Locale.ROOT, "%.1f MiB", n / 1048576.0)
        : Long.toString(n);
  }

  @Override
  public void close() {
    Thread t = thread;
    if (t == null) {
      return;
    }
    end.countDown();
    boolean interrupted = false;
    while (t.isAlive()) {
      try {
        t.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (terminal) {
      err.print(ERASE);
    }
    if (asked) {
      err.println("fovea: " + line());
    }
    err.flush();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // --------------------------------------------------------------------------- what can be counted

  /** The bytes of a file; 0 if it is not there. */
  static long bytes(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      return 0;
    }
  }

  /** The bytes of the files of a directory whose names begin so. */
  static long bytes(Path directory, String prefix) {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(p -> String.valueOf(p.getFileName()).startsWith(prefix))
          .mapToLong(Progress::bytes)
          .sum();
    } catch (IOException e) {
      return 0;
    }
  }

  /** How much this process has read until now; 0 where the system does not say it. */
  static long bytesRead() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
        if (line.startsWith("rchar: ")) {
          return Long.parseLong(line.substring("rchar: ".length()));
        }
      }
    } catch (IOException | NumberFormatException e) {
      // It is not Linux.
    }
    return 0;
  }
}
