package io.fovea.txn;

import io.fovea.memory.Padding;
import java.util.Arrays;

/**
 * What one transaction context keeps for {@link Timestamps}: touched by the thread that runs the
 * transaction only, except that {@link Timestamps#stats} reads the counters.
 */
final class TimestampContext extends Padding {
  private static final int INITIAL = 256;
  private static final int KEEP = 1 << 14;

  /** No column, no slot. */
  static final int NONE = -1;

  /** Which context this is. */
  final int index;

  /**
   * The epoch that this transaction pins with, not smaller than what it published; {@link
   * Pins#COUNTING} when it counts references.
   */
  long epoch;

  /** Whether pins of this transaction are references in the stamps instead of its epoch. */
  boolean counts;

  /** Between enter and exit; for assertions. */
  boolean entered;

  /** The slots pinned since {@link Timestamps#enter}, one entry for each pin. */
  int[] pins = new int[INITIAL];

  int pinned;

  /** The column whose lock it has, or {@link #NONE}, and the version of the lock before. */
  int column = NONE;

  long version;

  /**
   * The slot that it is releasing, or {@link #NONE}; what was in it, and whether it has its lock.
   */
  int releasing = NONE;

  long releasedStamp;
  long releasedWord;
  boolean wordHeld;

  /** Exits, for what is done every so often. */
  long exits;

  /** What {@link #approximate} was at enter: whether this transaction took a bound from others. */
  long approximateBefore;

  /** Transactions that met a conflict after they had taken a bound that may be another item's. */
  long suspectedFalseConflicts;

  /** How many entries were made in the epoch {@link #madeIn}, those that found no room for more. */
  int made;

  long madeIn;

  /** The largest rts among the entries that this context has released. */
  long releasedMost;

  /** Where the sweep is: a column, a level, and a slot within what the column has there. */
  int sweepColumn;

  int sweepLevel;
  int sweepSlot;

  long materialised;
  long approximate;
  long released;
  long spilled;
  long refused;
  long converted;
  long expelled;
  long stuck;

  /** Buckets of the last level that were looked at behind an item's own. */
  long walked;

  TimestampContext(int index) {
    this.index = index;
  }

  void remember(int slot) {
    int n = pinned;
    pins[n] = slot;
    pinned = n + 1;
    if (n + 1 == pins.length) {
      grow();
    }
  }

  /** After the pin has been entered: it must not be lost where there is no memory for the next. */
  private void grow() {
    pins = Arrays.copyOf(pins, pins.length * 2);
  }

  void forget() {
    pinned = 0;
    if (pins.length > KEEP) {
      pins = new int[INITIAL]; // last: a failure leaves a list that is longer than needed
    }
  }
}
