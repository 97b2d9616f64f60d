package io.fovea.btree;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A key in native memory, owned by its creator, into which a tree copies keys.
 *
 * <p>Its capacity is fixed and at least the longest key of the tree. Owned by one thread at a time.
 */
public final class KeyBuffer {
  private MemorySegment segment;
  private final int stage;
  private int length;
  private int stagedLength;

  /** Creates an empty buffer for keys of up to {@code capacity} bytes. */
  public KeyBuffer(int capacity) {
    this(capacity, Blocks.COLLECTED);
  }

  /** Creates an empty buffer for keys of up to {@code capacity} bytes, in the given memory. */
  public KeyBuffer(int capacity, Blocks memory) {
    // The second half holds a key that is not validated yet.
    stage = capacity + 7 & -8;
    segment = memory.take(2L * stage + 8);
  }

  /** Returns the memory to its source. The buffer is unusable afterwards. */
  public void free(Blocks memory) {
    MemorySegment was = segment;
    segment = Blocks.NONE;
    memory.release(was);
  }

  /** Returns the native memory of the key, at offset 0; always the same. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns the length of the key. */
  public int length() {
    return length;
  }

  /** Copies a key into the buffer. */
  public void set(MemorySegment key, long off, int len) {
    Mem.copy(key, off, segment, 0, len);
    length = len;
  }

  /** Sets the length of the key written to {@link #segment}. */
  public void setLength(int len) {
    length = len;
  }

  /** Returns the offset for a key that is not validated yet; the current key stays. */
  long stage() {
    return stage;
  }

  void staged(int len) {
    stagedLength = len;
  }

  int compareStaged() {
    return Mem.compare(segment, stage, stagedLength, segment, 0, length);
  }

  void publish() {
    Mem.copy(segment, stage, segment, 0, stagedLength);
    length = stagedLength;
  }
}
