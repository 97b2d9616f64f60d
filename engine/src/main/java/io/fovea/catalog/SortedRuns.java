package io.fovea.catalog;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Sorts records by key in limited memory. When memory is full, its records are sorted and written
 * as a run; finally all runs are merged, each through its own buffer.
 *
 * <pre>
 *   add ─► memory ─ full ─► sorted ─► run 1, run 2, ... of the file ─► merged ─► next
 *                 ─ all fits ─────────────────────────────────────────────► next
 *
 *   record, in memory and in runs:  key length (4) · value length (4) · key · value
 * </pre>
 *
 * <p>The sort is a stable merge sort: of two equal keys, the one in the older run comes first. If
 * memory has too few buffers for all runs, the oldest runs are merged first. Memory grows to fit a
 * record that exceeds it. Confined to one thread.
 */
final class SortedRuns implements AutoCloseable {
  /** The size of a run in bytes is a multiple of this. */
  static final int BLOCK = 4096;

  private static final int HEADER = 8;
  private static final int READ_MIN = 64 << 10;
  private static final int READ_MAX = 1 << 20;
  private static final int WRITE_BYTES = 256 << 10;
  private static final int FIRST_RECORDS = 1024;

  private record Run(long at, long bytes) {}

  private final long memoryBytes;
  private final SortFile file;
  private final Runnable check;
  private final List<Run> runs = new ArrayList<>();
  private Arena arena = Arena.ofShared();
  private MemorySegment data = MemorySegment.NULL;
  private long used;
  private long[] prefixes = new long[FIRST_RECORDS];
  private long[] offsets = new long[FIRST_RECORDS];
  private int size;
  private boolean ascending = true;
  private long records;
  private boolean closed;

  /**
   * @param memoryBytes the approximate memory limit
   * @param check called regularly; may throw
   */
  SortedRuns(long memoryBytes, SortFile file, Runnable check) {
    this.memoryBytes = memoryBytes;
    this.file = file;
    this.check = check;
  }

  long records() {
    return records;
  }

  /** Returns the first eight bytes of a key as an unsigned number. */
  private static long prefix(MemorySegment s, long off, int len) {
    if (len >= 8) {
      return Mem.getLongBE(s, off);
    }
    long p = 0;
    for (int i = 0; i < len; i++) {
      p |= (long) Mem.getUnsignedByte(s, off + i) << 56 - 8 * i;
    }
    return p;
  }

  /** Copies and adds a record. */
  void add(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    long bytes = HEADER + (long) len + vLen;
    // Each record needs two longs, and two more for the sort.
    if (used + bytes + 32L * (size + 1) > memoryBytes && size > 0) {
      spill();
    }
    if (used + bytes > data.byteSize()) {
      grow(used + bytes);
    }
    if (size == offsets.length) {
      prefixes = Arrays.copyOf(prefixes, 2 * size);
      offsets = Arrays.copyOf(offsets, 2 * size);
    }
    long at = used;
    Mem.putInt(data, at, len);
    Mem.putInt(data, at + 4, vLen);
    Mem.copy(key, off, data, at + HEADER, len);
    Mem.copy(value, vOff, data, at + HEADER + len, vLen);
    prefixes[size] = prefix(data, at + HEADER, len);
    offsets[size] = at;
    if (ascending && size > 0) {
      ascending = compare(prefixes[size - 1], offsets[size - 1], prefixes[size], at) <= 0;
    }
    size++;
    used += bytes;
    records++;
  }

  private void grow(long need) {
    long bytes = Math.max(need, Math.min(memoryBytes, Math.max(1 << 16, 2 * data.byteSize())));
    Arena wider = Arena.ofShared();
    MemorySegment more = wider.allocate(bytes, BLOCK);
    MemorySegment.copy(data, 0, more, 0, used);
    arena.close();
    arena = wider;
    data = more;
  }

  private int compare(long p, long a, long q, long b) {
    if (p != q) {
      return Long.compareUnsigned(p, q);
    }
    return Mem.compare(
        data, a + HEADER, Mem.getInt(data, a), data, b + HEADER, Mem.getInt(data, b));
  }

  // --------------------------------------------------------------------------------- in memory

