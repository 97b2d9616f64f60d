package io.fovea.wal;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The log's memory: a ring that appenders fill and the writer empties.
 *
 * <pre>
 *        released          complete        tail           promised     released + size
 *   ────────┼─── records ──────┼── records ──┼── granted, not ──┼── free ─────┼────
 *           │    (word ≠ 0)    │  some not   │    reserved      │  (zeros)    │
 *         writer               writer        CAS: reserve       CAS: take     limit
 * </pre>
 *
 * <p>Positions are LSNs; position p lies at p mod size. A record never wraps: what is left of a lap
 * and too short for a record becomes a VOID.
 *
 * <p><b>Space.</b> promised = tail + what sessions hold and have not reserved. {@link #take} raises
 * it, if the limit allows, {@link #reserve} moves space from the session's grant to the tail and
 * leaves promised alone, {@link #giveBack} lowers it. Hence tail ≤ promised ≤ released + size at
 * all times, and a reservation within a grant needs no look at any limit and never waits.
 *
 * <p><b>Zeros.</b> From released + size backwards to the tail all bytes are zero, so that the word
 * of a record that is not complete reads as 0, wherever the record begins.
 *
 * <p><b>Memory order.</b>
 *
 * <ul>
 *   <li><i>Zeroing behind.</i> The writer zeroes [a, b) and then stores released = b (R1,
 *       volatile). take() reads released (R2, volatile) before its CAS of promised (P, full fence);
 *       reserve() CASes tail (T, full fence). A session S writes at position e of the next lap
 *       after its T. Which take() saw a limit that covers e? Of all grants that the reservations up
 *       to e came from, look at the last one in the order of P: promised was at least e then, for
 *       what those grants were not used for was given back after it or not counted, so its R2 saw
 *       released ≥ e - size. Its P comes before a T that is S's or one before S's in the order of
 *       T, and each T reads the one before it. So R1 → R2 → P → T → ... → T of S: S's bytes never
 *       land under a zero that comes later. Forbidden: a record lost because the writer zeroes it.
 *   <li><i>Completion.</i> The appender writes header and body (plain), then the word (C1,
 *       release); the writer reads the word (C2, acquire) and copies if it is not 0. Forbidden: a
 *       copy that misses bytes of the body. The word's own place was zeroed by the writer itself,
 *       so what C2 reads is that zero or C1, nothing older.
 *   <li><i>Redo point.</i> See {@link LogSession}.
 * </ul>
 */
final class Ring {
  // One cache line, and the one that the CPU fetches with it, for each word.
  private static final long TAIL = 0;
  private static final long PROMISED = 128;
  private static final long RELEASED = 256;
  private static final long WORDS = 384;

  private final @Nullable NativeRegion region;
  private final MemorySegment ring;
  private final MemorySegment words;
  private final long size;
  private final long mask;

  Ring(int size, long start) {
    this(NativeRegion.reserve(size, false, "log buffer"), start);
  }

  /**
   * The words stay true after {@link #free}, for who comes late; in the region they would keep a
   * page, and one of page tables, of each log that ever was open. So the collector frees them.
   */
  private Ring(NativeRegion region, long start) {
    this(region, region.segment(), Arena.ofAuto().allocate(WORDS, 128), start);
  }

  /** Over somebody's memory, which is zero. */
  Ring(@Nullable NativeRegion region, MemorySegment ring, MemorySegment words, long start) {
    if (Long.bitCount(ring.byteSize()) != 1) {
      throw new IllegalArgumentException(
          "A buffer of " + ring.byteSize() + " bytes: no power of two.");
    }
    this.region = region;
    this.ring = ring;
    this.words = words;
    this.size = ring.byteSize();
    this.mask = size - 1L;
    Mem.putLongVolatile(words, TAIL, start);
    Mem.putLongVolatile(words, PROMISED, start);
    Mem.putLongVolatile(words, RELEASED, start);
  }

  MemorySegment segment() {
    return ring;
  }

  /** The memory of it all, in bytes. */
  long memoryBytes() {
    return ring.byteSize() + words.byteSize();
  }

  long size() {
    return size;
  }

  /** Where a position lies in {@link #segment}. */
  long offset(long lsn) {
    return lsn & mask;
  }

  long tail() {
    return Mem.getLongVolatile(words, TAIL);
  }

  /** How much is granted and not reserved yet: exact when nobody is at it. */
  long unused() {
    return Mem.getLongVolatile(words, PROMISED) - tail();
  }

  // ------------------------------------------------------------------------------- for sessions

  /** Takes space, if there is as much. Never waits. */
  boolean take(long bytes) {
    while (true) {
      long promised = Mem.getLongVolatile(words, PROMISED);
      if (promised + bytes - size > Mem.getLongVolatile(words, RELEASED)) {
        return false;
      }
      if (Mem.casLong(words, PROMISED, promised, promised + bytes)) {
        return true;
      }
    }
  }

  /** Space that was taken and not reserved is free again. */
  void giveBack(long bytes) {
    Mem.getAndAddLong(words, PROMISED, -bytes);
  }

  /** How much of a lap is left at a position, where that is too short for a record; else 0. */
  long filler(long at, long bytes) {
    long left = size - (at & mask);
    return left < bytes ? left : 0;
  }

  /**
   * Moves the tail by a record and, at the end of a lap, the {@link #filler} before it.
   *
   * @param bytes of the record, a multiple of 8
   * @param grant what the session has
   * @return the tail as it was; -1 where the grant is too small
   */
  long reserve(long bytes, long grant) {
    while (true) {
      long at = tail();
      long all = bytes + filler(at, bytes);
      if (all > grant) {
        return -1;
      }
      if (Mem.casLong(words, TAIL, at, at + all)) {
        return at;
      }
    }
  }

  /** Completes a record: C1. */
  void complete(long start, long word) {
    Mem.putLongRelease(ring, start & mask, word);
  }

  // ----------------------------------------------------------------------------- for the writer

  /** The word of the record that begins here, or 0 where it is not complete: C2. */
  long word(long start) {
    return Mem.getLongAcquire(ring, start & mask);
  }

  /**
   * The end of the last record that ends at a limit or before.
   *
   * @param from where a record begins
   * @param complete up to where all records are complete
   */
  long end(long from, long complete, long limit) {
    if (complete <= limit) {
      return complete;
    }
    for (long end = from; ; ) {
      long next = end + Record.aligned(Record.length(word(end)));
      if (next > limit) {
        return end;
      }
      end = next;
    }
  }

  /** Copies a range of positions. */
  void copy(long from, long to, MemorySegment target, long off) {
    long first = Math.min(to - from, size - (from & mask));
    MemorySegment.copy(ring, from & mask, target, off, first);
    MemorySegment.copy(ring, 0, target, off + first, to - from - first);
  }

  /** Zeroes a range of positions and lets others have it: R1. */
  void release(long from, long to) {
    long first = Math.min(to - from, size - (from & mask));
    ring.asSlice(from & mask, first).fill((byte) 0);
    ring.asSlice(0, to - from - first).fill((byte) 0);
    Mem.putLongVolatile(words, RELEASED, to);
  }

  /** Gives the memory back to the operating system; a thread that comes late finds zeros. */
  void free() {
    if (region == null) {
      return;
    }
    region.release();
    long tail = tail();
    Mem.putLongVolatile(words, RELEASED, tail);
    Mem.putLongVolatile(words, PROMISED, tail);
  }
}
