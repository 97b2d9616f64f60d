package io.fovea;

import java.util.Objects;
import java.util.function.Consumer;

/**
 * Options of a {@linkplain Database#compact(CompactOptions) compaction}. It moves pages of tables
 * and indexes to free pages nearer to the front of the file, cuts off the end, and punches holes
 * where runs of free pages remain ({@link #punchHoles}).
 *
 * <p><b>When to use it.</b> Each checkpoint, or without a log the close, cuts off free pages at the
 * end of the file. Use a compaction if free pages are scattered all over the file, as after many
 * deletes.
 *
 * <p><b>Where it works.</b> A compaction works in any database open for writing, with or without a
 * log, in a file or in memory, but not in a snapshot. It can't be started in a transaction or from
 * a {@link #progress} listener. A second compaction waits for the first.
 *
 * <p><b>How it ends early.</b> An interrupt, an exception from the {@link #progress} listener, or a
 * close of the database (which waits for it) ends a compaction early. Moved pages stay moved.
 * {@link DatabaseStats.Storage} counts them.
 *
 * <p><b>Effect on other operations.</b> Pages are moved in steps of at most a few hundred. Creating
 * or dropping a table or index waits for one step; a transaction waits only for single pages. An
 * open snapshot keeps copies of moved pages, and an incremental backup includes them. After a crash
 * each page is at its old or its new position.
 *
 * <p>Moving a value longer than a quarter of a page locks its record for a few pages at a time, as
 * a commit that writes the value does. A transaction that has read the value may be aborted once
 * and retried. Change subscribers do not see moves.
 *
 * <p><b>What stays in place.</b> Indexes being built, pages of dropped tables that transactions may
 * still use, long values that keep changing, and pages being written concurrently. The file ends
 * after the last of these until the next compaction. Half-empty pages are moved as they are. While
 * a backup runs, nothing is cut off or punched; a later checkpoint cuts off the end, and the next
 * compaction does both.
 *
 * <p>A value: each setter returns new options. Safe for any thread.
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
   * {@return the default options: no speed limit, pages moved, holes punched, no progress listener}
   */
  public static CompactOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the maximum speed. Each page is read, logged as an image, and written twice: at its new
   * position, and at its old one as a free page.
   *
   * @param bytes bytes of pages moved per second; 0, the default, for no limit
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

  /** {@return the maximum speed in bytes per second; 0 for no limit} */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }

  /**
   * Sets whether pages are moved. If not, pages in use are not written: the compaction only cuts
   * off free pages at the end of the file and punches runs of free pages.
   *
   * @param move whether to move pages; the default is true
   * @return new options
   */
  public CompactOptions movePages(boolean move) {
    return new CompactOptions(bytesPerSecond, move, punchHoles, progress);
  }

  /** {@return whether pages are moved} */
  public boolean movesPages() {
    return movePages;
  }

  /**
   * Sets whether free pages that remain in the middle of the file are punched out, in runs of at
   * least 8: the file keeps its length but takes less space on disk ({@link
   * CompactReport#bytesPunched}). The pages remain free. Each is written once, which counts in
   * {@link #bytesPerSecond}.
   *
   * <p>Later writes to these pages need space again, and the disk may be full by then. Commits then
   * continue as long as pages fit into the buffer; after that, they wait or fail with {@link
   * io.fovea.error.StorageFullException}. No data is lost. Without holes, the file keeps its space.
   *
   * <p>If the file system does not support holes, nothing is punched, and a log message says so
   * once. Linux supports them on ext4, XFS, Btrfs and tmpfs.
   *
   * @param punch whether to punch holes; the default is true
   * @return new options
   */
  public CompactOptions punchHoles(boolean punch) {
    return new CompactOptions(bytesPerSecond, movePages, punch, progress);
  }

  /** {@return whether free pages in the middle of the file are punched out} */
  public boolean punchesHoles() {
    return punchHoles;
  }

  /**
   * Sets a progress listener. It is called in the compacting thread after each step of several
   * pages, after every 65,536 pages of a search, and before the end is cut off and holes are
   * punched. An exception from it ends the compaction.
   *
   * @param progress the listener; none by default
   * @return new options
   */
  public CompactOptions progress(Consumer<? super CompactReport> progress) {
    return new CompactOptions(
        bytesPerSecond, movePages, punchHoles, Objects.requireNonNull(progress, "progress"));
  }

  Consumer<? super CompactReport> progress() {
    return progress;
  }
}
