package io.fovea.tpcc.settings;

import java.time.Duration;
import picocli.CommandLine.Option;

/** Who works in a run, and for how long; null where not given. */
public final class RunOptions {
  public static final Duration DEFAULT_DURATION = Duration.ofSeconds(10);
  private static final Duration DEFAULT_WARMUP = Duration.ofSeconds(3);

  @Option(
      names = "--clients",
      paramLabel = "N",
      description =
          "how many clients run transactions, each waiting for its own to be durable; more than"
              + " threads share them (default: one a thread)")
  public Integer clients;

  @Option(
      names = "--virtual",
      description =
          "clients that share threads are virtual threads, and lookups has no others; else a thread"
              + " works for one while the commit of another becomes durable")
  public boolean virtual;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "the measured time, such as 30, 30s or 5m (default: 10s)")
  public Duration duration = DEFAULT_DURATION;

  @Option(
      names = "--warmup",
      paramLabel = "TIME",
      converter = DurationConverter.class,
      description = "the time before it (default: 3s)")
  public Duration warmup = DEFAULT_WARMUP;

  /** Those that were given, or one a thread. */
  public int clients(int threads) {
    return clients != null ? clients : threads;
  }
}
