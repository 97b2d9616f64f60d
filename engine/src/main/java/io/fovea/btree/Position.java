package io.fovea.btree;

import io.fovea.buffer.BufferPool;

/**
 * The position of a key in a leaf. It serves as a hint for the next operation on the same key or a
 * neighbor.
 *
 * <pre>
 *   frame, version   while both hold, the leaf is unchanged: the slot is right
 *   frame, pid       the version moved: tree id, type and fences tell whether the leaf is still right
 *   slot, found      first slot whose key is not below the requested key; whether it is that key
 * </pre>
 *
 * <p>As an input a position is a hint: everything in it is checked, so a stale position, or a
 * position of another key or of another tree of the same pool, costs time but never gives a wrong
 * answer. As the output of a read it holds only if {@link BTree#valid} returns true <i>after</i>
 * the contents were used.
 *
 * <p>Owned by one thread at a time; reusable.
 */
public final class Position {
  /** The frame of the leaf, or -1 for no position. */
  public int frame = -1;

  /** The version of the frame. */
  public long version = BufferPool.RESTART;

  /** The page id of the leaf. */
  public long pid;

  /** The slot in the leaf. */
  public int slot;

  /** Whether the key is at the slot; if not, the slot is its insertion point. */
  public boolean found;

  /**
   * The 256th of the page in which the record begins, or 0: a prefetch hint that searches ignore.
   */
  public int line;

  /**
   * The frame of the leaf in which the gap that {@link BTree#successor} found begins; the gap ends
   * in the leaf of the position, which may be the same leaf. While both leaves keep their versions,
   * the successor stays the same. -1 if the gap spans another leaf. Overwritten by the next call,
   * and not copied by {@link #copyFrom}.
   */
  public int gapFrame = -1;

  /** The version of {@link #gapFrame}. */
  public long gapVersion;

  /** Keeps prefetches from being optimized away. */
  long loaded;

  /** The number of page accesses: a plain counter, never reset here. */
  public long pageAccesses;

  /** The number of steps to a child: also a plain counter. */
  public long childSteps;

  /** The number of lookups that started at a position: also a plain counter. */
  public long hintsTried;

  /** The number of lookups in {@link #hintsTried} that needed a descent. */
  public long hintsStale;

  /** The number of lookups in a {@link KeyLocationCache}: also a plain counter. */
  public long cachedLocationLookups;

  /** The number of lookups in {@link #cachedLocationLookups} with a right answer. */
  public long cachedLocationsRight;

  /** Creates a position without a hint. */
  public Position() {}

  /** Removes the hint; the counters stay. */
  public void clear() {
    frame = -1;
    version = BufferPool.RESTART;
    pid = 0;
    slot = 0;
    found = false;
    line = 0;
  }

  /** Copies the hint of another position; the counters stay. */
  public void copyFrom(Position other) {
    frame = other.frame;
    version = other.version;
    pid = other.pid;
    slot = other.slot;
    found = other.found;
    line = other.line;
  }

  void set(int newFrame, long newVersion, long newPid, int newSlot, boolean newFound) {
    frame = newFrame;
    version = newVersion;
    pid = newPid;
    slot = newSlot;
    found = newFound;
  }

  @Override
  public String toString() {
    return frame < 0
        ? "nowhere"
        : "page "
            + pid
            + " in frame "
            + frame
            + " at version "
            + version
            + ", slot "
            + slot
            + (found ? "" : " (not found)");
  }
}
