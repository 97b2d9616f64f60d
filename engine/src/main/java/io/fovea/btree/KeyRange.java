package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An interval of keys. Both ends are in native memory, the caller's or its own ({@link #copy}).
 *
 * @param low where the lower end is
 * @param lowOffset where it begins
 * @param lowLength how long it is; negative for no end
 * @param lowInclusive whether the end itself belongs to the interval
 * @param high where the upper end is
 * @param highOffset where it begins
 * @param highLength how long it is; negative for no end
 * @param highInclusive whether the end itself belongs to the interval
 */
public record KeyRange(
    MemorySegment low,
    long lowOffset,
    int lowLength,
    boolean lowInclusive,
    MemorySegment high,
    long highOffset,
    int highLength,
    boolean highInclusive) {

  /**
   * The same keys of a tree, with ends that are no longer than its keys can be.
   *
   * @param keyMax the longest key
   * @return what is left of a longer end decides on which side of it keys are
   */
  public KeyRange within(int keyMax) {
    if (lowLength <= keyMax && highLength <= keyMax) {
      return this;
    }
    return new KeyRange(
        low,
        lowOffset,
        Math.min(lowLength, keyMax),
        lowInclusive && lowLength <= keyMax,
        high,
        highOffset,
        Math.min(highLength, keyMax),
        highInclusive || highLength > keyMax);
  }

  /** The same, in memory of its own, which the garbage collector frees. */
  public KeyRange copy() {
    int lowBytes = Math.max(0, lowLength);
    int highBytes = Math.max(0, highLength);
    int highAt = (lowBytes + 7 & ~7) + 8;
    MemorySegment own = Arena.ofAuto().allocate(highAt + highBytes + 8L, 8);
    Mem.copy(low, lowOffset, own, 0, lowBytes);
    Mem.copy(high, highOffset, own, highAt, highBytes);
    return new KeyRange(own, 0, lowLength, lowInclusive, own, highAt, highLength, highInclusive);
  }

  /** Whether all keys up to a key, itself included, are not above the interval. */
  boolean reaches(MemorySegment key, long off, int length) {
    if (highLength < 0) {
      return true;
    }
    int c = Mem.compare(key, off, length, high, highOffset, highLength);
    return highInclusive ? c <= 0 : c < 0;
  }

  /** Whether a key is not above the interval's upper end, which need not belong to it. */
  boolean endsAbove(MemorySegment key, long off, int length) {
    return highLength < 0 || Mem.compare(key, off, length, high, highOffset, highLength) < 0;
  }

  /** Whether all keys above a key, itself not included, are not below the interval. */
  boolean beginsAt(MemorySegment key, long off, int length) {
    return lowLength < 0 || Mem.compare(key, off, length, low, lowOffset, lowLength) >= 0;
  }
}
