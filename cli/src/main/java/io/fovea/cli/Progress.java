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
 * Reports progress on standard error: at a terminal on one line, which is erased at the end;
 * otherwise, if requested, on one line per second and one at the end.
 *
 * <p>Progress is sampled from outside (counts of records, sizes of files), so the work itself is
 * not involved. Runs its own thread between {@code start} and {@code close}.
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
      // Only close() interrupts it.
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

  /** The size of a file; 0 if it does not exist. */
  static long bytes(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      return 0;
    }
  }

  /** The total size of the files in a directory whose names have a prefix. */
  static long bytes(Path directory, String prefix) {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(p -> String.valueOf(p.getFileName()).startsWith(prefix))
          .mapToLong(Progress::bytes)
          .sum();
    } catch (IOException e) {
      return 0;
    }
  }

  /** The bytes that this process has read; 0 if the system does not report it. */
  static long bytesRead() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
        if (line.startsWith("rchar: ")) {
          return Long.parseLong(line.substring("rchar: ".length()));
        }
      }
    } catch (IOException | NumberFormatException e) {
      // not Linux
    }
    return 0;
  }
}
