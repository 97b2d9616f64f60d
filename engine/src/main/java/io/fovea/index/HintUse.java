package io.fovea.index;

import java.util.function.BooleanSupplier;

/** The options of a database for the use of hints in index entries. Safe for use by any thread. */
public final class HintUse {
  private final BooleanSupplier marked;

  /** Whether hints are followed, stored and repaired at all. */
  final boolean pages;

  /** Whether frames in hints are used, if the index keeps them. */
  final boolean frames;

  /** Whether key locations of all trees are cached, whatever their specifications say. */
  public final boolean cacheAllKeyLocations;

  public volatile boolean repairs = true;

  public HintUse(
      BooleanSupplier marked, boolean pages, boolean frames, boolean cacheAllKeyLocations) {
    this.marked = marked;
    this.pages = pages;
    this.frames = pages && frames;
    this.cacheAllKeyLocations = cacheAllKeyLocations;
  }

  /**
   * Returns whether a repair may make a page dirty. It may not until the file is marked as in use:
   * a hint does not justify writing that mark, so a file that is only read stays unchanged.
   */
  boolean mayDirty() {
    return marked.getAsBoolean();
  }
}
