package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A range of keys. Both ends are in native memory, owned by the caller or by the range ({@link
 * #copy}).
 *
 * @param low native memory with the lower end
 * @param lowOffset its offset
 * @param lowLength its length; negative for no end
 * @param lowInclusive whether the end itself belongs to the range
 * @param high native memory with the upper end
 * @param highOffset its offset
 * @param highLength its length; negative for no end
 * @param highInclusive whether the end itself belongs to the range
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
   * Returns the range with its ends cut to at most {@code keyMax} bytes. A low end that was cut is
   * excluded, and a high end that was cut is included.
   */
  public KeyRange truncatedTo(int keyMax) {
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

  /** Returns a copy in memory that the garbage collector frees. */
  public KeyRange copy() {
    int lowBytes = Math.max(0, lowLength);
    int highBytes = Math.max(0, highLength);
    int highAt = (lowBytes + 7 & ~7) + 8;
    MemorySegment own = Arena.ofAuto().allocate(highAt + highBytes + 8L, 8);
    Mem.copy(low, lowOffset, own, 0, lowBytes);
    Mem.copy(high, highOffset, own, highAt, highBytes);
    return new KeyRange(own, 0, lowLength, lowInclusive, own, highAt, highLength, highInclusive);
  }

  /** Returns whether no key up to and including this one is above the range. */
  boolean reaches(MemorySegment key, long off, int length) {
    if (highLength < 0) {
      return true;
    }
    int c = Mem.compare(key, off, length, high, highOffset, highLength);
    return highInclusive ? c <= 0 : c < 0;
  }

  /** Returns whether the upper end is above a key, or missing. */
  boolean endsAbove(MemorySegment key, long off, int length) {
    return highLength < 0 || Mem.compare(key, off, length, high, highOffset, highLength) < 0;
  }

  /** Returns whether no key above this one is below the range. */
  boolean beginsAt(MemorySegment key, long off, int length) {
    return lowLength < 0 || Mem.compare(key, off, length, low, lowOffset, lowLength) >= 0;
  }
}
