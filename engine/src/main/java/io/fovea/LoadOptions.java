package io.fovea;

import io.fovea.btree.BulkLoader;
import io.fovea.catalog.LoadSettings;
import io.fovea.config.Duplicates;
import io.fovea.config.LoadProgress;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Options of a load: {@link RowTable#load(LoadOptions, LoadSource)}.
 *
 * <p><b>Purpose.</b> A load builds new trees from its source and the records of the table, and
 * replaces the old trees atomically. Use it for imports, restores, and changes larger than {@link
 * TransactionOptions#maxBytes}. No record passes through a transaction, and almost nothing goes
 * through the log. A load costs as much as writing the whole table with its indexes once, so it
 * does not pay off for a few records.
 *
 * <p><b>Isolation.</b> Other transactions read the old state of the table until the load is
 * published. Writing to the table throws {@link io.fovea.error.InvalidUseException}. Other tables
 * are unaffected. At publication, active transactions that have read anything, in any table, are
 * aborted once with a retryable cause. A verification waits for loads to end.
 *
 * <p><b>Rows that have {@linkplain io.fovea.schema.TableSpec#expireAfter expired}</b> when the load
 * begins to read are left out. Expired rows of the table do not count as duplicates; expired rows
 * of the source count as loaded.
 *
 * <p><b>End.</b> When the load returns, it is as durable as a commit. To cancel it, interrupt the
 * thread, so that the load throws {@link io.fovea.error.OperationInterruptedException}, or throw an
 * exception from the source or the {@link #progress} listener. Closing the database cancels it too.
 * A canceled load leaves the table unchanged.
 *
 * <p><b>The log.</b> A load holds back the redo point while it builds its trees: concurrent commits
 * must fit into {@link LogOptions#maxBytes}, or they wait. Trees are built after the source has
 * ended and its records are sorted, so a source may be slow. With {@link #ascending}, they are
 * built while the source runs, and commits may have to wait for a slow source. A load is published
 * after earlier loads that are still being built, and after a backup that began before the load was
 * written.
 *
 * <p>A value: each setter returns new options. Safe for any thread.
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
   * {@return the defaults: records in any order, 64 MiB of memory, and failure on duplicate keys}
   */
  public static LoadOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the memory for sorting the records and the entries of all indexes. The excess goes to a
   * temporary file next to the database, about as large as the records. A record larger than its
   * share of the memory takes more.
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

  /** {@return the bytes of memory for sorting} */
  public long memoryBytes() {
    return memoryBytes;
  }

  /**
   * Sets whether the records arrive in key order and need no sorting, which is fastest. A record
   * out of order makes the load fail. Index entries are still sorted.
   *
   * @param is whether the records arrive in key order; false by default
   * @return new options
   */
  public LoadOptions ascending(boolean is) {
    return new LoadOptions(memoryBytes, is, fill, duplicates, progress);
  }

  /** {@return whether the records arrive in key order} */
  public boolean ascending() {
    return ascending;
  }

  /**
   * Sets the fill factor of the pages of the table and its indexes. The free space absorbs later
   * inserts between existing keys and growing records, which otherwise split pages. Use 1 for the
   * smallest file, if the table is static or grows only at its end; use less than the default if
   * random inserts will follow soon.
   *
   * @param share the share of a page, from 0.5 to 1; 15/16 by default
   * @return new options
   * @throws IllegalArgumentException if it is outside that range
   */
  public LoadOptions fill(double share) {
    if (!(share >= FILL_MIN && share <= 1)) {
      throw new IllegalArgumentException(
          "LoadOptions.fill is from " + FILL_MIN + " to 1, not " + share + ".");
    }
    return new LoadOptions(memoryBytes, ascending, share, duplicates, progress);
  }

  /** {@return the fill factor of the pages} */
  public double fill() {
    return fill;
  }

  /**
   * Sets how to handle two records with the same key.
   *
   * @param what how to handle them; the default is {@link Duplicates#FAIL}
   * @return new options
   */
  public LoadOptions duplicates(Duplicates what) {
    return new LoadOptions(
        memoryBytes, ascending, fill, Objects.requireNonNull(what, "what"), progress);
  }

  /** {@return how two records with the same key are handled} */
  public Duplicates duplicates() {
    return duplicates;
  }

  /**
   * Sets a listener for the progress of the load. It is called in the loading thread, at each phase
   * and at most a few times per second. If it throws an exception, the load ends and nothing is
   * loaded.
   *
   * @param progress the listener
   * @return new options
   */
  public LoadOptions progress(Consumer<? super LoadProgress> progress) {
    return new LoadOptions(
        memoryBytes, ascending, fill, duplicates, Objects.requireNonNull(progress, "progress"));
  }

  LoadSettings settings() {
    return new LoadSettings(memoryBytes, ascending, fill, duplicates, progress);
  }
}
