package io.fovea;

import io.fovea.btree.BulkLoader;
import io.fovea.catalog.LoadSettings;
import io.fovea.config.Duplicates;
import io.fovea.config.LoadProgress;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * How records are loaded: {@link RowTable#load(LoadOptions, LoadSource)}.
 *
 * <p><b>What a load does.</b> New trees are built from what comes and from what the table has, and
 * take the place of the old ones at one moment. For imports, restores, and changes that are larger
 * than {@link TransactionOptions#maxBytes}. It costs as much as writing the whole table with its
 * indexes once, so it is for loads that are not small beside the table; no record goes through a
 * transaction, and almost nothing through the log.
 *
 * <p><b>What others notice.</b> They read the table as it was until the load is published. Who
 * changes it gets an {@link io.fovea.error.InvalidUseException}. Other tables are used freely. When
 * the load is published, transactions that are active and have read something, of any table, are
 * aborted once, with a cause that is retryable. A verification waits for loads to end.
 *
 * <p><b>Rows that have {@linkplain io.fovea.schema.TableSpec#expireAfter expired}</b> when the load
 * begins to read are not there: those of the table are left out, and are no duplicates; those of
 * the source count as loaded, and are left out too.
 *
 * <p><b>Its end.</b> When the load returns, it is as durable as a commit. To cancel it, interrupt
 * the thread, which gets an {@link io.fovea.error.OperationInterruptedException}, or let the source
 * or {@link #progress} throw; a close of the database ends it too. Then the table is as it was.
 *
 * <p><b>The log.</b> A load holds back the redo point while it builds its trees: what others commit
 * meanwhile must fit into {@link LogOptions#maxBytes}, or they wait. It builds them when the source
 * has ended and is sorted, so a source may take its time; with {@link #ascending} it builds while
 * the source gives, and others may wait for a source that is slow. So a load is published behind
 * those that have begun before it and are not built yet, and behind a backup that began before it
 * was written.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class LoadOptions {
  private static final long MEMORY_MIN = 1 << 20;
  private static final double FILL_MIN = 0.5;
  private static final LoadOptions DEFAULTS =
      new LoadOptions(64 << 20, false, BulkLoader.FILL, Duplicates.FAIL, p -> {});

  private final long memoryBytes;
  private final boolean ascending;
  private final double fill;
  private final Duplicates duplicates;
  private final Consumer<? super LoadProgress> progress;

  private LoadOptions(
      long memoryBytes,
      boolean ascending,
      double fill,
      Duplicates duplicates,
      Consumer<? super LoadProgress> progress) {
    this.memoryBytes = memoryBytes;
    this.ascending = ascending;
    this.fill = fill;
    this.duplicates = duplicates;
    this.progress = progress;
  }

  /**
   * Records in any order, 64 MiB of memory, and a failure where two records have the same key.
   *
   * @return the options that the others are made from
   */
  public static LoadOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets how much memory sorting takes, that of all indexes included. What does not fit goes to a
   * file beside the database, of about the size of the records, which is removed at the end. A
   * record that is larger than its share takes more.
   *
   * @param bytes at least 1 MiB; 64 MiB by default
   * @return new options
   * @throws IllegalArgumentException if it is less
   */
  public LoadOptions memoryBytes(long bytes) {
    if (bytes < MEMORY_MIN) {
      throw new IllegalArgumentException(
          "LoadOptions.memoryBytes is " + MEMORY_MIN + " or more, not " + bytes + ".");
    }
    return new LoadOptions(bytes, ascending, fill, duplicates, progress);
  }

  /**
   * How much memory sorting takes.
   *
   * @return bytes
   */
  public long memoryBytes() {
    return memoryBytes;
  }

  /**
   * Says that the records come in the order of their keys, so that they need not be sorted: the
   * fastest way. A record out of order makes the load fail. Entries of indexes are sorted all the
   * same.
   *
   * @param is whether they do; false by default
   * @return new options
   */
  public LoadOptions ascending(boolean is) {
    return new LoadOptions(memoryBytes, is, fill, duplicates, progress);
  }

  /**
   * Whether the records come in the order of their keys.
   *
   * @return whether they do
   */
  public boolean ascending() {
    return ascending;
  }

  /**
   * Sets how full the pages are made, of the table and of its indexes. What is left is for records
   * that come between those of a page later, or get longer: where there is room they change one
   * page, and else they split it in two. So 1 is for what stays as it is, or goes on behind the
   * last key, and gives the smallest file; less than the default is for records that come in any
   * order soon.
   *
   * @param share of a page, from 0.5 to 1; 15/16 by default
   * @return new options
   * @throws IllegalArgumentException if it is outside of that
   */
  public LoadOptions fill(double share) {
    if (!(share >= FILL_MIN && share <= 1)) {
      throw new IllegalArgumentException(
          "LoadOptions.fill is from " + FILL_MIN + " to 1, not " + share + ".");
    }
    return new LoadOptions(memoryBytes, ascending, share, duplicates, progress);
  }

  /**
   * How full the pages are made.
   *
   * @return the share of a page
   */
  public double fill() {
    return fill;
  }

  /**
   * Sets what becomes of two records of the same key.
   *
   * @param what {@link Duplicates#FAIL} by default
   * @return new options
   */
  public LoadOptions duplicates(Duplicates what) {
    return new LoadOptions(
        memoryBytes, ascending, fill, Objects.requireNonNull(what, "what"), progress);
  }

  /**
   * What becomes of two records of the same key.
   *
   * @return what
   */
  public Duplicates duplicates() {
    return duplicates;
  }

  /**
   * Sets who is told how far the load is: at each phase, and some times a second or less. In the
   * thread that loads; what it throws ends the load, and nothing is loaded then.
   *
   * @param told is told
   * @return new options
   */
  public LoadOptions progress(Consumer<? super LoadProgress> told) {
    return new LoadOptions(
        memoryBytes, ascending, fill, duplicates, Objects.requireNonNull(told, "told"));
  }

  LoadSettings how() {
    return new LoadSettings(memoryBytes, ascending, fill, duplicates, progress);
  }
}
