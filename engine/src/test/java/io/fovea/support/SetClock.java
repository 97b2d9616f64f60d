package io.fovea.support;

import java.time.Instant;
import java.time.InstantSource;

/** A clock that a test sets. Any thread. */
public final class SetClock implements InstantSource {
  private volatile long millis;

  /** A clock that stands. */
  public SetClock(long millis) {
    this.millis = millis;
  }

  /** Sets it. */
  public synchronized void set(long to) {
    millis = to;
  }

  /** Lets time go on. */
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
