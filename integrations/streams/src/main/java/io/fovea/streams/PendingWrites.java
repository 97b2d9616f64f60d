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
 * What was written to a store since its last commit, by key.
 *
 * <p><b>Order.</b> Most stores are written and read by single keys, so keys are found by hash. A
 * commit sorts them. Who iterates asks for an order: a map in the order of the keys is made then,
 * and kept with each write from there on. Nobody waits for it: the map is published empty, and then
 * filled. A writer puts a key into the hash map first and looks for the ordered one after; who
 * fills the ordered map publishes it first and goes through the hash map after. So one of the two
 * puts the key there, or both put the same cell. Who finds a map that is not complete fills it,
 * too.
 *
 * <p>A key may have several versions, so that a view sees a moment: {@code number} counts the
 * writes, and a view of number n sees the newest version of each key up to n. Old versions are kept
 * only while views are open. Nothing is removed: after a commit the store begins a new object, and
 * views go on with the old one.
 *
 * <p>One thread at a time writes, under the monitor of its store. Any thread reads: a cell is
 * published by the map, and its newest version by a volatile write.
 */
final class PendingWrites {
  /** Beside key and value: nodes of both maps, cell, version, array headers. */
  private static final int ENTRY_BYTES = 200;

  /** The same of a version that is not the first. */
  private static final int VERSION_BYTES = 48;

  private static final VarHandle HEAD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** A view that sees all there is. */
  static final long NEWEST = Long.MAX_VALUE;

  /** No view is open. */
  static final long NO_VIEW = -1;

  /** A value, or a deletion where the value is null. */
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

  /** What a cell has that looks for another one. */
  private static final Version NONE = new Version(0, null, null);

  /** A key's versions, newest first. Cells are equal if their keys are. */
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

    /** Eight bytes of a key that has them, the first one highest. */
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

    /** The version that a view sees; null if the key was written later. */
    @Nullable Version at(long number) {
      Version v = newest;
      while (v != null && v.number > number) {
        v = v.older;
      }
      return v;
    }
  }

  private final ConcurrentHashMap<Cell, Cell> byKey = new ConcurrentHashMap<>();

  /** The same in order, for iterators; null until one asks. */
  private final AtomicReference<@Nullable ConcurrentSkipListMap<byte[], Cell>> ordered =
      new AtomicReference<>();

  /** Whether all keys are in {@link #ordered}. */
  private volatile boolean complete;

  private long writes;
  private long bytes;

  /**
   * Writes a value, or a deletion.
   *
   * @param newestView what the newest view sees, or {@link #NO_VIEW}: a version that is newer is
   *     replaced, so each key keeps at most one version for each view
   * @return by how much the memory has grown
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
      ConcurrentSkipListMap<byte[], Cell> order = ordered.get(); // after the line before
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

  /** What a view sees of a key; null if it was not written. */
  @Nullable Version get(byte[] key, long number) {
    if (byKey.isEmpty()) {
      return null;
    }
    Cell cell = byKey.get(new Cell(key, NONE));
    return cell == null ? null : cell.at(number);
  }

  /** The nearest key in an interval that a view sees written, deletions included. */
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

  /** The keys in order, all that were there before. */
  private ConcurrentSkipListMap<byte[], Cell> ordered() {
    ConcurrentSkipListMap<byte[], Cell> order = ordered.get();
    if (order == null) {
      order = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
      ConcurrentSkipListMap<byte[], Cell> other = ordered.compareAndExchange(null, order);
      order = other == null ? order : other;
    }
    if (!complete) {
      for (Cell cell : byKey.values()) { // after it was published
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

  /** All cells, sorted; for the commit, by the thread that writes. */
  List<Cell> sorted() {
    ConcurrentSkipListMap<byte[], Cell> order = ordered.get();
    if (order != null && complete) {
      return List.copyOf(order.values());
    }
    Cell[] all = byKey.values().toArray(new Cell[0]);
    CellSort.sort(all);
    return Arrays.asList(all);
  }

  /** How many keys there are. */
  int size() {
    return byKey.size();
  }

  boolean isEmpty() {
    return byKey.isEmpty();
  }

  /** How many writes there were: what a view that is opened now sees. */
  long number() {
    return writes;
  }

  /** About how much memory it takes. */
  long bytes() {
    return bytes;
  }
}
