package io.fovea.wal;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Holder;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The write-ahead log.
 *
 * <pre>
 *   sessions ──reserve, fill, complete──► Ring ──► LogWriter ──group: write, sync──► SegmentFile
 *       │                                  ▲           │                                  ▲
 *       └─begin, grant: Space ─────────────┘           └─► DurabilityWaiters ─► waiters   │
 *                                                          SegmentPreallocator: slots ahead of need
 * </pre>
 *
 * <p>A position (LSN) is an offset in the stream of records. {@link #tail} is the position of the
 * next record; all records before {@link #durableLsn} are on stable storage. Both only grow.
 *
 * <p><b>The end.</b> A failed write or sync is final: all current and later callers get {@link
 * DurabilityLostException}. The same holds if another component reports a failure ({@link #fail}).
 * Durable records stay durable and are acknowledged to waiting threads.
 *
 * <pre>
 *   OPEN ──close──► CLOSING ──────► CLOSED     complete records are written first
 *     └───abandon─► ABANDONED ────► CLOSED     nothing more is written
 * </pre>
 *
 * <p>These states are one word, {@link #state}, which only increases. A failure is separate: a log
 * can fail in any state, once, and is closed afterwards like any other.
 *
 * <p>Any thread, platform or virtual.
 */
public final class Log implements DurableLog, AutoCloseable {
  /** The first position of a new log; 0 means none. */
  public static final long FIRST_LSN = 4096;

  /** The interval between checks of the file's free space. */
  private static final long CHECK_NANOS = 50_000_000;

  private static final int STUCK_CHECKS = 20;

  private static final int BUFFER_MIN = 64 << 10;
  private static final int AGAIN_BYTES = 1 << 18;

  private static final VarHandle FAILURE;
  private static final VarHandle STATE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      FAILURE = lookup.findVarHandle(Log.class, "failure", Throwable.class);
      STATE = lookup.findVarHandle(Log.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final int OPEN = 0;
  private static final int CLOSING = 1;
  private static final int ABANDONED = 2;
  private static final int CLOSED = 3;

  private final LogConfig config;
  private final Ring ring;
  private final SegmentFile file;
  private final BlockDevice device;
  private final DurabilityWaiters waits;
  private final Space space;
  private final LogWriter writer;
  private final Thread preallocator;
  private final long windowBytes;
  private final LongAdder waited = new LongAdder();
  private final ChangeSubscribers changeSubscribers = new ChangeSubscribers();

  private volatile LogSession[] sessions = {};
  private volatile @Nullable Throwable failure;
  private volatile Runnable onEnd = () -> {};
  private volatile int state = OPEN;

  private Log(LogConfig config, Ring ring, SegmentFile file, BlockDevice device) {
    this.config = config;
    this.device = device;
    this.ring = ring;
    this.file = file;
    this.windowBytes = Math.min(config.windowBytes(), ring.size() / 2);
    this.waits = new DurabilityWaiters(ring.tail());
    this.space = new Space(this, ring, file);
    this.writer = new LogWriter(this, config, ring, file, waits, space);
    this.preallocator = Threads.unstarted("fovea-log-spare", new SegmentPreallocator(file, this));
  }

  /**
   * Opens a log for appending, and keeps the records that begin at or after {@code
   * start.redoLsn()}.
   *
   * <p>On return the file durably contains a segment of this incarnation, which a {@link LogReader}
   * that starts at {@code start.startLsn()} finds.
   *
   * <p><b>Segment numbers.</b> A close truncates the file without a sync. If the header of the
   * first new segment were durable and the truncation were not, a crash would bring back the old
   * end of the file: segments with the same or higher numbers next to a new one that begins
   * elsewhere, which no reader could order. Two measures prevent that, each sufficient in the
   * absence of faults:
   *
   * <ul>
   *   <li>The caller synced the file after the last write by any other user, and before reading it
   *       to find {@code start}. So a crash cannot undo the basis of decisions here. But an earlier
   *       failed sync leaves the length in doubt, and a later successful one does not help.
   *   <li>{@code start.lastSegment()}: the last number of a closed log is recorded outside of it.
   *       But the file may have been closed by a release that did not record it.
   * </ul>
   *
   * <p>Segments of an existing file keep their size, whatever the configuration. If they are too
   * small for the configured buffer, the buffer is made smaller.
   *
   * @param device the file, synced; stays open for the caller to close
   * @param config sizes and time limits
   * @param start where the log continues
   * @throws io.fovea.error.CorruptionException if the file is the log of another database
   * @throws io.fovea.error.StorageFullException if there is no space for a segment
   */
  public static Log open(BlockDevice device, LogConfig config, LogStart start) {
    if ((start.startLsn() & 7) != 0
        || start.startLsn() < FIRST_LSN
        || start.redoLsn() > start.startLsn()) {
      throw new IllegalArgumentException(start.toString());
    }
    if (Group.BLOCK % device.blockSize() != 0) {
      throw new IllegalArgumentException(
          "The log is written in blocks of 4096 bytes, but the device's block size is "
              + device.blockSize()
              + ".");
    }
    SegmentScan scan = SegmentScan.of(device, start.database());
    long segmentBytes = SegmentFile.segmentBytes(scan, config, start);
    int buffer = config.bufferBytes();
    while (buffer > BUFFER_MIN
        && Group.fileBytes(SegmentFile.payloadMax(buffer)) > SegmentHeader.capacity(segmentBytes)) {
      buffer >>= 1;
    }
    if (buffer < BUFFER_MIN
        || segmentBytes % Group.BLOCK != 0
        || Group.fileBytes(SegmentFile.payloadMax(buffer)) > SegmentHeader.capacity(segmentBytes)) {
      throw new IllegalArgumentException(
          "The log buffer must be at least 64 KiB, and a quarter of it must fit into a segment: "
              + config
              + ".");
    }
    SegmentFile file =
        SegmentFile.open(
            device,
            scan,
            segmentBytes,
            buffer,
            fileBytesMax(config),
            config.changeRetentionBytes(),
            start);
    Log log = new Log(config, new Ring(buffer, start.startLsn()), file, device);
    boolean begun = false;
    try {
      log.writer.start();
      log.preallocator.start();
      begun = true;
    } finally {
      if (!begun) {
        log.abandon(); // joins a thread that has started, and releases the memory
      }
    }
    return log;
  }

  /**
   * Rewrites the log byte for byte, starting at a position, and syncs it. After a failed sync,
   * records may be in the system's cache, where recovery reads them, but not on the device, and
   * later syncs do not write them. Nothing appended after such records may be acknowledged before
   * they are durable: a crash would end the log where they are missing.
   *
   * @param device the file
   * @param database the database whose segments are rewritten
   * @param from the position up to which the log is durable according to a record outside of it
   */
  public static void writeAgain(BlockDevice device, UUID database, long from) {
    SegmentScan scan = SegmentScan.of(device, database);
    List<SegmentScan.Found> all = scan.segments();
    long durable = Math.max(from, scan.watermark().lsn());
    try (Arena arena = Arena.ofShared()) {
      MemorySegment chunk = arena.allocate(AGAIN_BYTES, Group.BLOCK);
      for (int i = 0; i < all.size(); i++) {
        if (i + 1 < all.size() && all.get(i + 1).startLsn() <= durable) {
          continue;
        }
        long at = all.get(i).offset();
        long end = Math.min(at + scan.segmentBytes(), device.size());
        for (; at < end; at += AGAIN_BYTES) {
          int length = (int) Math.min(AGAIN_BYTES, end - at);
          device.read(at, chunk, 0, length);
          device.write(at, chunk, 0, length);
        }
      }
    }
    device.sync();
  }

  /** Returns the space for recovery plus that for change subscribers. */
  private static long fileBytesMax(LogConfig config) {
    long more = Math.min(config.changeRetentionBytes(), Long.MAX_VALUE - config.keepBytes());
    return config.keepBytes() + more;
  }

  // ----------------------------------------------------------------------------------- sessions

  /** Creates a session; its owner keeps it as long as the log is open. */
  public synchronized LogSession session() {
    LogSession session = new LogSession(this, ring, file.start.incarnation());
    LogSession[] more = Arrays.copyOf(sessions, sessions.length + 1);
    more[sessions.length] = session;
    sessions = more;
    file.space().sessions(more.length);
    return session;
  }

  /** Returns the largest body of a record: a quarter of the buffer, minus the header. */
  public int recordMax() {
    return SegmentFile.payloadMax(ring.size()) - Record.HEADER;
  }

  /** Returns the lowest position that a session holds; {@link Long#MAX_VALUE} if none does. */
  public long minActive() {
    long min = Long.MAX_VALUE;
    for (LogSession session : sessions) {
      min = Math.min(min, session.slot());
    }
    return min;
  }

  /** Returns whether a long operation of the calling thread holds back the redo point. */
  public boolean isHeldByMe() {
    for (LogSession session : sessions) {
      Holder holder = session.holder();
      if (holder != null && holder.isMe()) {
        return true;
      }
    }
    return false;
  }

  /** Returns a description of what holds back the redo point now. */
  public String holder() {
    LogSession first = null;
    for (LogSession session : sessions) {
      first = first == null || session.slot() < first.slot() ? session : first;
    }
    Holder holder = first == null ? null : first.holder();
    return holder != null
        ? holder.toString()
        : first == null || first.slot() == Long.MAX_VALUE
            ? "a checkpoint"
            : "a commit or a change of pages";
  }

  Space space() {
    return space;
  }

  void appended() {
    writer.appended();
  }

  void wakeWriter() {
    writer.wake();
  }

  // --------------------------------------------------------------------------------- durability

  /** Returns the lowest position that the next record can have. */
  public long tail() {
    return ring.tail();
  }

  /** Returns the position up to which all records are on stable storage. */
  @Override
  public long durableLsn() {
    return waits.durable();
  }

  /** Returns how far the log is durable, to be recorded outside of it. */
  public Watermark watermark() {
    // In this order: the durable position reaches the start of a segment before the segment begins.
    long segment = file.slots().durableNumber();
    return new Watermark(waits.durable(), segment);
  }

  /**
   * Waits until the log is durable up to a position. An interrupt does not end the wait; the flag
   * is kept.
   *
   * @param lsn a reserved position
   * @throws DurabilityLostException if it can no longer become durable
   * @throws DatabaseClosedException if the log was closed first
   * @throws IllegalArgumentException if the position is beyond the tail
   */
  public void awaitDurable(long lsn) {
    if (waits.durable() >= lsn) {
      return;
    }
    requireReserved(lsn);
    waited.increment();
    waits.request(lsn);
    if (writer.lead(lsn, false)) {
      writer.requested();
    }
    await(lsn);
  }

  /**
   * Waits like {@link #awaitDurable}, but fails on a full disk. Used by a checkpoint, a close and
   * other callers that must not wait for space: a writer without a slot waits for a checkpoint to
   * recycle one, so a checkpoint that waited for the writer would wait for itself. The thread never
   * leads, since a leader might itself wait for the slot.
   *
   * @param lsn a reserved position
   * @throws StorageFullException if the writer has no space and the file cannot grow
   * @throws DurabilityLostException if it can no longer become durable
   * @throws DatabaseClosedException if the log was closed first
   */
  public void awaitDurableUnlessFull(long lsn) {
    if (waits.durable() >= lsn) {
      return;
    }
    requireReserved(lsn);
    waited.increment();
    waits.request(lsn);
    writer.requested();
    do {
      requireAlive();
      StorageFullException full = file.space().whyBlocked();
      if (full != null) {
        throw full;
      }
    } while (!waits.await(lsn, writer, CHECK_NANOS));
  }

  /**
   * Announces that the log is about to be closed. An operation whose record is in the log no longer
   * waits for space if the file cannot grow: {@link LogSession#grant} throws.
   */
  public void abortWaits() {
    space.abortWaits();
  }

  /**
   * Fails the log, for a close, if the writer has no space, the file cannot grow, and that does not
   * change within a second. All waiters are notified.
   */
  public void failIfBlocked() {
    StorageFullException full = file.space().whyBlocked();
    for (int i = 0; i < STUCK_CHECKS && full != null; i++) {
      Waits.sleep(CHECK_NANOS);
      full = file.space().whyBlocked();
    }
    if (full != null) {
      fail(full);
    }
  }

  private void requireReserved(long lsn) {
    if (lsn > ring.tail()) {
      throw new IllegalArgumentException(
          "Position " + lsn + " is beyond the end of the log, " + ring.tail() + ".");
    }
  }

  /**
   * Requests durability up to a position without waiting. Poll {@link #durableLsn} or call {@link
   * #awaitRequested}.
   *
   * @param lsn a reserved position
   */
  public void request(long lsn) {
    if (waits.durable() < lsn) {
      waits.request(lsn);
      writer.requested();
    }
  }

  /**
   * Waits like {@link #awaitDurable}, for a position that was requested.
   *
   * @throws DurabilityLostException if it can no longer become durable
   * @throws DatabaseClosedException if the log was closed first
   */
  public void awaitRequested(long lsn) {
    if (waits.durable() < lsn) {
      waited.increment();
      if (writer.lead(lsn, true)) {
        waits.requestUrgent(lsn, writer);
      }
      await(lsn);
    }
  }

  /**
   * Starts an action on a virtual thread once a requested position is durable or can no longer
   * become durable. Does not wait. The action calls {@link #awaitRequested} to find out which.
   *
   * @param lsn the requested position
   * @param action may block
   */
  public void whenDurable(long lsn, Runnable action) {
    waited.increment();
    waits.whenDurable(lsn, action, writer);
  }

  private void await(long lsn) {
    if (waits.durable() < lsn && !waits.await(lsn, writer)) {
      requireAlive();
      throw new DatabaseClosedException("The log was closed.");
    }
  }

  /**
   * Waits until the part of the log that is not yet durable fits the configured window. Called by
   * commits that do not wait for their own durability.
   *
   * @throws DurabilityLostException if nothing can become durable any more
   */
  public void awaitWindow() {
    writer.gathered();
    long windowStart = ring.tail() - windowBytes;
    if (windowStart > waits.durable()) {
      awaitDurable(windowStart);
    } else if (failure != null) {
      requireAlive();
    }
  }

  /**
   * Throws if the log is not in use.
   *
   * @throws DurabilityLostException if nothing can become durable any more
   * @throws DatabaseClosedException if the log was closed
   */
  public void requireAlive() {
    Throwable why = failure;
    if (why != null) {
      throw new DurabilityLostException(
          "Durability was lost ("
              + why.getMessage()
              + "). Reopen the database: everything acknowledged before is recovered.",
          why);
    }
    if (state != OPEN) {
      throw new DatabaseClosedException("The log was closed.");
    }
  }

  /** Returns whether more of the log can become durable. */
  public boolean isAlive() {
    return failure == null && state == OPEN;
  }

  /**
   * Ends durability for a reason outside of the log, such as a data file that could not be synced.
   * The first reason wins. Durable records stay durable.
   *
   * @param reason what failed
   */
  public void fail(Throwable reason) {
    FAILURE.compareAndSet(this, null, reason);
    wakeAll();
  }

  /**
   * Sets an action that runs when {@link #requireAlive} begins to throw. It may run more than once,
   * on any thread, and must not block.
   *
   * @param action wakes threads that must check the log again
   */
  public void onEnd(Runnable action) {
    onEnd = action;
  }

  private void wakeAll() {
    waits.end();
    changeSubscribers.wake();
    file.space().end();
    space.changed();
    writer.wake();
    onEnd.run();
  }

  /** Returns whether the writer must stop immediately. */
  boolean hasEnded() {
    return failure != null || state >= ABANDONED;
  }

  /** Returns whether no more slots are to be made ahead of need. */
  boolean isStopping() {
    return state != OPEN || hasEnded();
  }

  /** Called when the writer has stopped. */
  void ended() {
    wakeAll();
  }

  // ---------------------------------------------------------------------------------- recycling

  /** Allows records below a position to be recycled, except for pins. */
  public void recycleBelow(long lsn) {
    recycleBelow(lsn, 0);
  }

  /**
   * Allows records below a position to be recycled, except for pins and retained changes.
   *
   * @param lsn the position
   * @param changes a result of {@link #retainable} that is durable outside of the log
   */
  public void recycleBelow(long lsn, long changes) {
    file.slots().recycleBelow(Math.min(lsn, waits.durable()), changes);
    if (file.slots().blocksTruncation()) {
      writer.wake();
    }
    space.changed();
  }

  /** Returns whether the file is larger than that of an idle log. */
  public boolean isLarge() {
    return file.slots().isLarge();
  }

  /**
   * Releases the slots that an idle log does not need, after a checkpoint. The log continues in the
   * first slots of the file and allocates more when needed.
   */
  public void trimIdle() {
    file.slots().trimIdle();
    if (file.slots().blocksTruncation()) {
      writer.wake();
    }
  }

  /** Returns whether records are retained for change subscribers. */
  public boolean isFollowed() {
    return config.changeRetentionBytes() > 0;
  }

  /**
   * Returns the start of the records retained for change subscribers, once recovery needs none
   * below a position.
   *
   * @param redo the position
   */
  public long retainable(long redo) {
    return file.slots().retainable(Math.min(redo, waits.durable()), config.changeRetentionBytes());
  }

  /**
   * Returns whether the storage is full while records are retained for change subscribers. A
   * checkpoint then releases them.
   */
  public boolean mustReleaseRetention() {
    return isFollowed() && file.slots().mustReleaseRetention();
  }

  /** Returns the start of the oldest record in the file. */
  public long firstLsn() {
    return file.slots().firstLsn();
  }

  /**
   * Returns a reader of durable records that runs concurrently with appends. Close it before the
   * log.
   */
  @Override
  public DurableRecords records() {
    return new DurableRecords(device, new OwnSegments(this, file));
  }

  /**
   * Waits until the log is durable beyond a position.
   *
   * @param lsn the position
   * @param nanos the timeout
   * @param over ends the wait when it returns true; checked again after {@link #wakeFollowers}
   * @return whether the log is durable beyond the position
   * @throws InterruptedException if the thread is interrupted while waiting
   */
  public boolean awaitBeyond(long lsn, long nanos, BooleanSupplier over)
      throws InterruptedException {
    return changeSubscribers.await(
            () -> waits.durable() > lsn || over.getAsBoolean() || !isAlive(), nanos)
        && waits.durable() > lsn;
  }

  /** Makes threads in {@link #awaitBeyond} check their conditions again. */
  public void wakeFollowers() {
    changeSubscribers.wake();
  }

  /** Called when more is durable. */
  void becameDurable() {
    changeSubscribers.wake();
  }

  /** Holds back recycling, for a backup, until {@link Pin#close}. */
  public Pin pin() {
    return new FilePin(file.slots(), file.slots().pin());
  }

  /** Holds back recycling. */
  public interface Pin extends AutoCloseable {
    /** Returns the position from which records are kept. */
    long lsn();

    @Override
    void close();
  }

  private static final class FilePin implements Pin {
    private final SegmentSlots slots;
    private final long lsn;
    private boolean closed;

    FilePin(SegmentSlots slots, long lsn) {
      this.slots = slots;
      this.lsn = lsn;
    }

    @Override
    public long lsn() {
      return lsn;
    }

    @Override
    public synchronized void close() {
      if (!closed) {
        closed = true;
        slots.unpin(lsn);
      }
    }
  }

  // ---------------------------------------------------------------------------------------- end

  /** Returns the number of bytes written to the file since it was opened. */
  public long bytesWritten() {
    return writer.bytesWritten();
  }

  /** Returns the size of a segment of the file, in bytes. */
  public long segmentBytes() {
    return file.segmentBytes;
  }

  /** Returns the native memory of the ring and the write buffer, in bytes. */
  public long memoryBytes() {
    return ring.memoryBytes() + writer.memoryBytes();
  }

  /** Returns counters that start when the log is opened. */
  public LogStats stats() {
    return new LogStats(
        writer.records(),
        ring.tail() - file.start.startLsn(),
        writer.bytesWritten(),
        writer.groups(),
        writer.groups(),
        waited.sum(),
        file.space().fileBytes());
  }

  /**
   * Writes complete records, syncs and ends the threads. The device stays open for the caller to
   * close. No thread may be appending.
   */
  @Override
  public void close() {
    if (STATE.compareAndSet(this, OPEN, CLOSING)) {
      writer.close();
      end();
    }
  }

  /** Ends the threads without writing, leaving the file as after a crash. */
  public void abandon() {
    if (STATE.compareAndSet(this, OPEN, ABANDONED)) {
      wakeAll();
      writer.close();
      end();
    }
  }

  private void end() {
    file.space().end();
    Waits.join(preallocator);
    state = CLOSED;
    ring.free();
  }
}
