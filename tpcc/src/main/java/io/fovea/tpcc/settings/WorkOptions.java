package io.fovea.tpcc.settings;

import picocli.CommandLine.Option;

/** What a load and a run share; null where not given. */
public final class WorkOptions {
  public static final int MAX_THREADS = 1_000;

  @Option(
      names = "--threads",
      paramLabel = "N",
      description =
          "how many threads load and run, or carry the clients (default: 1, or one a warehouse as"
              + " far as there are processors, or ten a warehouse where they are terminals)")
  public Integer threads;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "of all random numbers (default: ${DEFAULT-VALUE})")
  public long seed = 1;

  /** Those that were given, or one. */
  public int threads() {
    return threads != null ? threads : 1;
  }

  /** What is wrong, or null. */
  public String mistake() {
    return threads != null && Mistakes.outside(threads, MAX_THREADS)
        ? "--threads: 1 to " + MAX_THREADS
        : null;
  }
}
