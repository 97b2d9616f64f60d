package io.fovea.txn;

/**
 * No concurrency control: what remains of a transaction where there is never a second one. It has
 * the order of steps of {@link Occ}, of which each does nothing: nothing is locked, remembered for
 * others, or validated.
 *
 * <p>It is safe because {@link TxConfig#contexts} is 1: {@link Admission} lets one transaction in
 * at a time, so the order in which they run is the serial order. What a transaction has read nobody
 * changes before it ends.
 *
 * <p>For figure 14 of "In-Memory Performance for Big Data": what locks cost.
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
  void forget() {}
}
