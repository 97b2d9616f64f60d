package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Walks the free list, and takes pages out of its middle.
 *
 * <pre>
 *   list    head ─► 7 ─► 98 ─► 99 ─► 4 ─► 97 ─► 0           100 is the high-water mark
 *   walk    heights 5    4     3     2    1                 nothing is latched; heights from the end
 *   cut     head ─► 7 ───────────► 4 ─► 0                   97 is the mark: TRUNCATED {7: 4, 4: 0}
 *   raise   head ─► 4 ─► 7 ─► 98 ─► 99 ─► 97 ─► 0           MOVED {99: 97, 4: 7}
 * </pre>
 *
 * <p>A walk reads the pages of the list without latches, however long that takes, while other
 * threads push and pop pages at its top. The allocator records how far down they have popped, so a
 * change is made only if all of its assumptions still hold.
 *
 * <p><b>Heights.</b> A page at some height, counted from the end of the list, keeps the link that a
 * walk has read as long as the list never becomes shorter than that. The allocator records the
 * minimum length since the walk began, so one comparison under its latch validates the walk.
 * Cutting pages off removes as many from the list as it adds free space above the mark, so
 * reservations still hold.
 *
 * <p><b>Pages are written before they are cut off.</b> A thread that has read a reference to such a
 * page before it was freed may read it from the file later. It must then find a free page, or
 * zeros, and not the former node.
 *
 * <p><b>Order.</b> 1. Pages to be cut are written. 2. The log's space is granted. 3. Pages whose
 * links change are loaded, and all pages that are in frames are latched, in single attempts; if one
 * fails, all are released. 4. The change, under the allocator's latch. 5. The links are written,
 * and the latches released. So no thread waits here with a latch, and the redo point is held back
 * only from step 2 to step 5. A cut holds its latches while it writes a record and its links to
 * memory.
 *
 * <p><b>Reading.</b> A page that is in no frame is read from a copy of its part of the file ({@link
 * ExtentReader}), so a walk takes at most one read for each MiB of the file, whatever the order of
 * the list. Pages whose links change are read one by one.
 *
 * <p>One walk of a pool at a time.
 */
final class FreeListWalk {
  static final int CHANGE_PAGES = 256;

  /**
   * The fraction of the frames that may be latched for links of a record; cut pages are not
   * counted.
   */
  private static final int LATCHED_PART = 8;

  private static final int TRIES = 64;

  /** Returned by {@link #raise} if there is more to walk. */
  static final int MORE = -1;

  /** The number of pages without a low one after which {@link #raise} returns. */
  private static final int SLICE_PAGES = 1 << 16;

  /** How often a walk of the whole list restarts because others pop its first pages. */
  private static final int WALKS = 16;

  /** The offset of the unused part of a free page. */
  private static final int BODY = PageAllocator.NEXT_FREE + Long.BYTES;

  private final Frames frames;
  private final MemorySegment pages;
  private final MemorySegment headers;
  private final PageAllocator allocator;
  private final Resolver resolver;
  private final WriteBack writeBack;
  private final ExtentReader file;
  private final FreeListChange change = new FreeListChange();

  /** The walked part of the list, from its head, and the next page. */
  private LongList list = new LongList();

  private long nextPid;

  /** The height of its first page. */
  private long top;

  /**
   * For each page walked: its LSN, if it is <i>link-only</i>, i.e. consists only of a link to the
   * next id; otherwise -1. Null if not needed.
   */
  private @Nullable LongList linkOnlyLsns;

  private int[] latched = new int[64];
  private int latchedSize;

  /**
   * Whether {@link #list} and {@link #nextPid} belong to a {@link #raise} that is to be continued.
   */
  private boolean raising;

  /** Whether a {@link #raise} has moved pages to the top since the walk began. */
  private boolean raised;

  FreeListWalk(
      Frames frames,
      PageAllocator allocator,
      Resolver resolver,
      WriteBack writeBack,
      ExtentReader file) {
    this.frames = frames;
    this.pages = frames.pages;
    this.headers = frames.headers;
    this.allocator = allocator;
    this.resolver = resolver;
    this.writeBack = writeBack;
    this.file = file;
  }

