package io.fovea.txn;

import io.fovea.memory.Padding;
import java.util.Arrays;

/**
 * The state of one context for {@link Timestamps}, used by the transaction's thread; only {@link
 * Timestamps#stats} reads the counters from others.
 */
final class TimestampContext extends Padding {
  private static final int INITIAL = 256;
  private static final int KEEP = 1 << 14;

  static final int NONE = -1;

  final int index;

  /**
   * The epoch to pin with, not below the published one; {@link Timestamps#COUNTING} for references.
   */
  long epoch;

  /** Whether the transaction's pins are references instead of its epoch. */
  boolean counts;

  /** Whether the context is between enter and exit; for assertions. */
  boolean entered;

  /** The slots pinned since {@link Timestamps#enter}, one entry per pin. */
  int[] pins = new int[INITIAL];

  int pinned;

  /** The column whose lock it holds, or {@link #NONE}, and the lock's version before. */
  int column = NONE;

  long version;

  /** The slot being released, or NONE; its former content, and whether its lock is held. */
  int releasing = NONE;

  long releasedStamp;
  long releasedWord;
  boolean wordHeld;

  long exits;

  /** {@link #approximate} at enter: whether this transaction took a bound from others. */
  long approximateBefore;

  /** Transactions that met a conflict after taking a bound that may be another item's. */
  long suspectedFalseConflicts;

  /** The number of entries made in the epoch {@link #madeIn}; overflows count for more. */
  int made;

  long madeIn;

  long releasedMost;

  /** The position of the sweep: column, level, and slot within them. */
  int sweepColumn;

  int sweepLevel;
  int sweepSlot;

  long materialised;
  long approximate;
  long released;
  long spilled;
  long refused;
  long converted;
  long evictions;
  long stuck;

  /** Buckets of the last level that were searched behind an item's own. */
  long walked;

  TimestampContext(int index) {
    this.index = index;
  }

  void addPin(int slot) {
    int n = pinned;
    pins[n] = slot;
    pinned = n + 1;
    if (n + 1 == pins.length) {
      grow();
    }
  }

  /** Grows the list after the pin was stored, which must not be lost if memory is short. */
  private void grow() {
    pins = Arrays.copyOf(pins, pins.length * 2);
  }

  void removePins() {
    pinned = 0;
    if (pins.length > KEEP) {
      pins = new int[INITIAL]; // last: a failure leaves a list longer than needed
    }
  }
}
