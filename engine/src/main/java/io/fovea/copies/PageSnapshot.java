package io.fovea.copies;

/**
 * One moment of a pool's pages. It can be read until it is closed, or given up because there is no
 * room for copies any more.
 */
public final class PageSnapshot {
  /** Counts the snapshots of a pool from 1 on: a later moment has a higher number. */
  final long number;

  /** Above every page that there was. */
  private final long pidLimit;

  private volatile boolean givenUp;
  private volatile boolean closed;

  PageSnapshot(long number, long pidLimit) {
    this.number = number;
    this.pidLimit = pidLimit;
  }

  /** Above every page id that was given out at that moment. */
  public long pidLimit() {
    return pidLimit;
  }

  /** Whether copies that it needs could not be kept. */
  public boolean isGivenUp() {
    return givenUp;
  }

  boolean isClosed() {
    return closed;
  }

  void giveUp() {
    givenUp = true;
  }

  void close() {
    closed = true;
  }
}
