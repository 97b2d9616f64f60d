package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Jvm;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * Measures how long an open takes after a crash, and how fast it replays the log.
 *
 * <pre>
 *   this JVM                     another one
 *   start it        ----&gt;        load, checkpoint
 *                                run without checkpoints until the log has the wanted size
 *   wait            &lt;----        halt: nothing more is written, nothing is closed
 *   open, measure
 *   check the twelve conditions
 * </pre>
 *
 * The open starts as after a crash: with cold code and an empty pool.
 */
final class RecoverBench {
  /** The mix runs in steps of this length until the log is long enough. */
  private static final Duration STEP = Duration.ofSeconds(1);

  private RecoverBench() {}

  /**
   * The result.
   *
   * @param logBytes bytes of log read
   * @param openSeconds duration of the open, including the recovery
   */
  record Result(long logBytes, double seconds, double openSeconds, String details) {
    /** Returns the replay rate in MB (10^6 bytes) of log per second. */
    double megabytesPerSecond() {
      return logBytes / 1e6 / seconds;
    }
  }

  /** Returns options without periodic checkpoints. */
  static Options options(Settings settings) {
    return settings.engineOptions().log(log -> log.checkpointInterval(Duration.ZERO));
  }

  /**
   * Runs a command of the driver in another JVM with the same options, and waits for its end.
   * Throws DriverException if it fails.
   */
  static void elsewhere(List<String> args) {
    ProcessBuilder jvm = Jvm.like(Main.class, args);
    int code;
    try {
      code = jvm.inheritIO().start().waitFor();
    } catch (IOException e) {
      throw new DriverException(
          Exit.ERROR, "cannot start " + jvm.command().getFirst() + ": " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DriverException(Exit.INTERRUPTED, "interrupted");
    }
    if (code != Exit.OK) {
      throw new DriverException(code, "the JVM that fills the log ended with " + code);
    }
  }

  static void fill(
      Settings settings, long bytes, Tables tables, Progress progress, Shutdown shutdown) {
    Database db = tables.database();
    Settings step = settings.lasting(STEP);
    long start = System.nanoTime();
    long before = db.stats().log().bytes();
    for (long done = 0; done < bytes; done = db.stats().log().bytes() - before) {
      new Runner(step, tables, Meta.read(tables), progress, shutdown).run();
      shutdown.check(progress, "the log is shorter than requested");
      progress.say(
          "%6.0f s  filling   %,13d bytes of log, durability %s",
          (System.nanoTime() - start) / 1e9, db.stats().log().bytes() - before, settings.level());
    }
  }

  /** Summarizes what took time in an open. */
  static Result result(DatabaseStats.Recovery r, double openSeconds) {
    return new Result(r.logBytes(), r.nanos() / 1e9, openSeconds, r.toString());
  }
}
