package io.fovea.txn;

import io.fovea.btree.BTree;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** The scans of a transaction: open ones, and a few idle ones that keep their memory. */
final class TxScans {
  private static final int KEPT = 4;

  private final TxLife life;
  private final Workspace work;
  private final ConcurrencyControl concurrencyControl;
  private final TxReads reader;
  private TxScan[] scans = new TxScan[KEPT];
  private int open;

  TxScans(TxLife life, Workspace work, ConcurrencyControl concurrencyControl, TxReads reader) {
    this.life = life;
    this.work = work;
    this.concurrencyControl = concurrencyControl;
    this.reader = reader;
  }

  TxScan open(
      BTree tree,
      MemorySegment low,
      long lowOffset,
      int lowLength,
      boolean lowInclusive,
      MemorySegment high,
      long highOffset,
      int highLength,
      boolean highInclusive,
      boolean descending) {
    life.operation();
    if (open == scans.length) {
      scans = Arrays.copyOf(scans, open * 2);
    }
    TxScan scan = scans[open];
    if (scan == null) {
      scan = new TxScan(life, work, concurrencyControl, reader, this::closed);
      scans[open] = scan;
    }
    scan.index = open++;
    scan.open(
        tree,
        low,
        lowOffset,
        lowLength,
        lowInclusive,
        high,
        highOffset,
        highLength,
        highInclusive,
        descending);
    return scan;
  }

  int open() {
    return open;
  }

  private void closed(TxScan scan) {
    int last = --open;
    TxScan other = scans[last];
    scans[scan.index] = other;
    other.index = scan.index;
    scans[last] = scan;
    scan.index = last;
    life.counters.pageAccesses += scan.takePageAccesses();
  }

  void end() {
    while (open > 0) {
      life.counters.pageAccesses += scans[--open].abandon();
    }
    if (scans.length > KEPT) {
      shrink();
    }
  }

  /** Marks all as closed, after a failure. */
  void clear() {
    open = 0;
  }

  private void shrink() {
    TxScan[] few = scans.length > 1 << 10 ? new TxScan[KEPT] : scans;
    for (int i = KEPT; i < scans.length; i++) {
      TxScan scan = scans[i];
      if (scan == null) {
        break;
      }
      scan.free();
    }
    scans = few;
  }
}
