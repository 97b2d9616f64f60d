package io.fovea.streams;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.common.utils.Bytes;
import org.jspecify.annotations.Nullable;

/**
 * What was written to a store since its last commit, in the order of the keys.
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
  /** Beside key and value: nodes of the maps, cell, version, array headers. */
  private static final int ENTRY_BYTES = 184;

  /** The same of a version that is not the first. */
  private static final int VERSION_BYTES = 48;

  /** A view that sees all there is. */
  static final long NEWEST = Long.MAX_VALUE;

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

  /** A key's versions, newest first. */
  static final class Cell {
    volatile Version newest;

    Cell(Version newest) {
      this.newest = newest;
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

  /** In order, for iterators and the commit. */
  private final ConcurrentSkipListMap<byte[], Cell> cells =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

  /** The same by hash: most accesses are of single keys, and need no order. */
  private final ConcurrentHashMap<Bytes, Cell> byKey = new ConcurrentHashMap<>();

  private long writes;
  private long bytes;

  /**
   * Writes a value, or a deletion.
   *
   * @param keep whether a view may need the version before
   * @return by how much the memory has grown
   */
  long put(byte[] key, byte @Nullable [] value, boolean keep) {
    long before = bytes;
    writes++;
    int length = value == null ? 0 : value.length;
    Bytes hashed = Bytes.wrap(key);
    Cell cell = byKey.get(hashed);
    if (cell == null) {
      Cell made = new Cell(new Version(writes, value, null));
      byKey.put(hashed, made);
      cells.put(key, made);
      bytes += ENTRY_BYTES + key.length + length;
    } else {
      Version old = cell.newest;
      cell.newest = new Version(writes, value, keep ? old : null);
      bytes += keep ? VERSION_BYTES + length : length - (old.value == null ? 0 : old.value.length);
    }
    return bytes - before;
  }

  /** What a view sees of a key; null if it was not written. */
  @Nullable Version get(byte[] key, long number) {
    Cell cell = byKey.get(Bytes.wrap(key));
    return cell == null ? null : cell.at(number);
  }

  /** The nearest key in an interval that a view sees written, deletions included. */
  Map.@Nullable Entry<byte[], Version> next(
      byte @Nullable [] after, ByteInterval interval, boolean forward, long number) {
    byte @Nullable [] at = after;
    while (true) {
      Map.Entry<byte[], Cell> e = nearest(at, interval, forward);
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

  private Map.@Nullable Entry<byte[], Cell> nearest(
      byte @Nullable [] after, ByteInterval interval, boolean forward) {
    if (after != null) {
      return forward ? cells.higherEntry(after) : cells.lowerEntry(after);
    }
    byte @Nullable [] from = forward ? interval.from() : interval.to();
    if (from == null) {
      return forward ? cells.firstEntry() : cells.lastEntry();
    }
    return forward ? cells.ceilingEntry(from) : cells.lowerEntry(from);
  }

  /** All cells, in order; for the commit. */
  ConcurrentNavigableMap<byte[], Cell> cells() {
    return cells;
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
