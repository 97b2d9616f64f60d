package io.fovea.buffer;

import io.fovea.memory.LongList;

/**
 * A change in the middle of the free list, as {@link FreeListWalk} has found it to be possible. The
 * allocator makes it, if the list still is what was walked.
 *
 * <p>One thread's.
 */
final class FreeListChange {
  /** Pages whose link changes, and what it becomes. */
  private final LongList pids = new LongList();

  private final LongList nexts = new LongList();

  /** Those of them that may be holes: bare pages. */
  private final LongList bare = new LongList();

  /** The height in the list, counted from its end, of the highest page that it is about. */
  long highest;

  /** The head that the list must have, where that is one of these pages; else 0. */
  long head;

  /** What is the head without these pages, where {@link #head} is one. */
  long below;

  /** How many pages the file ends with that leave list and file; 0 where pages move to the top. */
  long cut;

  /** The high-water mark after that. */
  long mark;

  /** Up to which page the file has space behind the mark then, if there are holes. */
  long backed;

  /** The page that becomes the head; 0 for the one that is left. */
  long top;

  /** The last of the pages that move to the top; its link is to what was on top before. */
  long topEnd;

  /**
   * Where pages move to the top: up to which height the list is as it was walked, and stays so,
   * without them.
   */
  long stays;

  /**
   * Whether pages only change places below {@link #highest}, and are nothing but links then: {@link
   * FreeRuns}.
   */
  boolean sorts;

  /** What the allocator has made of it. */
  AllocatorState after = AllocatorState.EMPTY;

  void clear() {
    pids.clear();
    nexts.clear();
    bare.clear();
    highest = 0;
    head = 0;
    below = 0;
    cut = 0;
    mark = 0;
    backed = 0;
    top = 0;
    topEnd = 0;
    stays = 0;
    sorts = false;
  }

  void link(long pid, long next) {
    pids.add(pid);
    nexts.add(next);
  }

  /** A page whose link changes is nothing but a link to the page with the next id. */
  void bare(long pid) {
    bare.add(pid);
  }

  LongList bare() {
    return bare;
  }

  /** The link of {@link #topEnd}, which is known last. */
  void end(long next) {
    if (topEnd != 0) {
      link(topEnd, next);
    }
  }

  int links() {
    return pids.size();
  }

  long pid(int i) {
    return pids.get(i);
  }

  long next(int i) {
    return nexts.get(i);
  }
}
