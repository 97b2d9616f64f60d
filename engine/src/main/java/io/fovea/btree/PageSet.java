package io.fovea.btree;

import java.util.HashMap;
import java.util.Map;

/** A set of page ids: a bitmap in chunks, for verifiers. Used by one thread. */
public final class PageSet {
  private static final int CHUNK_SHIFT = 16;
  private static final int CHUNK_WORDS = 1 << CHUNK_SHIFT - 6;

  private final Map<Long, long[]> chunks = new HashMap<>();
  private long size;

  /** Creates an empty set. */
  public PageSet() {}

  /** Adds a page id, which must not be negative; returns false if it was present. */
  public boolean add(long pid) {
    long[] chunk = chunks.computeIfAbsent(pid >>> CHUNK_SHIFT, k -> new long[CHUNK_WORDS]);
    int word = (int) (pid >>> 6) & CHUNK_WORDS - 1;
    long bit = 1L << pid;
    if ((chunk[word] & bit) != 0) {
      return false;
    }
    chunk[word] |= bit;
    size++;
    return true;
  }

  /** Returns whether a page id is present. */
  public boolean contains(long pid) {
    long[] chunk = chunks.get(pid >>> CHUNK_SHIFT);
    return chunk != null && (chunk[(int) (pid >>> 6) & CHUNK_WORDS - 1] & 1L << pid) != 0;
  }

  /** Returns the number of page ids. */
  public long size() {
    return size;
  }
}
