package io.fovea;

import java.util.Objects;
import java.util.function.Consumer;

/**
 * How a database is compacted: {@link Database#compact(CompactOptions)}. Pages of tables and
 * indexes are moved to free pages nearer to the front of the file, and its end is cut off. Runs of
 * free pages that are left are punched out of the file ({@link #punchHoles}).
 *
 * <p><b>When.</b> By itself the file gets shorter where it ends with free pages, which each
 * checkpoint looks for; without a log, a close. A compaction is for a file that has free pages all
 * over, after many deletes.
 *
 * <p><b>Where.</b> In a database that is open for writing, with a log or without, in a file or in
 * memory; not in a snapshot. A thread that has a transaction, or that is told how far a compaction
 * is, can't begin one. A second one waits for the first.
 *
 * <p><b>How it ends early.</b> By an interrupt, by what {@link #progress} throws, or by a close of
 * the database, which waits for that. What was moved stays moved. {@link DatabaseStats.Storage}
 * counts what was moved and cut off.
 *
 * <p><b>What others notice.</b> Pages are moved a few hundred at a time at most. Who is about to
 * create or drop a table or an index waits for that long; transactions wait for single pages only.
 * An open snapshot has the pages copied that are moved. A crash leaves each page where it was or
 * where it was moved to. An incremental backup has the pages that were moved.
 *
 * <p>To move a value that is longer than a quarter of a page takes its record's lock, as a commit
 * does that writes it, for some pages at a time: a transaction that has read it may be aborted once
 * by that, and is done again as after any conflict. Who follows changes is told nothing.
 *
 * <p><b>What stays where it is.</b> Indexes that are being built, pages of dropped tables that
 * transactions may still use, long values that others keep changing, and what others write
 * meanwhile. The file ends behind the last of these, until the next compaction. Pages that are half
 * empty are moved as they are. While a backup runs nothing is cut off or punched; a checkpoint cuts
 * later, and the next compaction does both.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class CompactOptions {
  private static final CompactOptions DEFAULTS = new CompactOptions(0, true, true, r -> {});

  private final long bytesPerSecond;
  private final boolean movePages;
  private final boolean punchHoles;
  private final Consumer<? super CompactReport> progress;

  private CompactOptions(
      long bytesPerSecond,
      boolean movePages,
      boolean punchHoles,
      Consumer<? super CompactReport> progress) {
    this.bytesPerSecond = bytesPerSecond;
    this.movePages = movePages;
    this.punchHoles = punchHoles;
    this.progress = progress;
  }

  /**
   * As fast as it can, holes are punched, and nobody is told how far it is.
   *
   * @return the options that the others are made from
   */
  public static CompactOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets how fast pages are moved at most. Each is read, logged as an image, and written twice: as
   * it is moved, and as the free page that it leaves.
   *
   * @param bytes of pages that are moved, per second; 0 for as fast as it can, which is the default
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public CompactOptions bytesPerSecond(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "CompactOptions.bytesPerSecond is 0 or more, not " + bytes + ".");
    }
    return new CompactOptions(bytes, movePages, punchHoles, progress);
  }

  /**
   * How fast pages are moved at most.
   *
   * @return bytes per second; 0 for as fast as it can
   */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }

  /**
   * Sets whether pages are moved. If not, nothing that is in use is written: free pages at the end
   * of the file are cut off, and runs of free pages are punched, where they are.
   *
   * @param move whether; true is the default
   * @return new options
   */
  public CompactOptions movePages(boolean move) {
    return new CompactOptions(bytesPerSecond, move, punchHoles, progress);
  }

  /**
   * Whether pages are moved.
   *
   * @return whether
   */
  public boolean movesPages() {
    return movePages;
  }

  /**
   * Sets whether the space of free pages that stay in the middle of the file is given back to the
   * file system, in runs of at least 8 pages: the file is as long as before, and takes less of the
   * disk ({@link CompactReport#bytesPunched}). The pages are free as before. Each is written once
   * for that, which counts in {@link #bytesPerSecond}.
   *
   * <p>What is written there later needs space again, and the disk may be full by then: commits go
   * on as long as pages fit into the buffer, and wait or fail with {@link
   * io.fovea.error.StorageFullException} after that; nothing is lost. Without holes the file keeps
   * the space that it has had.
   *
   * <p>Where the file system can't, nothing happens, and the log says so once. Linux can, on ext4,
   * XFS, Btrfs and tmpfs.
   *
   * @param punch whether; true is the default
   * @return new options
   */
  public CompactOptions punchHoles(boolean punch) {
    return new CompactOptions(bytesPerSecond, movePages, punch, progress);
  }

  /**
   * Whether the space of free pages that stay is given back.
   *
   * @return whether
   */
  public boolean punchesHoles() {
    return punchHoles;
  }

  /**
   * Sets who is told how far it is: after each piece, which is some pages, each 65,536 pages of a
   * search, and before the end of the file is cut off and holes are punched. In the thread that
   * compacts; what it throws ends the compaction, and what was moved stays where it is.
   *
   * @param told is told
   * @return new options
   */
  public CompactOptions progress(Consumer<? super CompactReport> told) {
    return new CompactOptions(
        bytesPerSecond, movePages, punchHoles, Objects.requireNonNull(told, "told"));
  }

  Consumer<? super CompactReport> progress() {
    return progress;
  }
}
