package io.fovea.support;

import java.time.Instant;
import java.time.InstantSource;

/** A clock that a test sets. Thread-safe. */
public final class SetClock implements InstantSource {
  private volatile long millis;

  /** Creates a stopped clock. */
  public SetClock(long millis) {
    this.millis = millis;
  }

  /** Sets the time. */
  public synchronized void set(long to) {
    millis = to;
  }

  /** Advances the time. */
  public synchronized void pass(long by) {
    millis += by;
  }

  @Override
  public long millis() {
    return millis;
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochMilli(millis);
  }
}
