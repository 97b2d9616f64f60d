package io.fovea.txn;

import io.fovea.config.TimestampStore;
import org.jspecify.annotations.Nullable;

/**
 * The timestamps of items that have no entry in the exact table, wherever they are: one predicted
 * branch on a final kind, for a store is of one kind as long as it lives.
 *
 * <pre>
 *                   out of use          leaves the exact table                       memory
 *   DISK            page of a file      with its last user                           in use
 *   DISK_CACHE      page of a file      when its place is wanted, longest unused     in use + cache
 *   MEMORY          the exact table     never                                        all items
 *   FOCUS_COUNTER   one cell for all    when its place is wanted, longest unused     in use + cache
 *   FOCUS_SKETCH    rows x columns      when its place is wanted                     in use + sketch
 * </pre>
 *
 * <p>After the variants of the dissertation (sections 3.2.2 and 3.4.1). Each is an approximate
 * timestamp store in its sense (section 3.1): the first three with bounds that are exact.
 *
 * <p><b>Promise.</b> For each item, what {@link #get} returns is not below, field by field, any
 * word that was put for it before, and wts &lt;= rts. That, and that nobody asks while an entry is
 * in use, is Property 1 and 2 of the dissertation.
 *
 * <p>Calls for one item run under the lock of its column in the exact table, so that a get sees all
 * earlier puts of the item. May wait for a device where there are pages, and for nothing else.
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
    // One cell where there is none to be: what is not touched takes no memory.
    this.sketch = many ? new Sketch(config.sketchRows(), config.sketchColumns()) : new Sketch(1, 1);
  }

  /** Before the lock is taken: does what waits. */
  void fetch(int ctx, long item) {
    TimestampPages p = pages;
    if (p != null) {
      p.fetch(ctx, item);
    }
  }

  /** An upper bound of an item's timestamps, as an unlocked word; 0 for one never heard of. */
  long get(int ctx, long item) {
    if (kind == CELLS) {
      return sketch.get(item);
    }
    TimestampPages p = pages;
    return p == null ? 0 : p.get(ctx, item);
  }

  /** Takes over the timestamps of an item whose entry goes. */
  void put(int ctx, long item, long word) {
    TimestampPages p = pages;
    if (kind == CELLS) {
      sketch.put(item, word);
    } else if (p != null) {
      p.put(ctx, item, word);
    } else {
      throw new IllegalStateException("An entry went that stays for ever.");
    }
  }

  /**
   * Says that timestamps up to this one are of a time before all who run: {@link Sketch#settle}.
   */
  void settle(long timestamp) {
    if (kind == CELLS) {
      sketch.settle(timestamp);
    }
  }

  Sketch sketch() {
    return sketch;
  }

  /** Native memory of the sketch, 0 where there is none. */
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
