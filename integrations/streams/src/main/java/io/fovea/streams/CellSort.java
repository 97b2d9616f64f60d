package io.fovea.streams;

import io.fovea.streams.PendingWrites.Cell;
import java.util.Arrays;

/**
 * Sorts cells by their keys, as unsigned bytes.
 *
 * <p>An in-place radix sort, by the first byte in which keys differ and then recursively (American
 * flag sort: McIlroy, Bostic, McIlroy, Engineering Radix Sort, 1993). Eight bytes of each key are
 * kept in an array parallel to the cells, so keys are rarely accessed. If eight bytes are equal, as
 * the segments of windows are, the next eight are loaded. Few cells are sorted by insertion. Takes
 * eight bytes per cell. In a commit of 50,000 rows it reduced sorting from a quarter of the
 * processor time of a put to a twentieth.
 *
 * <p>Not thread-safe.
 */
final class CellSort {
  private static final int FEW = 32;
  private static final int DIGITS = 256;
  private static final int FIRST = Long.SIZE - Byte.SIZE;

  private final Cell[] cells;

  /** The eight bytes of each cell's key from {@code depth} on, big-endian. */
  private final long[] heads;

  private CellSort(Cell[] cells) {
    this.cells = cells;
    this.heads = new long[cells.length];
  }

  static void sort(Cell[] cells) {
    CellSort sort = new CellSort(cells);
    for (int i = 0; i < cells.length; i++) {
      sort.heads[i] = cells[i].head;
    }
    sort.sort(0, cells.length, 0, FIRST);
  }

  /**
   * Sorts cells whose keys are equal up to the heads' byte at {@code shift}.
   *
   * @param depth how many bytes of the keys precede their heads
   * @param shift the position of the byte in the heads
   */
  private void sort(int from, int to, int depth, int shift) {
    int deep = depth;
    int at = shift;
    while (to - from > FEW) {
      if (at < 0) {
        deep += Long.BYTES;
        if (!deeper(from, to, deep)) {
          Arrays.sort(cells, from, to, Cell::compare);
          return;
        }
        at = FIRST;
      }
      int[] ends = new int[DIGITS];
      for (int i = from; i < to; i++) {
        ends[digit(heads[i], at)]++;
      }
      if (ends[digit(heads[from], at)] == to - from) {
        at -= Byte.SIZE; // none differs here
        continue;
      }
      divide(from, ends, at);
      int begin = from;
      for (int end : ends) {
        if (end - begin > 1) {
          sort(begin, end, deep, at - Byte.SIZE);
        }
        begin = end;
      }
      return;
    }
    insert(from, to);
  }

  private static int digit(long head, int shift) {
    return (int) (head >>> shift) & DIGITS - 1;
  }

  /** Partitions the cells by their digit, and stores the ends of the parts. */
  private void divide(int from, int[] ends, int shift) {
    int[] next = new int[DIGITS];
    int sum = from;
    for (int d = 0; d < DIGITS; d++) {
      next[d] = sum;
      sum += ends[d];
      ends[d] = sum;
    }
    for (int d = 0; d < DIGITS; d++) {
      while (next[d] < ends[d]) {
        long head = heads[next[d]];
        Cell cell = cells[next[d]];
        for (int own = digit(head, shift); own != d; own = digit(head, shift)) {
          int place = next[own]++;
          long otherHead = heads[place];
          Cell other = cells[place];
          heads[place] = head;
          cells[place] = cell;
          head = otherHead;
          cell = other;
        }
        heads[next[d]] = head;
        cells[next[d]++] = cell;
      }
    }
  }

  /** Loads the next eight bytes of the keys; returns false if a key has fewer. */
  private boolean deeper(int from, int to, int depth) {
    for (int i = from; i < to; i++) {
      if (cells[i].key.length < depth + Long.BYTES) {
        return false;
      }
      heads[i] = Cell.head(cells[i].key, depth);
    }
    return true;
  }

  private void insert(int from, int to) {
    for (int i = from + 1; i < to; i++) {
      long head = heads[i];
      Cell cell = cells[i];
      int at = i;
      while (at > from && isBefore(head, cell, at - 1)) {
        heads[at] = heads[at - 1];
        cells[at] = cells[at - 1];
        at--;
      }
      heads[at] = head;
      cells[at] = cell;
    }
  }

  private boolean isBefore(long head, Cell cell, int other) {
    return head == heads[other]
        ? Arrays.compareUnsigned(cell.key, cells[other].key) < 0
        : Long.compareUnsigned(head, heads[other]) < 0;
  }
}
