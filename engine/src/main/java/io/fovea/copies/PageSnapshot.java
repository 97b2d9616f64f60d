package io.fovea.copies;

/**
 * The state of a pool's pages at a quiescent point. It can be read until it is closed, or evicted
 * because there is no space for copies.
 */
public final class PageSnapshot {
  /**
   * The number of the snapshot, counted from 1 in each pool: a later snapshot has a higher number.
   */
  final long number;

  /** Above every page that existed. */
  private final long pidLimit;

  private volatile boolean evicted;
  private volatile boolean closed;

  PageSnapshot(long number, long pidLimit) {
    this.number = number;
    this.pidLimit = pidLimit;
  }

  /** Returns a limit above every page id allocated when the snapshot was taken. */
  public long pidLimit() {
    return pidLimit;
  }

  /** Returns whether the snapshot was evicted: copies that it needs could not be kept. */
  public boolean isEvicted() {
    return evicted;
  }

  boolean isClosed() {
    return closed;
  }

  void evict() {
    evicted = true;
  }

  void close() {
    closed = true;
  }
}
