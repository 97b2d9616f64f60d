package io.fovea;

import java.util.Objects;
import java.util.function.Consumer;

/**
 * How a database is compacted: {@link Database#compact(CompactOptions)}. Pages of tables and
 * indexes are moved to free pages nearer to the front of the file, and its end is cut off.
 *
 * <p><b>When.</b> By itself the file gets shorter where it ends with free pages, which each
 * checkpoint looks for. A compaction is for a file that has free pages all over, after many
 * deletes.
 *
 * <p><b>Where.</b> It takes a log that is open for writing: there is none in a snapshot, in a
 * database in memory, and with {@link Durability#NONE}. A thread that has a transaction, or that is
 * told how far a compaction is, can't begin one. A second one waits for the first.
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
 * <p><b>What stays where it is.</b> The first page of each table and index, values that are longer
 * than a quarter of a page, indexes that are being built, pages of dropped tables that transactions
 * may still use, and what others write meanwhile. The file ends behind the last of these. Pages
 * that are half empty are moved as they are. While a backup runs nothing is cut off; a checkpoint
 * does that later, or the next compaction.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class CompactOptions {
  private static final CompactOptions DEFAULTS = new CompactOptions(0, r -> {});

  private final long bytesPerSecond;
  private final Consumer<? super CompactReport> progress;

  private CompactOptions(long bytesPerSecond, Consumer<? super CompactReport> progress) {
    this.bytesPerSecond = bytesPerSecond;
    this.progress = progress;
  }

  /**
   * As fast as it can, and nobody is told how far it is.
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
    return new CompactOptions(bytes, progress);
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
   * Sets who is told how far it is: after each piece, which is some pages. In the thread that
   * compacts; what it throws ends the compaction, and what was moved stays where it is.
   *
   * @param told is told
   * @return new options
   */
  public CompactOptions progress(Consumer<? super CompactReport> told) {
    return new CompactOptions(bytesPerSecond, Objects.requireNonNull(told, "told"));
  }

  Consumer<? super CompactReport> progress() {
    return progress;
  }
}