  /** Returns the maximum number of links in one record, in a pool of this size. */
  int maxLinks() {
    return Math.max(1, Math.min(CHANGE_PAGES, frames.least() / LATCHED_PART / 2));
  }

  // ------------------------------------------------------------------------------------- the tail

  /**
   * Cuts free pages off the end of the file, if there are enough.
   *
   * @param log a session that has begun nothing
   * @param min the minimum number of pages
   * @param max the maximum number of pages
   * @param stop returns true to end early
   * @return the number of pages cut
   */
  long cut(LogSession log, long min, long max, BooleanSupplier stop) {
    AllocatorState state = begin();
    long mark = state.highWater();
    int tail = tail(mark, max, stop);
    if (tail < Math.max(1, min)) {
      return 0;
    }
    BitSet found = new BitSet(tail);
    long from = mark - tail;
    AllocatorState now = allocator.state();
    if (now.freeHead() != state.freeHead() || now.freePages() != state.freePages()) {
      state = begin(); // pages freed concurrently may be at the end too
    }
    if (state.highWater() != mark) {
      return 0;
    }
    int left = tail;
    while (left > 0 && nextPid != 0 && step(stop)) {
      long pid = list.get(list.size() - 1);
      if (pid >= from) {
        found.set((int) (pid - from));
        left--;
      }
    }
    // A free page that was not found is not in the list: it is being freed or allocated.
    from += found.previousClearBit(tail - 1) + 1;
    if (mark - from < Math.max(1, min) || stop.getAsBoolean()) {
      return 0;
    }
    // At once if the remaining pages need few new links: each is a page to be read and written.
    long done = 0;
    long piece = mark - from;
    while (mark - done > from && !stop.getAsBoolean()) {
      long to = Math.max(from, mark - done - piece);
      if (cutTo(log, to, mark - done)) {
        done = mark - to;
      } else if (piece > maxLinks()) {
        piece = Math.max(maxLinks(), piece / 2);
      } else {
        break;
      }
    }
    return done;
  }

  private int tail(long mark, long max, BooleanSupplier stop) {
    long most = Math.min(Math.min(max, allocator.state().freePages()), Integer.MAX_VALUE);
    int n = 0;
    while (n < most && !stop.getAsBoolean() && isFree(mark - n - 1)) {
      n++;
    }
    return n;
  }

  private boolean isFree(long pid) {
    return (int) kind(pid, file) == PageHeader.FREE;
  }

  /** Returns the type of a page, and in the upper half its tree. */
  private long kind(long pid, ExtentReader file) {
    long kind = frames.translator.lookup(pid) < 0 ? file.kind(pid) : ExtentReader.UNKNOWN;
    return kind == ExtentReader.UNKNOWN ? kindInPool(pid) : kind;
  }

  private long kindInPool(long pid) {
    for (int round = 0; ; round = frames.pause(round)) {
      int frame = resolver.findAny(pid); // by page id: it may have just been allocated
      if (frame == Loader.ABSENT) {
        return PageHeader.NEVER_WRITTEN;
      }
      long version = Latch.optimistic(headers, frame);
      int type = PageHeader.type(pages, frames.base(frame));
      long tree = PageHeader.treeId(pages, frames.base(frame));
      boolean here = frames.pid(frame) == pid;
      VarHandle.acquireFence(); // reads before this belong to the version, if it validates
      if (version != Latch.LATCHED && here && Latch.validate(headers, frame, version)) {
        return tree << 32 | type;
      }
    }
  }

  /**
   * Visits the trees of the pages of long values, beginning at a page id; reads each page at a
   * different instant. Thread-safe.
   *
   * @param reader the caller's own
   * @param visitor receives the tree of each such page
   * @param stop returns true to end early
   */
  void longValues(long from, ExtentReader reader, IntConsumer visitor, BooleanSupplier stop) {
    for (long pid = from; pid < allocator.highWater() && !stop.getAsBoolean(); pid++) {
      if (reader.isFirst(pid)) {
        reader.clear(false);
      }
      long kind = kind(pid, reader);
      if ((int) kind == PageHeader.OVERFLOW) {
        visitor.accept((int) (kind >>> 32));
      }
    }
  }

