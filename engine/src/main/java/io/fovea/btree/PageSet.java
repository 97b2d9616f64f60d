package io.fovea.btree;

import java.util.HashMap;
import java.util.Map;

/**
 * A set of page ids: a bit for each, in chunks that are made when needed. For verifiers; one
 * thread.
 *
 * @since 0.1.0
 */
public final class PageSet {
  private static final int CHUNK_SHIFT = 16;
  private static final int CHUNK_WORDS = 1 << CHUNK_SHIFT - 6;

  private final Map<Long, long[]> chunks = new HashMap<>();
  private long size;

  /** Makes an empty set. */
  public PageSet() {}

  /**
   * Adds a page.
   *
   * @param pid its id, not negative
   * @return false if it was there
   */
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

  /**
   * Asks for a page.
   *
   * @param pid its id
   * @return whether it is there
   */
  public boolean contains(long pid) {
    long[] chunk = chunks.get(pid >>> CHUNK_SHIFT);
    return chunk != null && (chunk[(int) (pid >>> 6) & CHUNK_WORDS - 1] & 1L << pid) != 0;
  }

  /**
   * How many pages there are.
   *
   * @return pages
   */
  public long size() {
    return size;
  }
}
