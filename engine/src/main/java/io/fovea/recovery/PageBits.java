package io.fovea.recovery;

/**
 * A set of page ids below a limit, with a bit per page. It is read as extents: runs of consecutive
 * pages, in ascending order. Used by one thread.
 */
final class PageBits {
  private final long[] words;
  private final long limit;
  private long size;

  /** Creates an empty set of pages below a limit. */
  PageBits(long limit) {
    this.limit = limit;
    this.words = new long[Math.toIntExact(limit + 63 >>> 6)];
  }

  /** Adds a page that is not in the set yet. */
  void add(long pid) {
    words[(int) (pid >>> 6)] |= 1L << pid;
    size++;
  }

  /** Returns the number of pages. */
  long size() {
    return size;
  }

  /** Returns the number of runs. */
  long extents() {
    long n = 0;
    for (long at = first(0); at < limit; at = first(end(at))) {
      n++;
    }
    return n;
  }

  /** Returns the first page of the set at or after a page; the limit if there is none. */
  long first(long from) {
    return next(from, 0);
  }

  /** Returns the end of the run that contains a page: the next page that is not in the set. */
  long end(long from) {
    return next(from, -1);
  }

  private long next(long from, long flip) {
    if (from >= limit) {
      return limit;
    }
    int i = (int) (from >>> 6);
    long word = (words[i] ^ flip) & -1L << from;
    while (word == 0) {
      if (++i == words.length) {
        return limit;
      }
      word = words[i] ^ flip;
    }
    return Math.min(limit, ((long) i << 6) + Long.numberOfTrailingZeros(word));
  }
}
