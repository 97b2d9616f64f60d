package io.fovea.tpcc.settings;

import picocli.CommandLine.Option;

/** The options common to loads and runs; null if not given. */
public final class WorkOptions {
  public static final int MAX_THREADS = 1_000;

  @Option(
      names = "--threads",
      paramLabel = "N",
      description =
          "threads that load and run, or carry the clients (default: 1; for run, one per warehouse"
              + " up to the number of processors, or ten per warehouse with --wait)")
  public Integer threads;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "seed of all random numbers (default: ${DEFAULT-VALUE})")
  public long seed = 1;

  /** Returns the given number of threads, or one. */
  public int threads() {
    return threads != null ? threads : 1;
  }

  /** Returns a message for a mistake, or null. */
  public String mistake() {
    return threads != null && Mistakes.outside(threads, MAX_THREADS)
        ? "--threads: 1 to " + MAX_THREADS
        : null;
  }
}
