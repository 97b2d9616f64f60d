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
 *                        └────── findSlow ◄──────┘   lookup, device, promotion
 * </pre>
 *
 * <p><b>Reading without a latch</b>, the usual way:
 *
 * <pre>{@code
 * int frame = pool.predict(pid);
 * long version = pool.optimistic(frame, pid);
 * if (version == BufferPool.RESTART) {
 *   // here the caller validates the page that it read pid from
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
 *   <li>An unvalidated value is never an address, a loop bound or a result. {@link #predict} and
 *       {@link #optimistic} accept any number; {@link #findSlow} and the {@code fix} methods
 *       require a validated page id, and throw {@link io.fovea.error.CorruptionException} for one
 *       that was never allocated.
 *   <li>With a latch held, do not call methods that may wait for a frame or the device: {@link
 *       #findSlow}, {@link #begin}, {@link #allocate}, {@code fix} of a page that may be absent.
 *   <li>Call {@link #markDirty} before releasing the exclusive latch of a changed page.
 *   <li>Page latches are not locks: hold them for a microsecond.
 * </ul>
 *
 * <p>Thread-safe. Works from platform and virtual threads; waiting preserves the interrupt flag.
 *
 * <p>This class is a facade: translation is in {@link Translator}, latches in {@link Latch}, misses
 * in {@link Loader}, promotion in {@link PagePromoter}, replacement in {@link FrameAllocator},
 * writes in {@link WriteBack}, page ids in {@link PageAllocator}. Operations for commits,
 * checkpoints, recovery and stopping are in {@link PageReservations}, {@link PoolCheckpoint},
 * {@link PoolRecovery} and {@link PoolStop}.
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

  /** Read by tests of this package, as is {@link #writeBack}. */
  final Frames frames;

  private final Loader loader;
  private final GroupLoader groups;
  final Resolver resolver;
  private final ChildHints hints;
  private final int hintLimit;
  private final int hintMask;

  /** Whether references are trusted: under SWIZZLED, and under DIRECT after {@link #preload}. */
  private boolean exact;

  private final FrameAllocator replacement;
  final WriteBack writeBack;
  private final BackgroundWriter writer;
  final PageAllocator allocator;
  private final Flusher flusher;
  private final PageReservations pageReservations;
  private final PoolCheckpoint checkpoint;
  private final PoolRecovery recovery;
  private final Blocks memory = new Blocks("working memory of trees");
  private final Pretoucher pretouch;

  /**
   * Opens a pool over a device.
   *
   * @param device the device that holds the pages; the caller owns it, and closes it after the pool
   * @param config sizes and kinds
   * @param state what {@link #allocatorState} returned when the file was closed; {@link
   *     AllocatorState#EMPTY} for a new one
   * @throws io.fovea.error.PoolTooSmallException for less than {@link PoolConfig#FRAMES_MIN} frames
   * @throws io.fovea.error.CorruptionException if state and file contradict each other
   */
  public BufferPool(BlockDevice device, PoolConfig config, AllocatorState state) {
    this(device, config, state, PoolLog.NONE, null);
  }

  /**
   * Opens a pool over a device, with a log.
   *
   * @param log reports the position up to which the log is durable
   * @param area receives copies of pages before they are written in place; used by this pool only;
   *     null for none
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
      pageReservations = new PageReservations(allocator, frames, writeBack);
      PoolSpace space = new PoolSpace(frames, loader, allocator, resolver, writeBack);
      checkpoint = new PoolCheckpoint(frames, allocator, flusher, dataSync, space);
      recovery = new PoolRecovery(frames, allocator, loader, resolver);
      pretouch = new Pretoucher(frames, config.pretouch());
      pretouch.runOrStop(() -> writer.start("fovea-writer"));
      done = true;
    } finally {
      if (!done) {
        frames.release();
      }
    }
  }

  // ------------------------------------------------------------------------------------- memory

  /**
   * Returns all frames as one bounded native segment; the page of a frame begins at {@link #base}.
   */
  public MemorySegment pages() {
    return pages;
  }

  /** Returns the page size, in bytes. */
  public int pageSize() {
    return 1 << pageShift;
  }

  /** Returns the logarithm of the page size. */
  public int pageShift() {
    return pageShift;
  }

  /** Returns the offset of a frame's page in {@link #pages}. */
  public long base(int frame) {
    return (long) frame << pageShift;
  }

  /** Returns the number of frames; all smaller numbers are legal frames, with or without memory. */
  public int frames() {
    return translator.frames;
  }

  /** Returns the maximum number of pages in memory now: all frames, if each has memory. */
  public int capacity() {
    return frames.residency.capacity();
  }

  /** Returns the reservations of pages and frames, for operations that can't be undone. */
  public PageReservations pageReservations() {
    return pageReservations;
  }

  /** Returns the operations of a checkpoint. */
  public PoolCheckpoint checkpoint() {
    return checkpoint;
  }

  /** Returns the old versions of pages, for open snapshots. */
  public PageCopies copies() {
    return frames.copies;
  }

  /** Returns the operations of recovery. */
  public PoolRecovery recovery() {
    return recovery;
  }

  /** Returns the operations for stopping the pool after an error. */
  public PoolStop poolStop() {
    return frames.poolStop;
  }

  /** Returns working memory for changes of pages, which is released when the pool is closed. */
  public Blocks memory() {
    return memory;
  }

  // --------------------------------------------------------------------------- optimistic reads

  /**
   * Returns the frame to try first. It may be wrong, but is a legal frame for any number, even if
   * it is not a page id.
   */
  public int predict(long pid) {
    return translator.predict(pid);
  }

  /**
   * Begins a read without a latch.
   *
   * @param frame a frame
   * @param pid the page that should be in it
   * @return the version for {@link #validate} and {@link #tryUpgrade}, or {@link #RESTART} if the
   *     frame holds another page or is latched exclusively
   */
  public long optimistic(int frame, long pid) {
    // The version first: it covers the reads after it.
    long version = Latch.optimistic(headers, frame);
    return FrameHeader.use(headers, frame, pid) ? version : RESTART;
  }

  /** Returns whether the page in the frame is unchanged since the version was read. */
  public boolean validate(int frame, long version) {
    return Latch.validate(headers, frame, version);
  }

  /**
   * Finds a page that is not in its predicted frame: waits for its latch, looks it up, or reads it
   * from the device (once, however many threads request it). Sometimes moves it to its preferred
   * frame.
   *
   * <p>The caller holds no latch, and has validated the source of the page id.
   *
   * @return a frame that held the page, not latched exclusively, at some instant during the call
   * @throws io.fovea.error.CorruptionException if the page is damaged, or does not exist
   * @throws io.fovea.error.StorageException if it cannot be read
   * @throws io.fovea.error.PoolExhaustedException if there was no frame for it
   * @throws DatabaseClosedException after {@link #close}
   */
  public int findSlow(long pid) {
    return resolver.findSlow(pid);
  }

  /**
   * May promote a page that was found outside its preferred frame, as {@link #findSlow} does: for
   * callers that tried that frame first and then found the page by a hint. Waits for no latch.
   */
  public void maybePromote(long pid, int frame) {
    int preferred = translator.preferred(pid);
    if (preferred >= 0 && preferred != frame) {
      translator.maybePromote(pid, frame, preferred);
    }
  }

  // ------------------------------------------------------------------ children, by frame hints

  /**
   * Returns the frame to try first for a child: the one that its reference names, if any and if
   * hints are used, otherwise {@link #predict}. A legal frame for any number.
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
   * Like {@link #optimistic}, for a child, if the caller validates the parent's version afterwards.
   * Under translations with exact references it does not check the page id: while the parent's
   * version holds, the child is there.
   *
   * @param frame the result of {@link #predictChild}
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
   * Returns whether a reference should name a different frame, so that {@link #findChild} repairs
   * it. Never true if hints are not used.
   *
   * @param ref the reference
   * @param frame the result of {@link #predictChild}
   */
  public boolean isStale(long ref, int frame) {
    return PageRef.hint(ref) != (frame + 1 & hintMask);
  }

  /**
   * {@link #findSlow} for a child, which also repairs its reference if the parent's latch is free.
   * The parent keeps its version, and does not become dirty.
   *
   * @param parent the frame of the parent
   * @param version the version in which the reference was read; it was validated since
   * @param at the offset of the reference in {@link #pages}
   * @param ref the reference
   * @param tried the frame that was tried
   * @return a frame that held the page at some instant during the call
   * @throws io.fovea.error.FoveaException as {@link #findSlow}
   */
  public int findChild(int parent, long version, long at, long ref, int tried) {
    return hints.find(parent, version, at, ref, tried);
  }

  /** Returns whether references name frames. */
  public boolean usesFrameHints() {
    return hintMask != 0;
  }

  /**
   * Returns a reference to the page in a frame; it names the frame if references name frames. Frame
   * and parent are latched exclusively until the reference is stored in the parent.
   */
  public long reference(long pid, int frame, int parent) {
    return hints.reference(pid, frame, parent);
  }

  /** Returns the operations that record structure changes of trees. */
  public Swizzling swizzling() {
    return frames.swizzling;
  }

  // ------------------------------------------------------------------ reads ahead, and of many

  /**
   * {@link #optimistic} for a scan: the page does not count as used.
   *
   * @param frame a frame
   * @param pid the page that should be in it
   * @return the version, or {@link #RESTART}
   */
  public long optimisticUncounted(int frame, long pid) {
    long version = Latch.optimistic(headers, frame);
    return FrameHeader.pid(headers, frame) == pid ? version : RESTART;
  }

  /**
   * {@link #findSlow} for a scan: the page does not count as used and is not promoted, and if it
   * has to be read it is the first to be evicted.
   *
   * @throws io.fovea.error.FoveaException as {@link #findSlow}
   */
  public int findQuietly(long pid) {
    return resolver.findQuietly(pid);
  }

  /**
   * Searches for the frame of a page beyond {@link #predict}, without waiting or reading.
   *
   * @param pid any number
   * @return a frame that held the page at some instant, latched or not; -1 if the page was in no
   *     frame
   */
  public int resident(long pid) {
    return translator.lookup(pid);
  }

  /**
   * Reads pages that are in no frame, concurrently, without waiting ({@link PageGroup#await} does):
   * a single thread, platform or virtual, has as many reads in flight as there are such pages.
   * Advisory: pages that are resident or being read, for which no frame is available at once, or
   * that cannot be read or are damaged, are skipped. {@link #findSlow} then loads them, and reports
   * errors.
   *
   * <p>The caller holds no latch. A page that is being read is latched; each is available to all
   * threads as soon as it has arrived.
   *
   * @param group the pages, any numbers; receives their frames. Waits for its previous reads
   * @param used whether the pages count as used. If not, they are the first to be evicted, and
   *     displace no page from its preferred frame
   * @throws io.fovea.error.StorageException if the device accepts no reads
   * @throws DatabaseClosedException after {@link #close}
   */
  public void begin(PageGroup group, boolean used) {
    groups.begin(group, used);
  }

  /** Returns the loader behind {@link PageReads}. */
  GroupLoader groups() {
    return groups;
  }

  /**
   * Returns the maximum number of pages that one {@link #begin} reads: in a small pool, a fraction
   * of its frames.
   */
  public int groupMax() {
    return groups.pagesMax();
  }

  // ------------------------------------------------------------------------------------ latches

  /**
   * Takes the exclusive latch if it is free and the page is unchanged since the version was read.
   */
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

  /** Takes the exclusive latch of a page, which is loaded if necessary; waits. */
  public int fixExclusive(long pid) {
    return resolver.fixExclusive(pid);
  }

  /** Takes the shared latch of a page, which is loaded if necessary; waits. */
  public int fixShared(long pid) {
    return resolver.fixShared(pid);
  }

  /** Takes the exclusive latch if it is free and the frame holds the page. */
  public boolean tryExclusive(int frame, long pid) {
    return resolver.tryExclusive(frame, pid);
  }

  /** Takes the shared latch if no thread has the exclusive one and the frame holds the page. */
  public boolean tryShared(int frame, long pid) {
    return resolver.tryShared(frame, pid);
  }

  /** Returns the version with which the caller took the exclusive latch that it holds. */
  public long heldVersion(int frame) {
    return Latch.heldVersion(headers, frame);
  }

  /** Releases the exclusive latch and advances the version. */
  public void releaseExclusive(int frame) {
    Latch.releaseExclusive(headers, frame);
  }

  /**
   * Releases the exclusive latch after nothing was changed: the version stays, and earlier
   * optimistic reads remain valid.
   */
  public void releaseExclusiveUnchanged(int frame) {
    Latch.releaseExclusiveUnchanged(headers, frame);
  }

  /**
   * Stops the pool, then releases the exclusive latch of a page that may be half changed, so that
   * no thread reads it first. The page is never written: it gets an LSN that no log reaches.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param cause the exception
   */
  public void stopAndRelease(int frame, Throwable cause) {
    frames.poolStop.stop(cause);
    markDirty(frame, 1, Long.MAX_VALUE);
    Latch.releaseExclusive(headers, frame);
  }

  /** Releases a shared latch. */
  public void releaseShared(int frame) {
    Latch.releaseShared(headers, frame);
  }

  /** Turns the exclusive latch into a shared one and advances the version. */
  public void downgrade(int frame) {
    Latch.downgrade(headers, frame);
  }

  /** Marks the page in the exclusively latched frame as changed, without a log record. */
  public void markDirty(int frame) {
    frames.markDirty(frame, 0);
  }

  /**
   * Marks the page as changed by a record of the log. Called before the appender's slot is cleared.
   *
   * @param frame an exclusively latched frame
   * @param recLsn the start of the record: redo must begin no later until the page is written; 0
   *     for none
   * @param pageLsn the end of the record: the page is not written before the log is durable up to
   *     there; 0 for none. A page's LSN never decreases
   */
  public void markDirty(int frame, long recLsn, long pageLsn) {
    frames.markDirty(frame, recLsn);
    PageHeader.raisePageLsn(pages, base(frame), pageLsn);
  }

  /** Returns the page in a frame: stable under a latch, otherwise to be validated; 0 for none. */
  public long pid(int frame) {
    return FrameHeader.pid(headers, frame);
  }

  // -------------------------------------------------------------------------------------- pages

  /**
   * Allocates a new or reused page. The caller holds no latch that others need.
   *
   * @param treeId the tree that owns it
   * @param type a constant of {@link PageHeader}
   * @param log a session with {@link AllocatorRecord#ALLOCATE_SPACE} granted and begun
   * @return its frame: exclusively latched, header set, body zero, dirty
   * @throws io.fovea.error.StorageFullException if the file cannot grow; nothing has changed
   * @throws io.fovea.error.PoolExhaustedException if there was no frame; nothing has changed
   */
  public int allocate(int treeId, int type, LogSession log) {
    frames.checkOpen();
    return allocator.allocate(treeId, type, log);
  }

  /**
   * Initializes a page with a fixed id. Its contents in the file are not read.
   *
   * @param pid below the high-water mark, and not in the free list
   * @param treeId the tree that owns it
   * @param type a constant of {@link PageHeader}
   * @param log nothing is appended: the allocator does not manage the page, and its first image is
   *     complete
   * @return as {@link #allocate}
   */
  public int allocateAt(long pid, int treeId, int type, LogSession log) {
    frames.checkOpen();
    if (pid <= 0 || pid >= allocator.highWater()) {
      throw new InvalidUseException(
          "Page "
              + pid
              + " was never allocated; the next new page is "
              + allocator.highWater()
              + ".");
    }
    return allocator.allocateAt(pid, treeId, type);
  }

  /**
   * Frees a page: it becomes a link of the free list.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param log a session with {@link AllocatorRecord#FREE_SPACE} granted and begun
   */
  public void free(int frame, LogSession log) {
    allocator.free(frame, log);
  }

  /**
   * Returns a page that was allocated and is not needed; its session may take it again.
   *
   * @param frame the page's frame, exclusively latched; the latch is consumed
   * @param log as for {@link #free}; the session that allocated it
   */
  public void returnUnused(int frame, LogSession log) {
    allocator.returnUnused(frame, log);
  }

  /**
   * Returns a limit above every page id that was ever allocated, for checking a validated
   * reference. It may change at any time.
   *
   * @return the high-water mark
   */
  public long pidLimit() {
    return allocator.limit();
  }

  /** Returns which pages are in use, to be kept in the superblock. */
  public AllocatorState allocatorState() {
    return allocator.state();
  }

  /**
   * Frees a page of a tree. Does not read the page if it is in no frame.
   *
   * @param pid the page, as its parent names it
   * @param treeId the tree
   * @param log a session with {@link AllocatorRecord#FREE_SPACE} granted and begun
   * @throws io.fovea.error.CorruptionException if it can't be a page of the tree
   */
  public void freeUnread(long pid, int treeId, LogSession log) {
    frames.checkOpen();
    allocator.freeUnread(pid, treeId, log);
  }

  /**
   * Returns whether a page is in its preferred frame, for statistics. Never true for translations
   * without preferred frames.
   */
  public boolean predicted(long pid) {
    int preferred = translator.preferred(pid);
    return preferred >= 0 && FrameHeader.pid(headers, preferred) == pid;
  }

  // ------------------------------------------------------------------------- the whole pool

  /**
   * Reads all pages of the file that are not in memory, under DIRECT; otherwise does nothing. From
   * then on descents do not check children ({@link Preloader}). Called after recovery, before other
   * threads use the pool.
   *
   * @throws io.fovea.error.FoveaException as {@link #findSlow}, for the first page that can't be
   *     read
   */
  public void preload() {
    if (translator.stays) {
      Preloader.of(frames, allocator, groups, resolver);
      exact = true;
    }
  }

  /**
   * Writes every dirty page and syncs the device. Concurrent changes may be written or not.
   *
   * @throws io.fovea.error.StorageException if a page could not be written, or the sync failed
   */
  public void flushAll() {
    frames.checkOpen();
    flusher.flush();
  }

  /**
   * Writes those of the given pages that are dirty, each once, without copies in the double-write
   * area and without syncing. The pages belong to a tree, and no reader can reach them yet. First
   * waits for the log to be durable up to them.
   *
   * @param pids the pages; their order is changed
   * @param count the number of pages
   * @throws io.fovea.error.StorageException if a page could not be written
   */
  public void flushFresh(long[] pids, int count) {
    frames.checkOpen();
    flusher.flushFresh(pids, count);
  }

  /**
   * Returns the number of pages in their preferred frames. Reads the header of every frame without
   * latches: exact only while no page moves.
   */
  public Placement placement() {
    frames.checkOpen();
    return Placement.of(frames);
  }

  /** Returns the activity since the pool was opened. */
  public PoolStats stats() {
    return frames.stats();
  }

  /**
   * Writes everything, syncs, and releases the memory, even if the write fails. No thread should
   * use the pool any more; a thread that does gets {@link DatabaseClosedException} or reads zeros.
   * Idempotent.
   *
   * @throws io.fovea.error.StorageException if a page could not be written
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
   * Closes without writing anything, like a crash. For tests, and for a database that lost its
   * durability.
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
