package io.fovea.buffer;

import io.fovea.copies.PageCopies;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Blocks;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A buffer pool: pages of a file in frames of memory.
 *
 * <pre>
 *   page id ─predict─► frame ──optimistic──► version ──(read the page)──► validate ──► done
 *                        │         │                                        │
 *                        │         └─ RESTART: another page, or latched     └─ changed: again
 *                        │                       │
 *                        └────── findSlow ◄──────┘   forwarding, device, promotion
 * </pre>
 *
 * <p><b>Reading without a latch</b>, the way of nearly all reads:
 *
 * <pre>{@code
 * int frame = pool.predict(pid);
 * long version = pool.optimistic(frame, pid);
 * if (version == BufferPool.RESTART) {
 *   // here the caller makes sure that pid itself was read from something that is still valid
 *   frame = pool.findSlow(pid);
 *   version = pool.optimistic(frame, pid);   // RESTART again: start over
 * }
 * ... read at pool.base(frame) of pool.pages() ...
 * if (!pool.validate(frame, version)) { start over }
 * }</pre>
 *
 * <p><b>Rules for callers.</b>
 *
 * <ul>
 *   <li>What was read is no address, no loop bound and no result before it was validated. {@link
 *       #predict} and {@link #optimistic} take any number; {@link #findSlow} and the {@code fix}
 *       methods want a validated page id, and throw {@link io.fovea.error.CorruptionException} for
 *       one that was never given out.
 *   <li>Holding a latch, do not call what may wait for a frame or the device: {@link #findSlow},
 *       {@link #begin}, {@link #allocate}, {@code fix} of a page that may be absent.
 *   <li>{@link #markDirty} before the exclusive latch is released, if the page was changed.
 *   <li>Page latches are no locks: hold them for a microsecond.
 * </ul>
 *
 * <p>Thread-safe. Works from platform and virtual threads; waiting keeps interrupt flags.
 *
 * <p>The class is a facade and is kept small: translation is in {@link Translator}, latches in
 * {@link Latch}, misses in {@link Loader}, promotion in {@link PagePromoter}, replacement in {@link
 * FrameAllocator}, writes in {@link WriteBack}, page ids in {@link PageAllocator}. What only
 * commits, checkpoints or recovery ask for is in {@link PageReservations}, {@link PoolCheckpoint}
 * and {@link PoolRecovery}; how it stops, in {@link PoolStop}. The file has more than 600 lines
 * because the contract of a page's life (found, latched, changed, allocated, freed) is read as one;
 * most of them are Javadoc.
 *
 * @since 0.1.0
 */
public final class BufferPool implements AutoCloseable {
  /** Not a version: the page is not there, or is being changed. */
  public static final long RESTART = Latch.LATCHED;

  private final MemorySegment pages;
  private final MemorySegment headers;
  private final Translator translator;
  private final int pageShift;

  /** Seen by the tests of the room, as is {@link #writeBack}. */
  final Frames frames;

  private final Loader loader;
  private final GroupLoader groups;
  final Resolver resolver;
  private final ChildHints hints;
  private final int hintLimit;
  private final int hintMask;

  /** Whether references say where their pages are: with swizzling, or when all pages are awake. */
  private boolean exact;

  private final FrameAllocator replacement;
  final WriteBack writeBack;
  private final BackgroundWriter writer;
  final PageAllocator allocator;
  private final Flusher flusher;
  private final PageReservations promises;
  private final PoolCheckpoint checkpoint;
  private final PoolRecovery recovery;
  private final PoolStop stop;
  private final Blocks memory = new Blocks("working memory of trees");
  private final Pretoucher pretouch;

  /**
   * Opens a pool over a device.
   *
   * @param device holds the pages; stays the caller's, who closes it after the pool
   * @param config sizes and kinds
   * @param state what {@link #allocatorState} said when the file was closed; {@link
   *     AllocatorState#EMPTY} for a new one
   * @throws io.fovea.error.PoolTooSmallException for less than {@link PoolConfig#FRAMES_MIN} frames
   * @throws io.fovea.error.CorruptionException where state and file contradict each other
   */
  public BufferPool(BlockDevice device, PoolConfig config, AllocatorState state) {
    this(device, config, state, PoolLog.NONE, null);
  }

  /**
   * The same with a log.
   *
   * @param log says up to where the log is durable
   * @param area where copies of pages go before they are written in place, of this pool alone; null
   *     for none
   */
  public BufferPool(
      BlockDevice device,
      PoolConfig config,
      AllocatorState state,
      PoolLog log,
      @Nullable DoubleWrite area) {
    config.check(device, area);
    frames = new Frames(config, device);
    boolean done = false;
    try {
      pages = frames.pages;
      headers = frames.headers;
      translator = frames.translator;
      pageShift = frames.pageShift;
      DataSync dataSync = new DataSync(device, log, area == null ? 0 : area.nextBatch() - 1);
      writeBack = new WriteBack(frames, device, log, area, dataSync);
      writer = new BackgroundWriter(frames, writeBack);
      replacement = new FrameAllocator(frames, config.exhaustedMillis(), writer);
      loader = new Loader(frames, device, log);
      allocator = new PageAllocator(frames, loader, device, state);
      groups = new GroupLoader(frames, loader, allocator, device, config.maxInFlightReads());
      PagePromoter pagePromoter = new PagePromoter(frames);
      translator.wire(pagePromoter);
      resolver = new Resolver(frames, loader, pagePromoter, allocator);
      allocator.wire(resolver);
      loader.wire(allocator);
      hints = new ChildHints(frames, resolver, config.frameHints());
      hintLimit = hints.limit;
      hintMask = hints.mask;
      exact = frames.swizzling.on;
      flusher = new Flusher(frames, writeBack, pagePromoter, dataSync, config.exhaustedMillis());
      promises = new PageReservations(allocator, frames, writeBack);
      PoolSpace space = new PoolSpace(frames, loader, allocator, resolver, writeBack);
      checkpoint = new PoolCheckpoint(frames, allocator, flusher, dataSync, space);
      recovery = new PoolRecovery(frames, allocator, loader, resolver);
      stop = new PoolStop(frames);
      pretouch = new Pretoucher(frames, config.pretouch());
      pretouch.orStop(() -> writer.start("fovea-writer"));
      done = true;
    } finally {
      if (!done) {
        frames.release();
      }
    }
  }

  // ------------------------------------------------------------------------------------- memory

  /** All frames, one bounded native segment; the page of a frame begins at {@link #base}. */
  public MemorySegment pages() {
    return pages;
  }

  /** Bytes of a page. */
  public int pageSize() {
    return 1 << pageShift;
  }

  /** The logarithm of the page size. */
  public int pageShift() {
    return pageShift;
  }

  /** Where a frame's page begins in {@link #pages}. */
  public long base(int frame) {
    return (long) frame << pageShift;
  }

  /** How many frame numbers there are: those below are legal, whether they have memory or not. */
  public int frames() {
    return translator.frames;
  }

  /** How many pages may be in memory now: all frames, where each has memory. */
  public int capacity() {
    return frames.residency.capacity();
  }

  /** Pages and frames for those that can't go back. */
  public PageReservations promises() {
    return promises;
  }

  /** What a checkpoint needs. */
  public PoolCheckpoint checkpoint() {
    return checkpoint;
  }

  /** What open snapshots need. */
  public PageCopies copies() {
    return frames.copies;
  }

  /** What recovery needs. */
  public PoolRecovery recovery() {
    return recovery;
  }

  /** How it stops, where it can't go on. */
  public PoolStop stopping() {
    return stop;
  }

  /** Working memory for changes of what is in the pages: given back when the pool is closed. */
  public Blocks memory() {
    return memory;
  }

  // --------------------------------------------------------------------------- optimistic reads

  /**
   * The frame to try first. May be wrong, and is always a legal frame: of a page that is in no
   * frame, and of a number that is no page id, too.
   */
  public int predict(long pid) {
    return translator.predict(pid);
  }

  /**
   * Begins a read without a latch.
   *
   * @param frame a frame
   * @param pid the page that should be in it
   * @return the version for {@link #validate} and {@link #tryUpgrade}, or {@link #RESTART} where
   *     the frame holds another page or is latched exclusively
   */
  public long optimistic(int frame, long pid) {
    // The version first: what is read after it is what it stands for.
    long version = Latch.optimistic(headers, frame);
    return FrameHeader.use(headers, frame, pid) ? version : RESTART;
  }

  /** Whether nothing in the frame was changed since the version was read. */
  public boolean validate(int frame, long version) {
    return Latch.validate(headers, frame, version);
  }

  /**
   * Finds a page that is not where it was predicted: waits for its latch, follows its entry, or
   * reads it from the device (once, however many threads ask for it). Moves it to its preferred
   * frame now and then.
   *
   * <p>The caller holds no latch, and has validated where it has the page id from.
   *
   * @return the frame where the page was a moment ago, not latched exclusively then
   * @throws io.fovea.error.CorruptionException where the page is damaged, or does not exist
   * @throws io.fovea.error.StorageException where it cannot be read
   * @throws io.fovea.error.PoolExhaustedException where no frame could be had for it
   * @throws DatabaseClosedException after {@link #close}
   */
  public int findSlow(long pid) {
    return resolver.findSlow(pid);
  }

  /**
   * Gives a page that was found outside its preferred frame the chance of {@link #findSlow} to go
   * there: for who looks for it there first, and found it by a hint. Any thread; no latch is waited
   * for.
   */
  public void maybePromote(long pid, int frame) {
    int preferred = translator.preferred(pid);
    if (preferred >= 0 && preferred != frame) {
      translator.maybePromote(pid, frame, preferred);
    }
  }

  // --------------------------------------------------------------- children, with a hint of each

  /**
   * The frame to try first for a child: the one that its reference names, where there is one and
   * hints are used, else {@link #predict}. A legal frame for any number.
   *
   * @param ref a reference, validated or not: see {@link PageRef}
   */
  public int predictChild(long ref) {
    int hint = PageRef.frame(ref);
    return Integer.compareUnsigned(hint, hintLimit) < 0
        ? hint
        : translator.predict(PageRef.pid(ref));
  }

  /**
   * {@link #optimistic} for a child, for whom the parent's version is asked afterwards. Where the
   * translation keeps references exact, one that says where its page is needs no look at the page
   * id: while the parent's version holds, the child is there.
   *
   * @param frame where {@link #predictChild} found the page
   * @param ref the reference, validated or not
   * @return the version, or {@link #RESTART}
   */
  public long optimisticChild(int frame, long ref) {
    return exact && !isStale(ref, frame)
        ? optimisticExact(frame)
        : optimistic(frame, PageRef.pid(ref));
  }

  private long optimisticExact(int frame) {
    long version = Latch.optimistic(headers, frame);
    FrameHeader.touch(headers, frame);
    return version;
  }

  /**
   * Whether a reference should name another frame than it does: to be taken to {@link #findChild}.
   * Never, where hints are not used.
   *
   * @param ref the reference
   * @param frame where {@link #predictChild} found the page
   */
  public boolean isStale(long ref, int frame) {
    return PageRef.hint(ref) != (frame + 1 & hintMask);
  }

  /**
   * {@link #findSlow} for a child, which also puts its reference right if the parent's latch is to
   * be had at once. The page of the parent stays as it is, dirty or not, and so does its version.
   *
   * @param parent the frame of the parent
   * @param version the version in which the reference was read; it was validated since
   * @param at where the reference is, in {@link #pages}
   * @param ref the reference
   * @param tried the frame where the page was looked for
   * @return the frame where the page was a moment ago
   * @throws io.fovea.error.FoveaException as {@link #findSlow}
   */
  public int findChild(int parent, long version, long at, long ref, int tried) {
    return hints.find(parent, version, at, ref, tried);
  }

  /** Whether references name frames. */
  public boolean hinted() {
    return hintMask != 0;
  }

  /**
   * A reference to a page that is in a frame now, which it names if references do. Frame and parent
   * are latched exclusively, and the reference is stored in the parent before one of them is not.
   */
  public long reference(long pid, int frame, int parent) {
    return hints.reference(pid, frame, parent);
  }

  /** What changes of structure say of children. */
  public Swizzling swizzling() {
    return frames.swizzling;
  }

  // ------------------------------------------------------------------------------ passing by, many

  /**
   * {@link #optimistic} for who only passes by: the page does not count as used.
   *
   * @param frame a frame
   * @param pid the page that should be in it
   * @return the version, or {@link #RESTART}
   */
  public long glance(int frame, long pid) {
    long version = Latch.optimistic(headers, frame);
    return FrameHeader.pid(headers, frame) == pid ? version : RESTART;
  }

  /**
   * {@link #findSlow} for who only passes by: the page does not count as used and is not moved, and
   * where it must be read it is the first to go again.
   *
   * @throws io.fovea.error.FoveaException as {@link #findSlow}
   */
  public int findQuietly(long pid) {
    return resolver.findQuietly(pid);
  }

  /**
   * The frame of a page, by a longer look than {@link #predict}, which neither waits nor reads.
   *
   * @param pid any number
   * @return where the page was a moment ago, latched or not; -1 where it was in no frame
   */
  public int resident(long pid) {
    return translator.lookup(pid);
  }

  /**
   * Has pages read that are in no frame, all at once, and does not wait for them ({@link
   * PageGroup#await} does): as many reads are under way, for one thread, platform or virtual, as
   * there are such pages. It is advice: pages that are resident, that another thread is reading,
   * for which no frame is to be had at once, or which cannot be read or are damaged, are passed
   * over. {@link #findSlow} does then what there is to do, and says what is wrong.
   *
   * <p>The caller holds no latch. A page whose read is under way is latched; each is there for all
   * as soon as it has come.
   *
   * @param group the pages, any numbers; it knows afterwards which frames they are in. The end of
   *     its last reads is waited for
   * @param used whether the pages count as used. If not, they are the first to go again, and push
   *     no page out of its preferred frame
   * @throws io.fovea.error.StorageException where the device takes nothing
   * @throws DatabaseClosedException after {@link #close}
   */
  public void begin(PageGroup group, boolean used) {
    groups.begin(group, used);
  }

  /** What {@link PageReads} bring pages in by. */
  GroupLoader groups() {
    return groups;
  }

  /**
   * How many pages one {@link #begin} reads at most: a fraction of the pool where that is small.
   */
  public int groupMax() {
    return groups.pagesMax();
  }

  // ------------------------------------------------------------------------------------ latches

  /** Takes the exclusive latch if it is free and nothing has changed since the version was read. */
  public boolean tryUpgrade(int frame, long version) {
    if (!Latch.tryUpgrade(headers, frame, version)) {
      return false;
    }
    boolean kept = false;
    try {
      frames.beforeChange(frame);
      kept = true;
    } finally {
      if (!kept) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    return true;
  }

  /** Takes the exclusive latch of a page, which is loaded where it must be; waits. */
  public int fixExclusive(long pid) {
    return resolver.fixExclusive(pid);
  }

  /** Takes the shared latch of a page, which is loaded where it must be; waits. */
  public int fixShared(long pid) {
    return resolver.fixShared(pid);
  }

  /** Takes the exclusive latch if it is free and the frame holds the page. */
  public boolean tryExclusive(int frame, long pid) {
    return resolver.tryExclusive(frame, pid);
  }

  /** Takes the shared latch if nobody has the exclusive one and the frame holds the page. */
  public boolean tryShared(int frame, long pid) {
    return resolver.tryShared(frame, pid);
  }

  /** The version with which the caller took the exclusive latch that it holds. */
  public long heldVersion(int frame) {
    return Latch.heldVersion(headers, frame);
  }

  /** Gives the exclusive latch back; the version moves on. */
  public void releaseExclusive(int frame) {
    Latch.releaseExclusive(headers, frame);
  }

  /**
   * Gives the exclusive latch back after nothing was changed: optimistic readers from before go on
   * undisturbed, for the version stays.
   */
  public void releaseExclusiveUnchanged(int frame) {
    Latch.releaseExclusiveUnchanged(headers, frame);
  }

  /** Gives a shared latch back. */
  public void releaseShared(int frame) {
    Latch.releaseShared(headers, frame);
  }

  /** Turns the exclusive latch into a shared one; the version moves on. */
  public void downgrade(int frame) {
    Latch.downgrade(headers, frame);
  }

  /**
   * Says that the page in the exclusively latched frame differs from the file's, by a change that
   * no log knows.
   */
  public void markDirty(int frame) {
    frames.markDirty(frame, 0);
  }

  /**
   * The same for a change that the log has. Before the appender's slot is cleared.
   *
   * @param frame an exclusively latched frame
   * @param recLsn where the record of the change begins: redo must begin no later, until the page
   *     is written; 0 for none
   * @param pageLsn where the record ends: the page is not written before the log is durable up to
   *     there; 0 for none. A page's LSN never goes back
   */
  public void markDirty(int frame, long recLsn, long pageLsn) {
    frames.markDirty(frame, recLsn);
    PageHeader.raisePageLsn(pages, base(frame), pageLsn);
  }

  /** The page in a frame: stable under a latch, to be validated otherwise; 0 for none. */
  public long pid(int frame) {
    return FrameHeader.pid(headers, frame);
  }

  // -------------------------------------------------------------------------------------- pages

  /**
   * A new or reused page. The caller holds no latch that others need.
   *
   * @param treeId whose it is
   * @param type a constant of {@link PageHeader}
   * @param log has {@link AllocatorRecord#ALLOCATE_SPACE} granted and begun
   * @return its frame: exclusively latched, header set, body zero, dirty
   * @throws io.fovea.error.StorageFullException where the file cannot grow; nothing has changed
   * @throws io.fovea.error.PoolExhaustedException where no frame could be had; nothing has changed
   */
  public int allocate(int treeId, int type, LogSession log) {
    frames.checkOpen();
    return allocator.allocate(treeId, type, log);
  }

  /**
   * A page with a given id, for the few that have fixed ones. What the file has there is of no
   * interest and is not read.
   *
   * @param pid below the high-water mark, and not in the free list
   * @param treeId whose it is
   * @param type a constant of {@link PageHeader}
   * @param log nothing is appended: the page is not the allocator's, and its first image has all
   * @return as {@link #allocate}
   */
  public int allocateAt(long pid, int treeId, int type, LogSession log) {
    frames.checkOpen();
    if (pid <= 0 || pid >= allocator.highWater()) {
      throw new InvalidUseException(
          "Page " + pid + " was never given out; the next one is " + allocator.highWater() + ".");
    }
    return allocator.allocateAt(pid, treeId, type);
  }

  /**
   * Gives a page back: it becomes a link of the free list.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param log has {@link AllocatorRecord#FREE_SPACE} granted and begun
   */
  public void free(int frame, LogSession log) {
    allocator.free(frame, log);
  }

  /**
   * Gives back a page that was allocated and is not needed: its session may take it again.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param log as for {@link #free}; the session that allocated it
   */
  public void giveBack(int frame, LogSession log) {
    allocator.giveBack(frame, log);
  }

  /**
   * Above every page id that was ever given out: no reference may lead there. A moment's truth; who
   * has a reference that he validated may compare it.
   *
   * @return the high-water mark
   */
  public long pidLimit() {
    return allocator.limit();
  }

  /** Which pages are in use, to be kept in the superblock. */
  public AllocatorState allocatorState() {
    return allocator.state();
  }

  /**
   * Frees a page of a tree without reading it where it is in no frame.
   *
   * @param pid the page, as its parent names it
   * @param treeId the tree
   * @param log has {@link AllocatorRecord#FREE_SPACE} granted and begun
   * @throws io.fovea.error.CorruptionException if it can't be a page of the tree
   */
  public void freeUnread(long pid, int treeId, LogSession log) {
    frames.checkOpen();
    allocator.freeUnread(pid, treeId, log);
  }

  /**
   * Whether a page is in the frame that its id alone predicts: for statistics. Never true for
   * translations that do not predict.
   */
  public boolean predicted(long pid) {
    int preferred = translator.preferred(pid);
    return preferred >= 0 && FrameHeader.pid(headers, preferred) == pid;
  }

  // ------------------------------------------------------------------------------ as a whole

  /**
   * Reads all pages of the file that are not in memory, where the translation keeps them there;
   * does nothing under others. From then on no child is checked ({@link Preloader}). When the pool
   * is recovered, and before others have it.
   *
   * @throws io.fovea.error.FoveaException as {@link #findSlow}, for the first page that can't be
   *     read
   */
  public void awaken() {
    if (translator.stays) {
      Preloader.of(frames, allocator, groups, resolver);
      exact = true;
    }
  }

  /**
   * Writes every dirty page and syncs the device. What is changed meanwhile may be written or not.
   *
   * @throws io.fovea.error.StorageException where a page could not be written, or the sync failed
   */
  public void flushAll() {
    frames.checkOpen();
    flusher.flush();
  }

  /**
   * Writes pages of a tree that nobody can reach yet, where they are dirty, and does not sync: once
   * each, without copies in the double-write area. The log is durable up to them then.
   *
   * @param pids the pages; their order is changed
   * @param count how many
   * @throws io.fovea.error.StorageException where a page could not be written
   */
  public void flushFresh(long[] pids, int count) {
    frames.checkOpen();
    flusher.flushFresh(pids, count);
  }

  /**
   * Where the pages lie. Reads the header of every frame, without a latch: exact only while nothing
   * is moved.
   */
  public Placement placement() {
    frames.checkOpen();
    return Placement.of(frames);
  }

  /** What was done so far. */
  public PoolStats stats() {
    return frames.stats();
  }

  /**
   * Writes everything, syncs, and gives the memory back. Nobody should use the pool any more; who
   * does so nevertheless gets {@link DatabaseClosedException}, or reads zeros, but crashes nothing.
   * The memory is given back even if the write fails. A second call does nothing.
   *
   * @throws io.fovea.error.StorageException where a page could not be written
   */
  @Override
  public void close() {
    if (!frames.closed.compareAndSet(false, true)) {
      return;
    }
    resolver.close();
    groups.close();
    writer.stop();
    try {
      flusher.flush();
    } finally {
      discard();
    }
  }

  /**
   * Closes without writing anything: what a crash leaves. For tests, and for a database that lost
   * its durability.
   */
  public void abandon() {
    if (frames.closed.compareAndSet(false, true)) {
      resolver.close();
      groups.close();
      writer.stop();
      discard();
    }
  }

  private void discard() {
    replacement.close();
    pretouch.stop();
    frames.release();
    memory.close();
  }
}
