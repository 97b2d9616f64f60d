package io.fovea.buffer;

import io.fovea.io.BlockDevice;

/** The double-write area: copies of pages that are being written in place. */
public final class DoubleWrite {
  /**
   * An area in a file of its own.
   *
   * @param device the file; stays the caller's
   * @param pageSize of the pages
   * @param firstBatch the number of the next batch
   */
  public DoubleWrite(BlockDevice device, int pageSize, long firstBatch) {
    throw new UnsupportedOperationException();
  }

  /** What was restored. */
  public record Restored(int pagesChecked, int pagesRestored, long nextBatch) {}

  /**
   * Puts pages that were torn in place back, from the newest whole copy; synced on return. To be
   * called before anything reads the data file.
   */
  public static Restored restore(BlockDevice device, BlockDevice data, int pageSize) {
    throw new UnsupportedOperationException();
  }
}
