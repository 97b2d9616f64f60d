package io.fovea.txn;

/**
 * No concurrency control: {@link Occ} without its steps, to measure the cost of locks as in figure
 * 14 of "In-Memory Performance for Big Data".
 *
 * <p>It is safe because {@link TxConfig#contexts} is 1: {@link Admission} admits one transaction at
 * a time, so the order of execution is the serial order.
 */
final class NoIsolation extends Occ {
  NoIsolation(ConcurrencyControl concurrencyControl, History history) {
    super(concurrencyControl, history);
  }

  @Override
  void begin() {}

  @Override
  void lock() {}

  @Override
  boolean unchanged() {
    return true;
  }

  @Override
  void validate() {}

  @Override
  void wrote(long item) {}

  @Override
  void list() {}

  @Override
  void installed() {}

  @Override
  void release() {}

  @Override
  void abandonLocks() {}
}
