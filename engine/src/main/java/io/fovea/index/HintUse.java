package io.fovea.index;

import java.util.function.BooleanSupplier;

/**
 * How a database uses the hints that entries of its indexes have: what its options say, whatever
 * the file has.
 *
 * <p>Any thread.
 */
public final class HintUse {
  private final BooleanSupplier marked;

  /** Whether hints are followed, stored and put right at all. */
  final boolean pages;

  /** Whether frames are, where there are any. */
  final boolean frames;

  /** Whether all trees are remembered, whatever their specifications say. */
  public final boolean cacheAllKeyLocations;

  /** Whether wrong hints are put right. */
  public volatile boolean repairs = true;

  /**
   * What the options say.
   *
   * @param marked tells whether the file says that it is in use
   * @param pages whether hints are used at all
   * @param frames whether their frames are
   * @param cacheAllKeyLocations whether all trees are remembered
   */
  public HintUse(
      BooleanSupplier marked, boolean pages, boolean frames, boolean cacheAllKeyLocations) {
    this.marked = marked;
    this.pages = pages;
    this.frames = pages && frames;
    this.cacheAllKeyLocations = cacheAllKeyLocations;
  }

  /**
   * Whether a repair may mark a page as newer than the file's. Not before the file says that it is
   * in use: it would have to be written to it, and a hint is not worth that. So a file that is only
   * read stays as it is.
   */
  boolean mayDirty() {
    return marked.getAsBoolean();
  }
}
