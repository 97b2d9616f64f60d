package io.fovea.tpcc.settings;

import java.time.Duration;
import picocli.CommandLine.Option;

/** The clients and the duration of a run; null if not given. */
public final class RunOptions {
  public static final Duration DEFAULT_DURATION = Duration.ofSeconds(10);
  private static final Duration DEFAULT_WARMUP = Duration.ofSeconds(3);

  @Option(
      names = "--clients",
      paramLabel = "N",
      description =
          "number of clients, each waiting until its transaction is durable; more clients than"
              + " threads share the threads (default: one per thread)")
  public Integer clients;

  @Option(
      names = "--virtual",
      description =
          "run clients that share threads as virtual threads, the only way for lookups; otherwise"
              + " a thread serves one client while the commit of another becomes durable")
  public boolean virtual;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "measured time, such as 30, 30s or 5m (default: 10s)")
  public Duration duration = DEFAULT_DURATION;

  @Option(
      names = "--warmup",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "warm-up before the measured time (default: 3s)")
  public Duration warmup = DEFAULT_WARMUP;

  /** Returns the given number of clients, or one per thread. */
  public int clients(int threads) {
    return clients != null ? clients : threads;
  }
}
