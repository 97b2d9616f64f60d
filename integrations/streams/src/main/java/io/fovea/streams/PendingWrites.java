package io.fovea.streams;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The writes to a store since its last commit, by key.
 *
 * <p><b>Order.</b> Most accesses are by single key, so keys are hashed. A commit sorts them. The
 * first iterator creates an ordered map, which later writes maintain, without blocking: the map is
 * published empty and then filled. A writer puts a key into the hash map first and then checks for
 * the ordered map; the filling thread publishes the ordered map first and then traverses the hash
 * map. So at least one of the two inserts the key, and if both do, they insert the same cell. A
 * thread that finds an incomplete map fills it too.
 *
 * <p><b>Versions.</b> {@code number} counts the writes; a view of number n sees the newest version
 * of each key up to n. Old versions are kept only while views are open. Nothing is removed: after a
 * commit the store uses a new object, and open views keep the old one.
 *
 * <p>One thread at a time writes, under the monitor of its store. Any thread reads: the map
 * publishes a cell, and a volatile write its newest version.
 */
final class PendingWrites {
  /** Overhead per key: nodes of both maps, cell, version, array headers. */
  private static final int ENTRY_BYTES = 200;

  /** Overhead per further version. */
  private static final int VERSION_BYTES = 48;

  private static final VarHandle HEAD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** The number of a view that sees everything. */
  static final long NEWEST = Long.MAX_VALUE;

  /** No view is open. */
  static final long NO_VIEW = -1;

  /** A value; null for a deletion. */
  static final class Version {
    final long number;
    final byte @Nullable [] value;
    final @Nullable Version older;

    Version(long number, byte @Nullable [] value, @Nullable Version older) {
      this.number = number;
      this.value = value;
      this.older = older;
    }
  }

  /** The version of a cell that is only used for a lookup. */
  private static final Version NONE = new Version(0, null, null);

  /** A key and its versions, newest first. Cells are equal if their keys are. */
  static final class Cell {
    final byte[] key;
    private final int hash;

    /** The first eight bytes of the key, which decide most comparisons. */
    final long head;

    volatile Version newest;

    Cell(byte[] key, Version newest) {
      this.key = key;
      this.hash = Arrays.hashCode(key);
      this.head = key.length >= Long.BYTES ? head(key, 0) : shortHead(key);
      this.newest = newest;
    }

    /** Returns eight bytes of the key, big-endian. */
    static long head(byte[] key, int from) {
      return (long) HEAD.get(key, from);
    }

    private static long shortHead(byte[] key) {
      long head = 0;
      for (int i = 0; i < key.length; i++) {
        head |= (key[i] & 0xFFL) << 56 - 8 * i;
      }
      return head;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Cell c && c.hash == hash && Arrays.equals(c.key, key);
    }

    @Override
    public int hashCode() {
      return hash;
    }

    static int compare(Cell a, Cell b) {
      int order = Long.compareUnsigned(a.head, b.head);
      return order != 0 ? order : Arrays.compareUnsigned(a.key, b.key);
    }

    /** Returns the version that a view sees; null if the key was written later. */
    @Nullable Version at(long number) {
      Version v = newest;
      while (v != null && v.number > number) {
        v = v.older;
      }
      return v;
    }
  }

  private final ConcurrentHashMap<Cell, Cell> byKey = new ConcurrentHashMap<>();

  /** The same cells in key order, for iterators; null until one is opened. */
  private final AtomicReference<@Nullable ConcurrentSkipListMap<byte[], Cell>> ordered =
      new AtomicReference<>();

  /** Whether all keys are in {@link #ordered}. */
  private volatile boolean complete;

  private long writes;
  private long bytes;

  /**
   * Writes a value or a deletion.
   *
   * @param newestView the number of the newest view, or {@link #NO_VIEW}. A version newer than that
   *     is replaced, so a key keeps at most one version per view
   * @return the growth in bytes
   */
  long put(byte[] key, byte @Nullable [] value, long newestView) {
    long before = bytes;
    writes++;
    int length = value == null ? 0 : value.length;
    Cell made = new Cell(key, NONE);
    Cell cell = byKey.get(made);
    if (cell == null) {
      made.newest = new Version(writes, value, null);
      byKey.put(made, made);
      ConcurrentSkipListMap<byte[], Cell> order = ordered.get(); // after byKey.put
      if (order != null) {
        order.put(key, made);
      }
      bytes += ENTRY_BYTES + key.length + length;
    } else {
      Version old = cell.newest;
      boolean keep = old.number <= newestView;
      Version older = keep ? old : newestView == NO_VIEW ? null : old.older;
      cell.newest = new Version(writes, value, older);
      bytes += keep ? VERSION_BYTES + length : length - (old.value == null ? 0 : old.value.length);
    }
    return bytes - before;
  }

  /** Returns the version of a key that a view sees; null if the key was not written. */
  @Nullable Version get(byte[] key, long number) {
    if (byKey.isEmpty()) {
      return null;
    }
    Cell cell = byKey.get(new Cell(key, NONE));
    return cell == null ? null : cell.at(number);
  }

  /** Returns the nearest key in an interval that a view sees as written, including deletions. */
  Map.@Nullable Entry<byte[], Version> next(
      byte @Nullable [] after, ByteInterval interval, boolean forward, long number) {
    if (byKey.isEmpty()) {
      return null;
    }
    ConcurrentSkipListMap<byte[], Cell> order = ordered();
    byte @Nullable [] at = after;
    while (true) {
      Map.Entry<byte[], Cell> e = nearest(order, at, interval, forward);
      if (e == null || !interval.contains(e.getKey())) {
        return null;
      }
      Version v = e.getValue().at(number);
      if (v != null) {
        return Map.entry(e.getKey(), v);
      }
      at = e.getKey();
    }
  }

  /** Returns the ordered map, with at least the keys written before this call. */
  private ConcurrentSkipListMap<byte[], Cell> ordered() {
    ConcurrentSkipListMap<byte[], Cell> order = ordered.get();
    if (order == null) {
      order = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
      ConcurrentSkipListMap<byte[], Cell> other = ordered.compareAndExchange(null, order);
      order = other == null ? order : other;
    }
    if (!complete) {
      for (Cell cell : byKey.values()) { // after the map was published
        order.put(cell.key, cell);
      }
      complete = true;
    }
    return order;
  }

  private static Map.@Nullable Entry<byte[], Cell> nearest(
      ConcurrentSkipListMap<byte[], Cell> cells,
      byte @Nullable [] after,
      ByteInterval interval,
      boolean forward) {
    if (after != null) {
      return forward ? cells.higherEntry(after) : cells.lowerEntry(after);
    }
    byte @Nullable [] from = forward ? interval.from() : interval.to();
    if (from == null) {
      return forward ? cells.firstEntry() : cells.lastEntry();
    }
    return forward ? cells.ceilingEntry(from) : cells.lowerEntry(from);
  }

  /** Returns all cells, sorted. Called by the committing thread. */
  List<Cell> sorted() {
    ConcurrentSkipListMap<byte[], Cell> order = ordered.get();
    if (order != null && complete) {
      return List.copyOf(order.values());
    }
    Cell[] all = byKey.values().toArray(new Cell[0]);
    CellSort.sort(all);
    return Arrays.asList(all);
  }

  int size() {
    return byKey.size();
  }

  boolean isEmpty() {
    return byKey.isEmpty();
  }

  /** Returns the number of writes, which is the number of a view opened now. */
  long number() {
    return writes;
  }

  /** Returns the approximate memory use. */
  long bytes() {
    return bytes;
  }
}
