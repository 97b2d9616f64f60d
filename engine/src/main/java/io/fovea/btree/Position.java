package io.fovea.btree;

import io.fovea.buffer.BufferPool;

/**
 * Where an operation stands in a leaf; what it leaves behind is the location memory of the next
 * operation on the same key, or on a neighbour of it.
 *
 * <pre>
 *   frame, version   while both hold, the leaf is what it was: the slot is right
 *   frame, pid       the version moved: the leaf may still be the right one; its tree id, type and
 *                    fences tell
 *   slot, found      first slot whose key is not below the key that was looked for; whether it is it
 * </pre>
 *
 * <p>A position is a hint wherever it goes <i>in</i>: everything in it is checked, so a stale one,
 * or one of another key or tree of the same pool, costs time and never a wrong answer. Where it
 * comes <i>out</i> of a read it holds only if {@link BTree#valid} says so <i>after</i> the contents
 * were used.
 *
 * <p>Owned by one thread at a time, reusable, never allocated by the tree.
 *
 * @since 0.1.0
 */
public final class Position {
  /** The frame of the leaf, or -1 where nothing is remembered. */
  public int frame = -1;

  /** The version of the frame. */
  public long version = BufferPool.RESTART;

  /** The page id of the leaf. */
  public long pid;

  /** The slot in the leaf. */
  public int slot;

  /** Whether the key is at the slot; if not, the slot is where it would be. */
  public boolean found;

  /**
   * In which 256th of its page the record at the slot begins, 0 where that is not known: for {@link
   * HintedLeaf}, which loads it in advance. Nothing is found by it, and searches leave it as it is.
   */
  public int line;

  /**
   * The frame of the leaf in which {@link BTree#successor} has found the gap above a key to begin;
   * the gap ends in the leaf of the position, which may be the same. As long as both leaves have
   * their versions, that is the successor. -1 where the gap reaches over another leaf between.
   * Means nothing after another call, and is no part of the place.
   */
  public int gapFrame = -1;

  /** The version of that leaf. */
  public long gapVersion;

  /** What was loaded in advance, so that the loads have a use. */
  long loaded;

  /** How many pages were looked at through this position: a plain counter, never reset here. */
  public long pageAccesses;

  /** How many children were gone to through this position: as {@link #pageAccesses}. */
  public long childSteps;

  /** How often a place that was remembered was tried: likewise. */
  public long placesTried;

  /** How often that was in vain: likewise. */
  public long placesStale;

  /** How often a {@link KeyLocationCache} was asked through this position: likewise. */
  public long remembered;

  /** How often all that it said was right: likewise. */
  public long rememberedRight;

  /** Makes a position that remembers nothing. */
  public Position() {}

  /** Forgets the place; the counters stay. */
  public void clear() {
    frame = -1;
    version = BufferPool.RESTART;
    pid = 0;
    slot = 0;
    found = false;
    line = 0;
  }

  /**
   * Takes over the place that another position remembers; the counters stay.
   *
   * @param other the other position
   */
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
