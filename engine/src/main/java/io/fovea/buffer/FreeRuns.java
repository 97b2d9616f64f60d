package io.fovea.buffer;

import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * Returns the space of free pages in the middle of the file to the file system.
 *
 * <pre>
 *   list     head ─► 7 ─► 31 ─► 12 ─► 30 ─► 33 ─► 5 ─► 32 ─► 0
 *   gather   head ─► 7 ─► 12 ─► 5 ─► 30 ─► 31 ─► 32 ─► 33 ─► 0          MOVED: runs to the end, in order
 *   checkpoint                                                          redo is behind that
 *   punch    head ─► 7 ─► 12 ─► 5 ─► (30)  (31)  (32) ─► 33 ─► 0        holes, which read as zeros
 * </pre>
 *
 * <p><b>The rule:</b> a page of zeros below the high-water mark is a free page whose successor is
 * the next id. So the holes of a run need no link, and the last page of each run keeps its link.
 * The superblock says whether the rule holds for a file; if not, a page of zeros is damaged. If it
 * does, the origin of the reference decides: the free list accepts the page; a tree reports a free
 * page instead of a node.
 *
 * <p><b>Link-only pages.</b> Only a page that already means the same as zeros becomes a hole: it is
 * free, links to the next id, and contains only zeros after the link. Header and link are in its
 * first 512 bytes. So with any part of a punch done, after a crash or during a concurrent read, the
 * page is the same free page. A punch needs neither a sync nor a record.
 *
 * <p><b>Recovery.</b> A page may be punched if its LSN is not above the redo point of a durable
 * superblock that allows holes. Then:
 *
 * <ul>
 *   <li>Replay begins after the last record of the page, so it does not apply a change of the
 *       former node to zeros. The next record that counts finds LSN 0, which is below its own, as
 *       the LSN of the page was.
 *   <li>The page is clean, as a dirty one holds the redo point back. So no older write is in flight
 *       that would follow the punch.
 *   <li>A copy in the double-write area, if any, is from the newest batch that contained the page,
 *       so it is a copy of the link-only page: restoring it only undoes the punch.
 *   <li>A backup that began earlier would replay from before the redo point; while {@link
 *       PoolSpace#blockCuts} counts one, nothing is punched. The redo point of a later backup is
 *       not below the one here. An incremental backup contains all pages of zeros, because their
 *       LSN says nothing.
 *   <li>A snapshot does not read pages that were free when it was taken. Pages freed later were
 *       copied for it first, so it never needs a hole.
 * </ul>
 *
 * <p><b>Without a log</b> nothing is replayed: a file that was not closed can't be opened. So any
 * link-only page may be punched once it is written; a later write would only allocate its space
 * again.
 *
 * <p><b>No page is punched while in use.</b> Pages leave the list only at its top, or by a walk,
 * and there is one walk at a time. A thread that pops the top latches its page exclusively first.
 * So while the first page of a run is latched here, and is in the list at the height where it was
 * walked, none below it can leave, and the whole run stays free during the punch. Excluded by the
 * latch: a page is taken, filled, written, and then punched. Excluded by checking the height after
 * the latch: all of that happened before. The latch is only tried: a thread with the page latched
 * may wait for the lock of {@link FreeHoles}, under which the punch is made, for a second page.
 *
 * <p><b>Gathering</b> reorders pages below some height; the number of pages below each height does
 * not change, so the allocator's record of the walk stays valid, and one walk is enough for many
 * records. The head is never moved.
 *
 * <p>Pages are taken from the top of the list, and runs are at its end, so scattered pages are used
 * first. A hole gets space from the file system again before it is allocated: {@link FreeHoles}.
 *
 * <p>For one thread: the owner of {@link PoolSpace}'s lock.
 */
final class FreeRuns {
  static final int RUN_PAGES = 8;

  /** Runs end at multiples of this number, so that they are gathered one after the other. */
  static final int BLOCK_PAGES = 1024;

  private static final int FAILURES = 4;

  private final PageAllocator allocator;
  private final Resolver resolver;
  private final FreeListWalk walk;
  private final MemorySegment headers;

  // The walked list, and the current order of its pages, by their index in the list as walked.
  private LongList list = new LongList();
  private int[] predecessors = new int[0];
  private int[] successors = new int[0];
  private int last;
  private final BitSet moved = new BitSet();

  /** Without a log: pages that were gathered and have not been punched since. */
  private final BitSet fresh = new BitSet();

  /** Whether the last attempt ended because a page was busy, or the list had changed. */
  private boolean failed;

  /** All eligible pages up to this LSN are punched. */
  private long punchedLsn;

  private long punched;

  FreeRuns(PageAllocator allocator, Resolver resolver, FreeListWalk walk, MemorySegment headers) {
    this.headers = headers;
    this.allocator = allocator;
    this.resolver = resolver;
    this.walk = walk;
  }

  // -------------------------------------------------------------------------------------- gather

  /**
   * Moves runs of free pages to the end of the list, in order, and makes them link-only.
   *
   * @param log a session that has begun nothing
   * @param max the approximate maximum number of pages: a run is completed once begun
   * @param stop returns true to end early
   * @return the number of pages; 0 if there are no more runs, or other threads changed the list
   *     each time
   */
  long gather(LogSession log, long max, BooleanSupplier stop) {
    int piece = (walk.maxLinks() - 1) / 2; // for each page, the link of its predecessor changes too
    long done = 0;
    boolean more = piece > 0;
    for (int failures = 0; more && failures < FAILURES && !stop.getAsBoolean(); failures++) {
      long before = done;
      done += gatherOnce(log, piece, max - done, stop);
      more = failed && done < max;
      failures = done > before ? 0 : failures;
    }
    clear();
    return done;
  }

  private long gatherOnce(LogSession log, int piece, long max, BooleanSupplier stop) {
    failed = !walk.walkAll(stop);
    if (failed) {
      return 0;
    }
    begin();
    long[] sorted = new long[list.size()];
    for (int i = 0; i < sorted.length; i++) {
      sorted[i] = list.get(i);
    }
    Arrays.sort(sorted);
    int[] positions = new int[sorted.length];
    for (int i = 0; i < sorted.length; i++) {
      positions[Arrays.binarySearch(sorted, list.get(i))] = i;
    }
    long done = 0;
    for (int from = 0, to; from < sorted.length && done < max; from = to) {
      to = endOfRun(sorted, positions, from);
      if (to - from < RUN_PAGES || isGathered(positions, from, to)) {
        continue;
      }
      for (int at = from; at < to; at += piece) {
        int end = Math.min(to, at + piece);
        failed = stop.getAsBoolean() || !toTheEnd(Arrays.copyOfRange(positions, at, end), log);
        if (failed) {
          return done;
        }
        done += end - at;
        if (!log.isLogging()) {
          markFresh(sorted, at, end);
        }
      }
    }
    return done;
  }

  private void markFresh(long[] sorted, int from, int to) {
    for (int i = from; i < to; i++) {
      if (sorted[i] <= Integer.MAX_VALUE) {
        fresh.set((int) sorted[i]); // others keep their space
      }
    }
  }

  private void clear() {
    list = new LongList();
    predecessors = new int[0];
    successors = new int[0];
    moved.clear();
  }

  private void begin() {
    list = walk.list();
    int n = list.size();
    predecessors = new int[n];
    successors = new int[n];
    for (int i = 0; i < n; i++) {
      predecessors[i] = i - 1;
      successors[i] = i + 1 < n ? i + 1 : -1;
    }
    last = n - 1;
    moved.clear();
  }

  /** Returns the end of a run of adjacent pages, which excludes the head. */
  private static int endOfRun(long[] sorted, int[] positions, int from) {
    if (positions[from] == 0) {
      return from + 1;
    }
    int to = from + 1;
    while (to < sorted.length
        && sorted[to] == sorted[to - 1] + 1
        && sorted[to] % BLOCK_PAGES != 0
        && positions[to] != 0) {
      to++;
    }
    return to;
  }

  /**
   * Returns whether a run is in order in the list, and all its pages but the last are link-only.
   */
  private boolean isGathered(int[] positions, int from, int to) {
    for (int k = from; k + 1 < to; k++) {
      if (positions[k + 1] != positions[k] + 1 || walk.linkOnlyLsn(positions[k]) < 0) {
        return false;
      }
    }
    return true;
  }

  private boolean toTheEnd(int[] positions, LogSession log) {
    Set<Integer> changed = new HashSet<>();
    int top = Integer.MAX_VALUE;
    for (int position : positions) {
      int upper = predecessors[position]; // exists: the head stays
      int lower = successors[position];
      top = Math.min(top, moved.get(upper) ? position : Math.min(position, upper));
      successors[upper] = lower;
      changed.add(upper);
      if (lower >= 0) {
        predecessors[lower] = upper;
      } else {
        last = upper;
      }
    }
    FreeListChange change = walk.change();
    change.clear();
    // Pages that were above and moved are below now.
    change.highest = walk.height(top) + moved.get(0, top).cardinality();
    for (int position : positions) {
      successors[last] = position;
      changed.add(last);
      predecessors[position] = last;
      successors[position] = -1;
      last = position;
      changed.add(position);
      moved.set(position);
    }
    for (int position : changed) {
      change.addLink(
          list.get(position), successors[position] < 0 ? 0 : list.get(successors[position]));
      if (walk.linkOnlyLsn(position) >= 0) {
        change.addLinkOnly(list.get(position));
      }
    }
    return walk.sort(log);
  }

  boolean visit(LongConsumer visitor, BooleanSupplier stop) {
    if (!walk.walkAll(stop)) {
      return false;
    }
    LongList all = walk.list();
    for (int i = 0; i < all.size(); i++) {
      visitor.accept(all.get(i));
    }
    return true;
  }

  // --------------------------------------------------------------------------------------- punch

  enum Outcome {
    DONE,
    /** Pages remain: the list had changed, a backup is running, or the caller stopped it. */
    PARTLY,
    IMPOSSIBLE
  }

  /**
   * Punches link-only pages.
   *
   * @param redo the start of replay in a durable superblock that allows holes; otherwise -1
   * @param stop returns true to end early
   */
  Outcome punch(long redo, BooleanSupplier stop) {
    if (!walk.walkAll(stop)) {
      return Outcome.PARTLY;
    }
    LongList pids = walk.list();
    boolean all = true;
    for (int from = 0, to; from < pids.size(); from = to + 1) {
      to = from;
      boolean any = false;
      while (to < pids.size() && to - from < BLOCK_PAGES && isHole(to, redo)) {
        any |= isNew(to, pids.get(to), redo) || walk.height(to) > allocator.holes().top();
        to++;
      }
      if (any && stop.getAsBoolean()) {
        return Outcome.PARTLY;
      }
      if (any) {
        if (redo == PoolSpace.UNLOGGED) {
          walk.write(
              pids.get(from), pids.get(from) + to - from); // or the write would follow the punch
        }
        Outcome outcome = punch(pids.get(from), to - from, walk.height(from));
        if (outcome == Outcome.IMPOSSIBLE) {
          return outcome;
        }
        all &= outcome == Outcome.DONE;
      }
      if (to - from == BLOCK_PAGES) {
        to--; // the next run begins there
      }
    }
    if (all && redo != PoolSpace.UNLOGGED) {
      punchedLsn = redo;
    } else if (all) {
      fresh.clear();
    }
    return all ? Outcome.DONE : Outcome.PARTLY;
  }

  long punched() {
    return punched;
  }

  private boolean isNew(int i, long pid, long redo) {
    return redo == PoolSpace.UNLOGGED
        ? pid <= Integer.MAX_VALUE && fresh.get((int) pid)
        : walk.linkOnlyLsn(i) > punchedLsn;
  }

  private boolean isHole(int i, long redo) {
    long lsn = walk.linkOnlyLsn(i);
    return lsn >= 0 && lsn <= redo;
  }

  private Outcome punch(long pid, int n, long height) {
    return allocator.holes().withoutFilling(() -> punchAlone(pid, n, height));
  }

  private Outcome punchAlone(long pid, int n, long height) {
    int frame = resolver.frameOf(pid);
    if (!resolver.tryShared(frame, pid)) {
      return Outcome.PARTLY; // its latch holder may wait for the lock that is held here
    }
    try {
      if (allocator.shrinkBlockers.get() != 0
          || !allocator.isUntouched(height)
          || !allocator.holes().tryMark(height, pid)) {
        return Outcome.PARTLY;
      }
      if (!allocator.extent().punch(pid, n)) {
        return Outcome.IMPOSSIBLE;
      }
      punched += n;
      return Outcome.DONE;
    } finally {
      Latch.releaseShared(headers, frame);
    }
  }
}
