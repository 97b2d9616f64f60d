package io.fovea.txn;

import io.fovea.config.TimestampStore;
import org.jspecify.annotations.Nullable;

/**
 * The timestamps of items that have no entry in the exact table, after the dissertation (sections
 * 3.1, 3.2.2 and 3.4.1). The kind of store never changes, so its branch predicts well.
 *
 * <pre>
 *                   unused timestamps   leaves the exact table                       memory
 *   DISK            page of a file      with its last user                           in use
 *   DISK_CACHE      page of a file      when its slot is needed, least recently used in use + cache
 *   MEMORY          the exact table     never                                        all items
 *   FOCUS_COUNTER   one cell for all    when its slot is needed, least recently used in use + cache
 *   FOCUS_SKETCH    rows x columns      when its slot is needed                      in use + sketch
 * </pre>
 *
 * <p><b>Invariant.</b> {@link #get} returns wts &lt;= rts, and neither is below that of any word
 * that was put for the item before. It is not called while the item's entry is in use. Calls for
 * one item run under its column's lock, so that a get sees all earlier puts. They may wait for a
 * device if timestamps are in pages, and never for anything else.
 */
final class ColdTimestamps {
  private static final int NOTHING = 0;
  private static final int CELLS = 1;
  private static final int PAGES = 2;

  private final int kind;
  private final Sketch sketch;
  private final @Nullable TimestampPages pages;

  ColdTimestamps(TimestampConfig config, @Nullable TimestampPages pages) {
    TimestampStore k = config.kind();
    if (TimestampConfig.onDisk(k) != (pages != null)) {
      throw new IllegalArgumentException(
          k + (pages == null ? " needs pages" : " has no pages") + ".");
    }
    this.pages = pages;
    this.kind = k == TimestampStore.MEMORY ? NOTHING : TimestampConfig.onDisk(k) ? PAGES : CELLS;
    boolean many = k == TimestampStore.FOCUS_SKETCH;
    // A single cell if there is no sketch; untouched memory is never allocated.
    this.sketch = many ? new Sketch(config.sketchRows(), config.sketchColumns()) : new Sketch(1, 1);
  }

  /** Waits for the item's page, if there are pages, before the column's lock is taken. */
  void fetch(int ctx, long item) {
    TimestampPages p = pages;
    if (p != null) {
      p.fetch(ctx, item);
    }
  }

  /** Returns an upper bound of an item's timestamps, as an unlocked word; 0 if it was never put. */
  long get(int ctx, long item) {
    if (kind == CELLS) {
      return sketch.get(item);
    }
    TimestampPages p = pages;
    return p == null ? 0 : p.get(ctx, item);
  }

  void put(int ctx, long item, long word) {
    TimestampPages p = pages;
    if (kind == CELLS) {
      sketch.put(item, word);
    } else if (p != null) {
      p.put(ctx, item, word);
    } else {
      throw new IllegalStateException("An entry was released that its store keeps.");
    }
  }

  /** Declares timestamps up to this one old: {@link Sketch#settle}. */
  void settle(long timestamp) {
    if (kind == CELLS) {
      sketch.settle(timestamp);
    }
  }

  Sketch sketch() {
    return sketch;
  }

  long sketchBytes() {
    return kind == CELLS ? sketch.bytes() : 0;
  }

  long bytes() {
    TimestampPages p = pages;
    return sketchBytes() + (p == null ? 0 : p.bytes());
  }

  long reads() {
    TimestampPages p = pages;
    return p == null ? 0 : p.reads();
  }

  long writes() {
    TimestampPages p = pages;
    return p == null ? 0 : p.writes();
  }

  void close() {
    sketch.close();
  }
}