  private boolean cutTo(LogSession log, long from, long mark) {
    change.clear();
    change.cut = mark - from;
    change.mark = from;
    LongList left = unlink(pid -> pid >= from);
    if (change.links() > maxLinks()) {
      return false;
    }
    write(from, mark);
    return make(log, from, mark, left);
  }

  // -------------------------------------------------------------------------------------- the top

  /**
   * Moves free pages with low ids to the top of the list, the lowest first, so that they are
   * allocated next.
   *
   * <p>The next call continues where this one ended, if the rest of the list is untouched. After
   * the end it starts at the head again if pages were raised since the last start, because others
   * may have been freed. So many calls together walk the list about once, and once more to see that
   * nothing is left.
   *
   * @param log a session that has begun nothing
   * @param below the limit of low ids
   * @param max the maximum number of pages
   * @param stop returns true to end early
   * @return how many pages with such ids are on top now; {@link #MORE} if there may be some, which
   *     the next call searches for
   */
  int raise(LogSession log, long below, int max, BooleanSupplier stop) {
    if (!raising || !hasKnownPredecessor()) {
      begin();
    }
    raising = false;
    long[] walked = new long[Math.min(maxLinks(), max)];
    int n = 0;
    int steps = 0;
    for (; n < walked.length && nextPid != 0 && steps < SLICE_PAGES && step(stop); steps++) {
      long pid = list.get(list.size() - 1);
      if (pid < below) {
        walked[n++] = pid;
      }
    }
    if (stop.getAsBoolean()) {
      return 0;
    }
    if (n == 0) {
      boolean more = steps == SLICE_PAGES && nextPid != 0;
      if (more) {
        leave(list);
      }
      return more || raised ? MORE : 0; // continues here, or again at the head
    }
    long[] sorted = Arrays.copyOf(walked, n);
    Arrays.sort(sorted);
    change.clear();
    LongList stay = unlink(pid -> pid < below && Arrays.binarySearch(sorted, pid) >= 0);
    for (int i = 0; i + 1 < n; i++) {
      change.addLink(sorted[i], sorted[i + 1]);
    }
    change.top = sorted[0];
    change.topEnd = sorted[n - 1];
    change.unchangedHeight = top - list.size() + Math.min(1, stay.size());
    if (!make(log, 0, 0, list)) {
      return 0;
    }
    leave(stay);
    raised = true;
    return n;
  }

  private void leave(LongList walked) {
    long height = top - list.size(); // of the page after the list
    int n = walked.size();
    LongList last = new LongList();
    if (n > 0) {
      last.add(walked.get(n - 1));
    }
    list = last;
    top = height + last.size();
    raising = true;
  }

  /** Returns whether the next page has a known predecessor, or is the head. */
  private boolean hasKnownPredecessor() {
    boolean linked = list.size() > 0 || allocator.isFreeHead(nextPid);
    return nextPid != 0 && linked && allocator.isUntouched(top);
  }

  // ---------------------------------------------------------------------------------- all of it