  /** Sorts the records in memory bottom-up, alternating between two arrays. */
  private void sort() {
    if (ascending) {
      return;
    }
    long[] p = prefixes;
    long[] o = offsets;
    long[] p2 = new long[size];
    long[] o2 = new long[size];
    for (int width = 1; width < size; width *= 2) {
      check.run();
      for (int from = 0; from < size; from += 2 * width) {
        mergeInto(
            p, o, p2, o2, from, Math.min(size, from + width), Math.min(size, from + 2 * width));
      }
      long[] t = p;
      p = p2;
      p2 = t;
      t = o;
      o = o2;
      o2 = t;
      if (width > 1 << 29) {
        break;
      }
    }
    prefixes = p;
    offsets = o;
    ascending = true;
  }

  private void mergeInto(long[] p, long[] o, long[] p2, long[] o2, int from, int middle, int end) {
    int a = from;
    int b = middle;
    for (int i = from; i < end; i++) {
      boolean first = b >= end || a < middle && compare(p[a], o[a], p[b], o[b]) <= 0;
      int take = first ? a++ : b++;
      p2[i] = p[take];
      o2[i] = o[take];
    }
  }

  private void spill() {
    sort();
    try (Writer w = new Writer()) {
      for (int i = 0; i < size; i++) {
        long at = offsets[i];
        w.put(data, at, HEADER + Mem.getInt(data, at) + (long) Mem.getInt(data, at + 4));
      }
      runs.add(w.end());
    }
    size = 0;
    used = 0;
    ascending = true;
  }

  private final class Writer implements AutoCloseable {
    private final Arena mine = Arena.ofShared();
    private final MemorySegment buffer = mine.allocate(WRITE_BYTES, BLOCK);
    private final long at = file.bytes();
    private int filled;
    private long bytes;

    void put(MemorySegment from, long off, long length) {
      bytes += length;
      for (long done = 0; done < length; ) {
        int n = (int) Math.min(length - done, WRITE_BYTES - filled);
        Mem.copy(from, off + done, buffer, filled, n);
        filled += n;
        done += n;
        if (filled == WRITE_BYTES) {
          flush(WRITE_BYTES);
        }
      }
    }

    private void flush(int length) {
      check.run();
      file.append(buffer, length);
      filled = 0;
    }

    Run end() {
      int whole = (filled + BLOCK - 1) / BLOCK * BLOCK;
      if (whole > 0) {
        Mem.zero(buffer, filled, whole - filled);
        flush(whole);
      }
      file.wroteRun();
      return new Run(at, bytes);
    }

    @Override
    public void close() {
      mine.close();
    }
  }

  // ------------------------------------------------------------------------------------- merged

  /**
   * Returns the sorted records. No records may be added afterwards. Close the result before this
   * sorter.
   */
  Merged merged() {
    if (runs.isEmpty()) {
      sort();
      return new Merged();
    }
    if (size > 0) {
      spill();
    }
    arena.close();
    arena = Arena.ofShared();
    data = MemorySegment.NULL;
    int max = Math.clamp(memoryBytes / READ_MIN, 2, 4096);
    while (runs.size() > max) {
      // As many runs as save one round; the oldest, to keep equal keys in order.
      int n = Math.min(max, runs.size() - max + 1);
      List<Run> oldest = runs.subList(0, n);
      try (Merged m = new Merged(List.copyOf(oldest));
          Writer w = new Writer()) {
        while (m.next()) {
          w.put(m.segment(), m.recordOffset(), HEADER + m.keyLength() + (long) m.valueLength());
        }
        Run one = w.end();
        oldest.clear();
        runs.add(0, one);
      }
    }
    return new Merged(List.copyOf(runs));
  }

  @Override
  public void close() {
    closed = true;
    arena.close();
    arena = Arena.ofShared();
    data = MemorySegment.NULL;
    prefixes = new long[0];
    offsets = new long[0];
    size = 0;
  }

  private final class Reader {
    private final long end;
    private long fileAt;
    private long left;
    private Arena mine = Arena.ofShared();
    MemorySegment buffer;
    long at;
    long filled;
    long prefix;

    Reader(Run run, int bytes) {
      fileAt = run.at;
      end = run.at + (run.bytes + BLOCK - 1) / BLOCK * BLOCK;
      left = run.bytes;
      buffer = mine.allocate(bytes, BLOCK);
    }

    /** Reads the next record completely into the buffer; returns false at the end. */
    boolean next() {
      if (left == 0) {
        return false;
      }
      ensureBuffered(HEADER);
      long bytes = HEADER + (long) Mem.getInt(buffer, at) + Mem.getInt(buffer, at + 4);
      ensureBuffered(bytes);
      left -= bytes;
      prefix = prefix(buffer, at + HEADER, Mem.getInt(buffer, at));
      return true;
    }

