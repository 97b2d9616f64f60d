package io.fovea;

/**
 * How a database uses the hints that entries of its indexes have: what its options say, whatever
 * the file has.
 *
 * <p>Any thread.
 */
final class HintUse {
  private final Store store;

  /** Whether hints are followed, stored and put right at all. */
  final boolean pages;

  /** Whether frames are, where there are any. */
  final boolean frames;

  /** Of tests; changed while the database is open. */
  volatile HintPoison poison = HintPoison.NONE;

  /** Whether wrong hints are put right; likewise. */
  volatile boolean repairs = true;

  HintUse(Store store, Hints hints) {
    this.store = store;
    this.pages = hints.pages();
    this.frames = hints.pages() && hints.frames();
  }

  /**
   * Whether a repair may mark a page as newer than the file's. Not before the file says that it is
   * in use: it would have to be written to it, and a hint is not worth that. So a file that is only
   * read stays as it is.
   */
  boolean mayDirty() {
    return store.isMarked();
  }
}
