package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The interval of a scan, and its position. A superclass of {@link TxScan}, so that a step uses one
 * object.
 */
abstract class ScanRange {
  final Blocks memory;
  final int keyBytesMax;
  BTree tree;
  boolean descending;

  // keys: low at 0, high at keyBytesMax, the last key of a batch at 2 * keyBytesMax, a key within
  // the interval at 3 * keyBytesMax
  MemorySegment bounds = Blocks.NONE;
  int lowLength;
  boolean lowInclusive;
  int highLength;
  boolean highInclusive;

  /** The key in bounds to continue from: the start, then the last one of a batch. */
  int from;

  int fromLength;
  boolean fromInclusive;

  /** The key in bounds where the scan began: an end of the interval, or a key within it. */
  int start;

  int startLength;
  boolean startInclusive;

  /** Whether the start is the end of the interval that comes first in the current direction. */
  boolean atFirstBound;

  @SuppressWarnings("NullAway.Init")
  ScanRange(Blocks memory, int pageSize) {
    this.memory = memory;
    this.keyBytesMax = pageSize / 4;
  }

  /** Sets the interval; a negative length means no bound. */
  final void openRange(
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
    if (bounds.byteSize() == 0) {
      bounds = memory.take(4L * keyBytesMax);
    }
    this.tree = tree;
    this.descending = descending;
    this.lowLength = bound(low, lowOffset, lowLength, 0);
    this.lowInclusive = lowInclusive;
    this.highLength = bound(high, highOffset, highLength, keyBytesMax);
    this.highInclusive = highInclusive;
    startAtEnd();
  }

  final void startAtEnd() {
    start = descending ? keyBytesMax : 0;
    startLength = descending ? highLength : lowLength;
    startInclusive = descending ? highInclusive : lowInclusive;
    atFirstBound = true;
    continueFromStart();
  }

  /** Starts at a key of the interval; negative length: at the first key. */
  final void startAt(MemorySegment key, long offset, int length, boolean inclusive) {
    setStart(key, offset, length, inclusive);
    continueFromStart();
  }

  private void continueFromStart() {
    from = start;
    fromLength = startLength;
    fromInclusive = startInclusive;
  }

  final void continueFrom(MemorySegment key, long offset, int length) {
    from = 2 * keyBytesMax;
    fromLength = bound(key, offset, length, from);
    fromInclusive = false;
  }

  /**
   * Sets the key where the scan began or is. The key to continue from is unchanged: after a record
   * was delivered, it is the last key of a batch, or there is no batch.
   */
  final void setStart(MemorySegment key, long offset, int length, boolean inclusive) {
    start = 3 * keyBytesMax;
    startLength = bound(key, offset, length, start);
    startInclusive = inclusive;
    atFirstBound = false;
  }

  final void freeRange() {
    MemorySegment was = bounds;
    bounds = Blocks.NONE;
    memory.release(was);
  }

  private int bound(MemorySegment key, long offset, int length, int at) {
    if (length > keyBytesMax) {
      throw new InvalidUseException(
          "The bound of a scan has "
              + length
              + " bytes; keys have at most "
              + tree.maxKeySize()
              + ".");
    }
    if (length > 0) {
      Mem.copy(key, offset, bounds, at, length);
    }
    return length;
  }

  final boolean contains(MemorySegment key, long offset, int length) {
    return above(key, offset, length, 0, lowLength, lowInclusive)
        && below(key, offset, length, keyBytesMax, highLength, highInclusive);
  }

  final boolean above(
      MemorySegment key, long offset, int length, int bound, int boundLength, boolean inclusive) {
    if (boundLength < 0) {
      return true;
    }
    int c = Mem.compare(key, offset, length, bounds, bound, boundLength);
    return inclusive ? c >= 0 : c > 0;
  }

  final boolean below(
      MemorySegment key, long offset, int length, int bound, int boundLength, boolean inclusive) {
    if (boundLength < 0) {
      return true;
    }
    int c = Mem.compare(key, offset, length, bounds, bound, boundLength);
    return inclusive ? c <= 0 : c < 0;
  }

  /** Returns whether a key is in the range of the batch being filled. */
  abstract boolean covers(MemorySegment key, long offset, int length);
}