  /**
   * Walks the whole list.
   *
   * @param stop returns true to end early
   * @return whether it reached the end
   */
  boolean walkAll(BooleanSupplier stop) {
    for (int i = 0; i < WALKS && !stop.getAsBoolean(); i++) {
      begin();
      file.clear(true);
      linkOnlyLsns = new LongList();
      while (nextPid != 0 && step(stop)) {
        // goes on
      }
      if (nextPid == 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns the pages that {@link #walkAll} has walked, beginning at the head. */
  LongList list() {
    return list;
  }

  /** Returns the height of a page of that list, by its index. */
  long height(int i) {
    return top - i;
  }

  /** Returns the LSN of a page of that list, if it is link-only; otherwise -1. */
  long linkOnlyLsn(int i) {
    return Objects.requireNonNull(linkOnlyLsns).get(i);
  }

  FreeListChange change() {
    return change;
  }

  /**
   * Reorders pages below a height, and makes them link-only.
   *
   * @param log a session that has begun nothing
   * @return false if other threads changed the list first
   */
  boolean sort(LogSession log) {
    change.sorts = true;
    return make(log, 0, 0, list);
  }

  // ------------------------------------------------------------------------------------- the walk

  private AllocatorState begin() {
    AllocatorState state = allocator.walk();
    file.clear(false); // after the walk has begun: see ExtentReader
    list = new LongList();
    linkOnlyLsns = null;
    raising = false;
    raised = false;
    top = state.freePages();
    nextPid = state.freeHead();
    return state;
  }

  void clear() {
    file.clear(false);
    list = new LongList();
    linkOnlyLsns = null;
    raising = false;
    raised = false;
  }

  /** Advances by one page; returns false if it was popped, or the caller wants to end. */
  private boolean step(BooleanSupplier stop) {
    long pid = nextPid;
    long height = top - list.size();
    for (int round = 0; !stop.getAsBoolean(); round = frames.pause(round)) {
      if (!allocator.isUntouched(height)) {
        return false;
      }
      long link = file.next(pid);
      if (link >= 0) {
        if (!allocator.isUntouched(height)) {
          return false;
        }
        if ((link == 0) == (height == 1)) {
          add(pid, link, linkOnlyLsns == null ? -1 : file.linkOnlyLsn(pid));
          return true;
        }
      }
      int frame = resolver.findQuietly(pid);
      long version = Latch.optimistic(headers, frame);
      long base = frames.base(frame);
      int type = PageHeader.type(pages, base);
      long next = Mem.getLong(pages, base + PageAllocator.NEXT_FREE);
      long lsn = linkOnlyLsns == null ? -1 : linkOnlyLsn(base, pid, next);
      boolean here = frames.pid(frame) == pid;
      VarHandle.acquireFence(); // as in kindInPool
      if (version == Latch.LATCHED || !here || !Latch.validate(headers, frame, version)) {
        continue;
      }
      if (!allocator.isUntouched(height)) {
        return false; // the page may be in use by now
      }
      if (type != PageHeader.FREE || (next == 0) != (height == 1)) {
        throw new CorruptionException(
            "a page of the free list", pid, pid << frames.pageShift, PageHeader.FREE, type);
      }
      add(pid, next, lsn);
      return true;
    }
    return false;
  }

  private void add(long pid, long next, long lsn) {
    list.add(pid);
    if (linkOnlyLsns != null) {
      linkOnlyLsns.add(lsn);
    }
    nextPid = next;
  }

  private long linkOnlyLsn(long base, long pid, long next) {
    boolean is = next == pid + 1 && Mem.isZero(pages, base + BODY, frames.pageSize - BODY);
    return is ? PageHeader.pageLsn(pages, base) : -1;
  }

  private interface Unlinked {
    boolean is(long pid);
  }

  private LongList unlink(Unlinked unlinked) {
    LongList stay = new LongList();
    boolean gap = false;
    boolean wasLinkOnly = false;
    long before = 0;
    int n = list.size();
    for (int i = 0; i <= n; i++) {
      long pid = i < n ? list.get(i) : nextPid;
      if (i < n && unlinked.is(pid)) {
        if (change.cut == 0 && mayBeLinkOnly(i)) {
          change.addLinkOnly(pid);
        }
        if (!gap) {
          change.highest = Math.max(change.highest, top - i + (before == 0 ? 0 : 1));
        }
        gap = true;
        continue;
      }
      if (gap && before == 0) {
        change.head = list.get(0);
        change.below = pid;
      } else if (gap) {
        change.addLink(before, pid);
        if (wasLinkOnly) {
          change.addLinkOnly(before);
        }
      }
      gap = false;
      wasLinkOnly = i < n && mayBeLinkOnly(i);
      before = pid;
      if (i < n) {
        stay.add(pid);
      }
    }
    return stay;
  }

  private boolean mayBeLinkOnly(int i) {
    long next = i + 1 < list.size() ? list.get(i + 1) : nextPid;
    return next == list.get(i) + 1 && height(i) <= allocator.holes().top();
  }

  // ----------------------------------------------------------------------------------- the change

  private boolean make(LogSession log, long cutFrom, long cutEnd, LongList left) {
    if (!allocator.holes().prepare(change)) {
      return false; // a link would be written into a hole, and there is no space
    }
    log.begin(FreeListRecord.space(change.links() + 1));
    try {
      for (int i = 0, round = 0; i < TRIES; i++, round = frames.pause(round)) {
        boolean ready = false;
        boolean made = false;
        load();
        try {
          ready = latch(cutFrom, cutEnd);
          if (ready) {
            made = allocator.rearrange(change, log);
          }
          if (made) {
            link(log);
          }
        } catch (Error e) {
          throw ready ? frames.poolStop.stop(e) : e; // the links may not be those of the record
        } finally {
          unlatch(made);
        }
        if (made) {
          top -= change.cut;
          list = left;
          return true;
        }
        if (ready) {
          return false;
        }
      }
      return false;
    } finally {
      log.end();
    }
  }

  private void load() {
    for (int i = 0; i < change.links(); i++) {
      resolver.findSlow(change.pid(i));
    }
    if (change.topEnd != 0) {
      resolver.findSlow(change.topEnd);
    }
  }

  /** Latches the pages with new links, then those that are cut off and in a frame. */
  private boolean latch(long cutFrom, long cutEnd) {
    latchedSize = 0;
    for (int i = 0; i < change.links(); i++) {
      if (!latch(change.pid(i), true)) {
        return false;
      }
    }
    if (change.topEnd != 0 && !latch(change.topEnd, true)) {
      return false;
    }
    for (long pid = cutFrom; pid < cutEnd; pid++) {
      if (!latch(pid, false)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns false if the page is latched by another thread, has left its frame, or must be written.
   */
  private boolean latch(long pid, boolean needed) {
    int frame = frames.translator.locate(pid);
    if (frame < 0) {
      return !needed;
    }
    if (latchedSize == latched.length) {
      latched = Arrays.copyOf(latched, 2 * latchedSize);
    }
    if (!Latch.tryExclusive(headers, frame)) {
      return false;
    }
    latched[latchedSize++] = frame;
    return frames.pid(frame) == pid
        && (needed
            || !FrameHeader.isDirty(headers, frame) && !FrameHeader.isWriting(headers, frame));
  }

  private void link(LogSession log) {
    try {
      for (int i = 0; i < change.links(); i++) {
        allocator.link(
            latched[i],
            change.pid(i),
            change.next(i),
            AllocatorRecord.recordStart(log),
            AllocatorRecord.recordEnd(log));
        if (change.sorts) {
          Mem.zero(pages, frames.base(latched[i]) + BODY, frames.pageSize - BODY);
        }
      }
    } catch (Error e) {
      throw frames.poolStop.stop(e); // the list is broken
    }
  }

  private void unlatch(boolean made) {
    int links = made ? change.links() : 0;
    for (int i = 0; i < latchedSize; i++) {
      if (i < links) {
        Latch.releaseExclusive(headers, latched[i]);
      } else {
        Latch.releaseExclusiveUnchanged(headers, latched[i]);
      }
    }
    latchedSize = 0;
  }

  void write(long from, long mark) {
    writeBack.begin();
    try {
      for (long pid = from; pid < mark; pid++) {
        int frame = frames.translator.lookup(pid);
        if (frame >= 0 && FrameHeader.isDirty(headers, frame)) {
          writeBack.add(pid, frame);
          if (writeBack.isFull()) {
            writeBack.write(true);
            writeBack.clear();
          }
        }
      }
      writeBack.write(true);
    } finally {
      writeBack.end();
    }
  }
}
