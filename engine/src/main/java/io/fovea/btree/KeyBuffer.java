package io.fovea.btree;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A key in native memory that belongs to whoever made it: where the tree puts a key that it
 * returns.
 *
 * <p>The capacity never changes and is at least the longest key of the tree it is used with. Owned
 * by one thread at a time.
 *
 * @since 0.1.0
 */
public final class KeyBuffer {
  private MemorySegment segment;
  private final int stage;
  private int length;
  private int stagedLength;

  /**
   * Makes an empty one.
   *
   * @param capacity the longest key it can hold, in bytes; {@link BTree#maxKeySize} is enough
   */
  public KeyBuffer(int capacity) {
    this(capacity, Blocks.COLLECTED);
  }

  /**
   * Makes an empty one.
   *
   * @param capacity the longest key it can hold, in bytes
   * @param memory where its memory is taken from
   */
  public KeyBuffer(int capacity, Blocks memory) {
    // Twice: a key that is not validated yet waits in the second half.
    stage = capacity + 7 & -8;
    segment = memory.take(2L * stage + 8);
  }

  /**
   * Gives the memory back. The buffer is of no use any more.
   *
   * @param memory where it was taken from
   */
  public void free(Blocks memory) {
    MemorySegment was = segment;
    segment = Blocks.NONE;
    memory.give(was);
  }

  /**
   * Where the key is, from offset 0.
   *
   * @return a native segment, always the same
   */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * How long the key is.
   *
   * @return bytes
   */
  public int length() {
    return length;
  }

  /**
   * Takes a copy of a key.
   *
   * @param key where it is; native memory
   * @param off its offset
   * @param len its length
   */
  public void set(MemorySegment key, long off, int len) {
    Mem.copy(key, off, segment, 0, len);
    length = len;
  }

  /**
   * Says how long the key is that was written to {@link #segment}.
   *
   * @param len bytes
   */
  public void setLength(int len) {
    length = len;
  }

  /** Where a key may be put that is not known to be right yet; the one that is here stays. */
  long stage() {
    return stage;
  }

  /** Says how long the key is that was staged. */
  void staged(int len) {
    stagedLength = len;
  }

  /** Compares the key that was staged with the one that is here. */
  int compareStaged() {
    return Mem.compare(segment, stage, stagedLength, segment, 0, length);
  }

  /** Takes the key that was staged. */
  void publish() {
    Mem.copy(segment, stage, segment, 0, stagedLength);
    length = stagedLength;
  }
}
