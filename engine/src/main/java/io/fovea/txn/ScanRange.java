package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The interval of a scan, and how far the scan has come in it.
 *
 * <p>{@link TxScan} is this, {@link ScanBatches} and the merged stream in one object, by
 * inheritance: a step of a scan looks at no other.
 */
abstract class ScanRange {
  final Blocks memory;
  final int keyBytesMax;
  BTree tree;
  boolean descending;

  // bounds: low at 0, high at keyBytesMax, the last key of a batch at 2 * keyBytesMax, and a place
  // in
  // the interval at 3 * keyBytesMax
  MemorySegment bounds = Blocks.NONE;
  int lowLength;
  boolean lowInclusive;
  int highLength;
  boolean highInclusive;

  /** Where in bounds the key is to go on from: the start, then the last one of a batch. */
  int from;

  int fromLength;
  boolean fromInclusive;

  /** Where in bounds the key is at which the scan has begun: an end of the interval, or a place. */
  int start;

  int startLength;
  boolean startInclusive;

  /** Whether the start is the end of the interval that the present direction comes to first. */
  boolean atRim;

  @SuppressWarnings("NullAway.Init")
  ScanRange(Blocks memory, int pageSize) {
    this.memory = memory;
    this.keyBytesMax = pageSize / 4;
  }

  /** Sets the interval; a bound of negative length is no bound. */
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

  /** The scan begins at the end of the interval that it comes to first. */
  final void startAtEnd() {
    start = descending ? keyBytesMax : 0;
    startLength = descending ? highLength : lowLength;
    startInclusive = descending ? highInclusive : lowInclusive;
    atRim = true;
    goOnFromStart();
  }

  /** The scan begins at a place of the interval; of negative length: where the keys do. */
  final void startAt(MemorySegment key, long offset, int length, boolean inclusive) {
    place(key, offset, length, inclusive);
    goOnFromStart();
  }

  private void goOnFromStart() {
    from = start;
    fromLength = startLength;
    fromInclusive = startInclusive;
  }

  /** The scan goes on behind a key: the last one of a batch. */
  final void goOnFrom(MemorySegment key, long offset, int length) {
    from = 2 * keyBytesMax;
    fromLength = bound(key, offset, length, from);
    fromInclusive = false;
  }

  /**
   * Says where the scan has begun or come to. What it goes on from stays: once a record was
   * delivered, that is the last key of a batch, or there is no batch any more.
   */
  final void place(MemorySegment key, long offset, int length, boolean inclusive) {
    start = 3 * keyBytesMax;
    startLength = bound(key, offset, length, start);
    startInclusive = inclusive;
    atRim = false;
  }

  /** Gives the memory back; {@link #openRange} takes some again. */
  final void freeRange() {
    MemorySegment was = bounds;
    bounds = Blocks.NONE;
    memory.give(was);
  }

  private int bound(MemorySegment key, long offset, int length, int at) {
    if (length > keyBytesMax) {
      throw new InvalidUseException(
          "A bound of " + length + " bytes; keys have at most " + tree.maxKeySize() + ".");
    }
    if (length > 0) {
      Mem.copy(key, offset, bounds, at, length);
    }
    return length;
  }

  /** Whether a key lies in the interval. */
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

  /** Whether a key lies where the batch in the making does: behind the last one, up to its end. */
  abstract boolean covers(MemorySegment key, long offset, int length);
}
