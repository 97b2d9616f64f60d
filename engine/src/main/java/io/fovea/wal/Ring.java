package io.fovea.wal;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The log's buffer: a ring that appenders fill and the writer empties.
 *
 * <pre>
 *        released          complete        tail           claimed      released + size
 *   ────────┼─── records ──────┼── records ──┼── granted, not ──┼── free ─────┼────
 *           │    (word ≠ 0)    │  some not   │    reserved      │  (zeros)    │
 *         writer               writer        CAS: reserve       CAS: take     limit
 * </pre>
 *
 * <p>Positions are LSNs; position p is at p mod size. A record never wraps: the end of a lap that
 * is too short for a record becomes a VOID.
 *
 * <p><b>Space.</b> claimed = tail + the unreserved rest of the sessions' grants. {@link #take}
 * raises it if the limit allows, {@link #reserve} moves space from the session's grant to the tail
 * and leaves claimed unchanged, {@link #returnSpace} lowers it. So tail ≤ claimed ≤ released + size
 * at all times, and a reservation within a grant checks no limit and never waits.
 *
 * <p><b>Zeros.</b> From the tail to released + size all bytes are zero, so the word of an
 * incomplete record reads as 0, wherever the record begins.
 *
 * <p><b>Memory order.</b>
 *
 * <ul>
 *   <li><i>Zeroing.</i> The writer zeroes [a, b) and then stores released = b (R1, volatile).
 *       take() reads released (R2, volatile) before its CAS of claimed (P, full fence); reserve()
 *       CASes tail (T, full fence). A session S writes at position e of the next lap after its T.
 *       Which take() saw a limit that covers e? Of all grants behind the reservations up to e,
 *       consider the last one in the order of P: claimed was at least e then, since unused parts of
 *       those grants were returned after it or not counted, so its R2 saw released ≥ e - size. Its
 *       P comes before a T that is S's or precedes S's in the order of T, and each T reads the one
 *       before it. So R1 → R2 → P → T → ... → T of S. Forbidden: a record lost because the writer
 *       zeroes it.
 *   <li><i>Completion.</i> The appender writes header and body (plain), then the word (C1,
 *       release); the writer reads the word (C2, acquire) and copies if it is not 0. Forbidden: a
 *       copy that misses bytes of the body. The word itself was zeroed by the writer, so C2 reads
 *       that zero or C1, nothing older.
 *   <li><i>Redo point.</i> See {@link LogSession}.
 * </ul>
 */
final class Ring {
  // Each word occupies a cache line and the adjacent one, which the CPU prefetches with it.
  private static final long TAIL = 0;
  private static final long CLAIMED = 128;
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
   * The words stay valid after {@link #free}, for late readers. They are garbage-collected: in the
   * region they would keep a page and a page table of every log that was ever open.
   */
  private Ring(NativeRegion region, long start) {
    this(region, region.segment(), Arena.ofAuto().allocate(WORDS, 128), start);
  }

  /** Creates a ring over the caller's memory, which is zero. */
  Ring(@Nullable NativeRegion region, MemorySegment ring, MemorySegment words, long start) {
    if (Long.bitCount(ring.byteSize()) != 1) {
      throw new IllegalArgumentException(
          "The log buffer's size must be a power of two, not " + ring.byteSize() + ".");
    }
    this.region = region;
    this.ring = ring;
    this.words = words;
    this.size = ring.byteSize();
    this.mask = size - 1L;
    Mem.putLongVolatile(words, TAIL, start);
    Mem.putLongVolatile(words, CLAIMED, start);
    Mem.putLongVolatile(words, RELEASED, start);
  }

  MemorySegment segment() {
    return ring;
  }

  /** Returns all of its memory, in bytes. */
  long memoryBytes() {
    return ring.byteSize() + words.byteSize();
  }

  long size() {
    return size;
  }

  /** Returns the offset of a position in {@link #segment}. */
  long offset(long lsn) {
    return lsn & mask;
  }

  long tail() {
    return Mem.getLongVolatile(words, TAIL);
  }

  /** Returns the space granted and not reserved: exact if no thread is active. */
  long unused() {
    return Mem.getLongVolatile(words, CLAIMED) - tail();
  }

  // ------------------------------------------------------------------------------- for sessions

  /** Takes space and returns whether there was enough. Never waits. */
  boolean take(long bytes) {
    while (true) {
      long claimed = Mem.getLongVolatile(words, CLAIMED);
      if (claimed + bytes - size > Mem.getLongVolatile(words, RELEASED)) {
        return false;
      }
      if (Mem.casLong(words, CLAIMED, claimed, claimed + bytes)) {
        return true;
      }
    }
  }

  /** Returns space that was taken and not reserved. */
  void returnSpace(long bytes) {
    Mem.getAndAddLong(words, CLAIMED, -bytes);
  }

  /** Returns the rest of a lap at a position if it is too short for a record; otherwise 0. */
  long filler(long at, long bytes) {
    long left = size - (at & mask);
    return left < bytes ? left : 0;
  }

  /**
   * Moves the tail by a record and, at the end of a lap, the {@link #filler} before it.
   *
   * @param bytes the size of the record, a multiple of 8
   * @param grant the session's grant
   * @return the previous tail; -1 if the grant is too small
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

  /** Returns the word of the record that begins here, or 0 if it is not complete: C2. */
  long word(long start) {
    return Mem.getLongAcquire(ring, start & mask);
  }

  /**
   * Returns the end of the last record that ends at or before a limit.
   *
   * @param from the start of a record
   * @param complete the position up to which all records are complete
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

  /** Zeroes a range of positions and releases it: R1. */
  void release(long from, long to) {
    long first = Math.min(to - from, size - (from & mask));
    ring.asSlice(from & mask, first).fill((byte) 0);
    ring.asSlice(0, to - from - first).fill((byte) 0);
    Mem.putLongVolatile(words, RELEASED, to);
  }

  /** Returns the memory to the operating system. A late reader finds zeros. */
  void free() {
    if (region == null) {
      return;
    }
    region.release();
    long tail = tail();
    Mem.putLongVolatile(words, RELEASED, tail);
    Mem.putLongVolatile(words, CLAIMED, tail);
  }
}
