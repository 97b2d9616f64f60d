package io.fovea.buffer;

import io.fovea.memory.LongList;

/**
 * A change in the middle of the free list, prepared by {@link FreeListWalk}. The allocator makes it
 * if the list is still as it was walked.
 *
 * <p>Not thread-safe.
 */
final class FreeListChange {
  /** Pages whose link changes, and the new links. */
  private final LongList pids = new LongList();

  private final LongList nexts = new LongList();

  /** The pages in {@link #pids} that may be holes: the link-only ones. */
  private final LongList linkOnlyPages = new LongList();

  /** The height in the list, counted from its end, of the highest page affected. */
  long highest;

  /** The head that the list must have, if it is one of the pages to take out; otherwise 0. */
  long head;

  long below;

  /** The number of pages cut off the file; 0 if pages move to the top. */
  long cut;

  long mark;

  /** The number of pages of the file with space after the cut, if there are holes. */
  long backed;

  /** The new head; 0 if the remaining list keeps its head. */
  long top;

  /** The last of the pages that move to the top; its link is to the previous top. */
  long topEnd;

  /** If pages move to the top: up to this height the rest of the list stays as it was walked. */
  long unchangedHeight;

  /**
   * Whether pages are only reordered below {@link #highest}, and become link-only: {@link
   * FreeRuns}.
   */
  boolean sorts;

  AllocatorState after = AllocatorState.EMPTY;

  void clear() {
    pids.clear();
    nexts.clear();
    linkOnlyPages.clear();
    highest = 0;
    head = 0;
    below = 0;
    cut = 0;
    mark = 0;
    backed = 0;
    top = 0;
    topEnd = 0;
    unchangedHeight = 0;
    sorts = false;
  }

  void addLink(long pid, long next) {
    pids.add(pid);
    nexts.add(next);
  }

  /** Marks a page whose link changes as link-only: it consists only of a link to the next id. */
  void addLinkOnly(long pid) {
    linkOnlyPages.add(pid);
  }

  LongList linkOnlyPages() {
    return linkOnlyPages;
  }

  void end(long next) {
    if (topEnd != 0) {
      addLink(topEnd, next);
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
