package io.fovea.tpcc.settings;

import java.time.Duration;

/** What is in force where the options of several subcommands do not say. */
public final class Defaults {
  public static final Duration DURATION = Duration.ofSeconds(10);
  public static final Duration WARMUP = Duration.ofSeconds(3);

  private Defaults() {}
}
