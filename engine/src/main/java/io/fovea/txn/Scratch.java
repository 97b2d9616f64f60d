package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A transaction's private memory for keys, values and patches. Addresses are offsets, because the
 * segment moves when it grows. Memory beyond {@link #KEEP_BYTES} is released at the end.
 */
final class Scratch {
  static final int INITIAL_BYTES = 16 << 10;
  static final int KEEP_BYTES = 1 << 20;

  private final long limitBytes;
  private final TxLife owner;
  private final Blocks memory;
  private MemorySegment segment = Blocks.NONE;
  private int used;

  Scratch(long limitBytes, TxLife owner, Blocks memory) {
    this.owner = owner;
    this.memory = memory;
    this.limitBytes = Math.min(limitBytes, Integer.MAX_VALUE - 8);
  }

  /** Returns the current segment; an {@link #allocate} may replace it. */
  MemorySegment segment() {
    return segment;
  }

  int allocate(int length) {
    int at = used;
    long end = ((long) at + length + 7) & ~7L;
    if (end > segment.byteSize()) {
      grow(end);
    }
    used = (int) end;
    return at;
  }

  int put(MemorySegment source, long offset, int length) {
    int at = allocate(length);
    Mem.copy(source, offset, segment, at, length);
    return at;
  }

  private void grow(long needed) {
    if (needed > limitBytes) {
      throw owner.abort(
          AbortCause.TOO_LARGE,
          "a transaction's writes need "
              + needed
              + " bytes, but the limit is "
              + limitBytes
              + ": split it, or raise "
              + "TransactionOptions.maxBytes");
    }
    MemorySegment old = segment;
    MemorySegment larger = memory.take(Math.max(INITIAL_BYTES, needed));
    Mem.copy(old, 0, larger, 0, used);
    segment = larger;
    memory.release(old);
  }

  void clear() {
    used = 0;
    if (segment.byteSize() > KEEP_BYTES) {
      MemorySegment large = segment;
      segment = Blocks.NONE;
      memory.release(large);
    }
  }
}
