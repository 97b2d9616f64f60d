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
 * Gives the space of free pages in the middle of the file back to the file system.
 *
 * <pre>
 *   list     head ─► 7 ─► 31 ─► 12 ─► 30 ─► 33 ─► 5 ─► 32 ─► 0
 *   gather   head ─► 7 ─► 12 ─► 5 ─► 30 ─► 31 ─► 32 ─► 33 ─► 0          MOVED: runs to the end, in order
 *   checkpoint                                                          redo is behind that
 *   punch    head ─► 7 ─► 12 ─► 5 ─► (30)  (31)  (32) ─► 33 ─► 0        holes, which read as zeros
 * </pre>
 *
 * <p><b>The rule:</b> a page of zeros below the high-water mark is a free page that the page with
 * the next id follows. So the holes of a run need no link, and the last page of each run keeps its
 * one. The superblock says whether the rule holds for a file; where it does not, a page of zeros is
 * damaged. Where it does, what names the page says which of the two it is: the free list, or a
 * tree, which finds a free page in the place of a node and says so.
 *
 * <p><b>Bare pages.</b> Only a page becomes a hole that already says what its zeros will say: it is
 * free, links to the next id, and has zeros behind the link. Header and link lie in its first 512
 * bytes. So whatever part of a punch a crash, or a read that is under way, finds done, the page is
 * the same free page. No sync is needed for a punch, and no record.
 *
 * <p><b>Why recovery needs nothing of a hole.</b> A page may be punched whose LSN is not above the
 * redo point of a durable superblock, one that says that there may be holes. Then:
 *
 * <ul>
 *   <li>Replay begins behind the last record of the page. It does not go on from what the page was
 *       before it was free: without this, a change of a node would be made again on zeros. The next
 *       record about it that counts finds LSN 0, which is below its own, as the LSN of the page
 *       was.
 *   <li>The page is clean: a dirty one holds the redo point back. So no write of something older is
 *       under way that would come after the punch.
 *   <li>A copy in the double-write area, if that still has one, is of the newest batch that had the
 *       page, so of the bare page: restoring it undoes the punch, and nothing else.
 *   <li>A backup that has begun before would replay from before the redo point. While {@link
 *       PoolSpace#keep} counts one, nothing is punched. One that begins later has a redo point that
 *       is not below the one here. An increment has all pages of zeros, as their LSN says nothing.
 *   <li>A snapshot does not read what was free at its moment. What became free later was copied for
 *       it first, so a hole is never what it looks for.
 * </ul>
 *
 * <p><b>Without a log</b> nothing is replayed: a file that was not closed can't be opened. So any
 * bare page may be punched, once it is written: a write that comes later would only give it its
 * space again.
 *
 * <p><b>Why no page is punched that somebody uses.</b> Pages leave the list at its top alone, but
 * for those that a walk takes out of it, and there is one walk at a time. Who takes the top off
 * latches its page exclusively first. So while the first page of a run is latched here, and is in
 * the list at the height where it was walked, none below it can leave, and the whole run is free
 * until the punch is over: without the latch, a page could be taken, filled, written, and punched
 * then. Without the look at the height after the latch, all of that could have been before it. The
 * latch is only tried: a thread that has the page latched may wait for the lock of {@link
 * FreeHoles}, under which the punch is made, as it wants a second page.
 *
 * <p><b>Gathering</b> gives pages other places below some height; how many there are below each
 * height stays, so what the allocator knows of the walk stays right, and one walk is enough for
 * many records. The head is never moved.
 *
 * <p>Pages are taken from the top of the list, and runs lie at its end: scattered pages are used
 * first. A page that is taken out of a hole has space of the file system again before: {@link
 * FreeHoles}.
 *
 * <p>One thread: the owner of {@link PoolSpace}'s lock.
 */
final class FreeRuns {
  /** How many free pages in a row are a run. One of them keeps its space. */
  static final int RUN_PAGES = 8;

  /**
   * Runs end where a page id is a multiple of it, so that they are gathered one after the other.
   */
  static final int BLOCK_PAGES = 1024;

  /** How often in a row it begins anew without having come further. */
  private static final int FAILURES = 4;

  private final PageAllocator allocator;
  private final Resolver resolver;
  private final FreeListWalk walk;
  private final MemorySegment headers;

  // What was walked, and the places that pages have now. A place is an index of the list as it was.
  private LongList list = new LongList();
  private int[] before = new int[0];
  private int[] behind = new int[0];
  private int last;
  private final BitSet moved = new BitSet();

  /** Without a log: pages that were gathered and not punched since. */
  private final BitSet fresh = new BitSet();

  /** Whether the last attempt ended because a page was busy, or others were faster. */
  private boolean failed;

  /** Up to this LSN all is punched that may be. */
  private long punchedLsn;

  /** How many pages were punched so far. */
  private long punched;

  FreeRuns(PageAllocator allocator, Resolver resolver, FreeListWalk walk, MemorySegment headers) {
    this.headers = headers;
    this.allocator = allocator;
    this.resolver = resolver;
    this.walk = walk;
  }

  // -------------------------------------------------------------------------------------- gather

  /**
   * Puts runs of free pages in order at the end of the list, and makes them bare.
   *
   * @param log has nothing begun
   * @param max about how many pages at most: the run that is begun is finished
   * @param stop says that it is to end early
   * @return how many pages; 0 if there are no more runs, or others were faster each time
   */
  long gather(LogSession log, long max, BooleanSupplier stop) {
    int piece = (walk.most() - 1) / 2; // each has a page before it, whose link changes too
    long done = 0;
    boolean more = piece > 0;
    for (int failures = 0; more && failures < FAILURES && !stop.getAsBoolean(); failures++) {
      long before = done;
      done += gatherOnce(log, piece, max - done, stop);
      more = failed && done < max;
      failures = done > before ? 0 : failures;
    }
    forget();
    return done;
  }

  private long gatherOnce(LogSession log, int piece, long max, BooleanSupplier stop) {
    failed = !walk.all(stop);
    if (failed) {
      return 0;
    }
    begin();
    long[] sorted = new long[list.size()];
    for (int i = 0; i < sorted.length; i++) {
      sorted[i] = list.get(i);
    }
    Arrays.sort(sorted);
    int[] places = new int[sorted.length];
    for (int i = 0; i < sorted.length; i++) {
      places[Arrays.binarySearch(sorted, list.get(i))] = i;
    }
    long done = 0;
    for (int from = 0, to; from < sorted.length && done < max; from = to) {
      to = endOfRun(sorted, places, from);
      if (to - from < RUN_PAGES || isGathered(places, from, to)) {
        continue;
      }
      for (int at = from; at < to; at += piece) {
        int end = Math.min(to, at + piece);
        failed = stop.getAsBoolean() || !toTheEnd(Arrays.copyOfRange(places, at, end), log);
        if (failed) {
          return done;
        }
        done += end - at;
        if (!log.logging()) {
          note(sorted, at, end);
        }
      }
    }
    return done;
  }

  private void note(long[] sorted, int from, int to) {
    for (int i = from; i < to; i++) {
      if (sorted[i] <= Integer.MAX_VALUE) {
        fresh.set((int) sorted[i]); // others keep their space
      }
    }
  }

  private void forget() {
    list = new LongList();
    before = new int[0];
    behind = new int[0];
    moved.clear();
  }

  private void begin() {
    list = walk.list();
    int n = list.size();
    before = new int[n];
    behind = new int[n];
    for (int i = 0; i < n; i++) {
      before[i] = i - 1;
      behind[i] = i + 1 < n ? i + 1 : -1;
    }
    last = n - 1;
    moved.clear();
  }

  /** The end of the pages that follow each other in the file; the head is none of them. */
  private static int endOfRun(long[] sorted, int[] places, int from) {
    if (places[from] == 0) {
      return from + 1;
    }
    int to = from + 1;
    while (to < sorted.length
        && sorted[to] == sorted[to - 1] + 1
        && sorted[to] % BLOCK_PAGES != 0
        && places[to] != 0) {
      to++;
    }
    return to;
  }

  /** Whether a run is in order in the list, and all its pages but the last one are bare. */
  private boolean isGathered(int[] places, int from, int to) {
    for (int k = from; k + 1 < to; k++) {
      if (places[k + 1] != places[k] + 1 || walk.bareLsn(places[k]) < 0) {
        return false;
      }
    }
    return true;
  }

  /** Moves pages to the end of the list, in the order in which they are given. */
  private boolean toTheEnd(int[] places, LogSession log) {
    Set<Integer> changed = new HashSet<>();
    int top = Integer.MAX_VALUE;
    for (int place : places) {
      int upper = before[place]; // there is one: the head stays
      int lower = behind[place];
      top = Math.min(top, moved.get(upper) ? place : Math.min(place, upper));
      behind[upper] = lower;
      changed.add(upper);
      if (lower >= 0) {
        before[lower] = upper;
      } else {
        last = upper;
      }
    }
    FreeListChange change = walk.change();
    change.clear();
    // Those that were moved before, and lay above, lie below now.
    change.highest = walk.height(top) + moved.get(0, top).cardinality();
    for (int place : places) {
      behind[last] = place;
      changed.add(last);
      before[place] = last;
      behind[place] = -1;
      last = place;
      changed.add(place);
      moved.set(place);
    }
    for (int place : changed) {
      change.link(list.get(place), behind[place] < 0 ? 0 : list.get(behind[place]));
      if (walk.bareLsn(place) >= 0) {
        change.bare(list.get(place));
      }
    }
    return walk.sort(log);
  }

  /** Names all free pages; false if it did not come to the end. */
  boolean visit(LongConsumer visitor, BooleanSupplier stop) {
    if (!walk.all(stop)) {
      return false;
    }
    LongList all = walk.list();
    for (int i = 0; i < all.size(); i++) {
      visitor.accept(all.get(i));
    }
    return true;
  }

  // --------------------------------------------------------------------------------------- punch

  /** What has become of a punch. */
  enum Outcome {
    /** All is punched that may be. */
    DONE,
    /** Something is left: others were faster, a backup runs, or it was to stop. */
    PARTLY,
    /** The file system can't. */
    IMPOSSIBLE
  }

  /**
   * Punches bare pages.
   *
   * @param redo where replay begins, as a durable superblock says that knows of holes; else -1
   * @param stop says that it is to end early
   */
  Outcome punch(long redo, BooleanSupplier stop) {
    if (!walk.all(stop)) {
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
          walk.write(pids.get(from), pids.get(from) + to - from); // else that comes after it
        }
        Outcome outcome = punch(pids.get(from), to - from, walk.height(from));
        if (outcome == Outcome.IMPOSSIBLE) {
          return outcome;
        }
        all &= outcome == Outcome.DONE;
      }
      if (to - from == BLOCK_PAGES) {
        to--; // the next one begins there
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
        : walk.bareLsn(i) > punchedLsn;
  }

  private boolean isHole(int i, long redo) {
    long lsn = walk.bareLsn(i);
    return lsn >= 0 && lsn <= redo;
  }

  private Outcome punch(long pid, int n, long height) {
    return allocator.holes().alone(() -> punchAlone(pid, n, height));
  }

  private Outcome punchAlone(long pid, int n, long height) {
    int frame = resolver.bring(pid);
    if (!resolver.tryShared(frame, pid)) {
      return Outcome.PARTLY; // somebody takes it, and may wait for the lock that is held here
    }
    try {
      if (allocator.keepers.get() != 0
          || !allocator.isUntouched(height)
          || !allocator.holes().become(height, pid)) {
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
