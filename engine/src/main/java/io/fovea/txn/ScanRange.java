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

  // bounds: low at 0, high at keyBytesMax, the key to go on from at 2 * keyBytesMax, and where the
  // scan has begun, be it an end of the interval or a place in it, at 3 * keyBytesMax
  MemorySegment bounds = Blocks.NONE;
  int lowLength;
  boolean lowInclusive;
  int highLength;
  boolean highInclusive;
  int fromLength;
  boolean fromInclusive;
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
    if (descending) {
      startAt(bounds, keyBytesMax, highLength, highInclusive);
    } else {
      startAt(bounds, 0, lowLength, lowInclusive);
    }
    atRim = true;
  }

  /** The scan begins at a place of the interval; of negative length: where the keys do. */
  final void startAt(MemorySegment key, long offset, int length, boolean inclusive) {
    place(key, offset, length, inclusive);
    fromLength = startLength;
    fromInclusive = inclusive;
    if (length > 0) {
      Mem.copy(bounds, 3L * keyBytesMax, bounds, 2L * keyBytesMax, length);
    }
  }

  /** Says where the scan has begun or come to; what it goes on from stays. */
  final void place(MemorySegment key, long offset, int length, boolean inclusive) {
    startLength = bound(key, offset, length, 3 * keyBytesMax);
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