    private void ensureBuffered(long bytes) {
      if (filled - at >= bytes) {
        return;
      }
      check.run();
      long rest = filled - at;
      long capacity = bytes + 2 * BLOCK;
      if (capacity > buffer.byteSize()) {
        Arena wider = Arena.ofShared();
        MemorySegment more = wider.allocate(capacity, BLOCK);
        MemorySegment.copy(buffer, at, more, 0, rest);
        mine.close();
        mine = wider;
        buffer = more;
      } else {
        MemorySegment.copy(buffer, at, buffer, 0, rest);
      }
      at = 0;
      filled = rest;
      int n = (int) Math.min(end - fileAt, (buffer.byteSize() - rest) / BLOCK * BLOCK);
      file.read(fileAt, buffer, rest, n);
      fileAt += n;
      filled += n;
    }

    void skip() {
      at += HEADER + (long) Mem.getInt(buffer, at) + Mem.getInt(buffer, at + 4);
    }

    void close() {
      mine.close();
    }
  }

  /** All records in order. The current record is valid until {@link #next}. */
  final class Merged implements AutoCloseable {
    /** A heap ordered by (prefix, key, run number); empty if all records are in memory. */
    private Reader[] heap = new Reader[0];

    private int[] number = new int[0];
    private int readers;
    private boolean begun;

    /** The position in memory. */
    private int index = -1;

    private final boolean inMemory;
    private boolean ended;

    private Merged() {
      inMemory = true;
    }

    private Merged(List<Run> of) {
      inMemory = false;
      heap = new Reader[of.size()];
      number = new int[of.size()];
      boolean done = false;
      try {
        open(of);
        done = true;
      } finally {
        if (!done) {
          close(); // shared arenas are not garbage-collected
        }
      }
      for (int i = readers / 2 - 1; i >= 0; i--) {
        siftDown(i);
      }
    }

    private void open(List<Run> of) {
      int bytes = Math.clamp(memoryBytes / of.size() / BLOCK * BLOCK, READ_MIN, READ_MAX);
      for (int i = 0; i < of.size(); i++) {
        Reader r = new Reader(of.get(i), bytes);
        heap[readers] = r;
        number[readers++] = i;
        if (!r.next()) {
          r.close();
          readers--;
        }
      }
    }

    private boolean less(int a, int b) {
      Reader x = heap[a];
      Reader y = heap[b];
      if (x.prefix != y.prefix) {
        return Long.compareUnsigned(x.prefix, y.prefix) < 0;
      }
      int c =
          Mem.compare(
              x.buffer,
              x.at + HEADER,
              Mem.getInt(x.buffer, x.at),
              y.buffer,
              y.at + HEADER,
              Mem.getInt(y.buffer, y.at));
      return c != 0 ? c < 0 : number[a] < number[b];
    }

    private void siftDown(int from) {
      int i = from;
      while (true) {
        int child = 2 * i + 1;
        if (child >= readers) {
          return;
        }
        if (child + 1 < readers && less(child + 1, child)) {
          child++;
        }
        if (!less(child, i)) {
          return;
        }
        swap(child, i);
        i = child;
      }
    }

    private void swap(int a, int b) {
      Reader r = heap[a];
      heap[a] = heap[b];
      heap[b] = r;
      int n = number[a];
      number[a] = number[b];
      number[b] = n;
    }

    /** Moves to the next record; returns false at the end. */
    boolean next() {
      assert !ended && !(inMemory && closed) : "sorted records are read after their end";
      if (inMemory) {
        return ++index < size;
      }
      if (begun && readers > 0) {
        heap[0].skip();
        if (!heap[0].next()) {
          swap(0, --readers);
          heap[readers].close();
        }
        siftDown(0);
      }
      begun = true;
      return readers > 0;
    }

    MemorySegment segment() {
      return inMemory ? data : heap[0].buffer;
    }

    long recordOffset() {
      return inMemory ? offsets[index] : heap[0].at;
    }

    long keyOffset() {
      return recordOffset() + HEADER;
    }

    int keyLength() {
      return Mem.getInt(segment(), recordOffset());
    }

    long valueOffset() {
      return keyOffset() + keyLength();
    }

    int valueLength() {
      return Mem.getInt(segment(), recordOffset() + 4);
    }

    @Override
    public void close() {
      ended = true;
      while (readers > 0) {
        heap[--readers].close();
      }
    }
  }
}
