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
 *       └─begin, grant: Space ─────────────┘           └─► DurableWaits ─► who waits      │
 *                                                          SegmentPreallocator: slots ahead of need
 * </pre>
 *
 * <p>A position (LSN) is a place in the stream of records. {@link #tail} is where the next record
 * goes, {@link #durableLsn} how far everything is on stable storage. Both only grow.
 *
 * <p><b>The end.</b> A write or a sync that fails is final: {@link DurabilityLostException} for all
 * who wait and all who come. The same where somebody else says so ({@link #fail}). What was durable
 * stays so and is not denied to who waits for it.
 *
 * <pre>
 *   OPEN ──close──► CLOSING ──────► CLOSED     what is complete is written before
 *     └───abandon─► ABANDONED ────► CLOSED     nothing more is written
 * </pre>
 *
 * <p>These are one word, {@link #state}, which only increases. A failure is apart from it: a log
 * fails in any state, once, and is closed after that as any other.
 *
 * <p>Any thread, platform or virtual.
 *
 * <p>The file has more than 600 lines because it is the one door to the parts of the log, with what
 * each caller is told.
 */
public final class Log implements DurableLog, AutoCloseable {
  /** The first position of a new log; 0 stands for none. */
  public static final long FIRST_LSN = 4096;

  /** From one look at the room of the file to the next. */
  private static final long LOOK_NANOS = 50_000_000;

  private static final int STUCK_LOOKS = 20;

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
  private final Thread maker;
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
    this.maker = Threads.unstarted("fovea-log-spare", new SegmentPreallocator(file, this));
  }

  /**
   * Opens a log for appending; what is in the file from {@code start.redoLsn()} on is kept.
   *
   * <p>On return the file has a segment of this incarnation, durably: it can be found by a {@link
   * LogReader} from {@code start.startLsn()} on.
   *
   * <p><b>Numbers.</b> A close makes the file shorter, and does not sync that. Were the header of
   * the first new segment durable and the length not, a crash would bring back the old end of the
   * file, beside a segment of the same number or a lower one that begins later: nobody could read
   * that. Two things forbid it, of which either would do but for a fault:
   *
   * <ul>
   *   <li>The caller has synced the file since anybody else wrote to it, and before it was read to
   *       find {@code start}. So nothing is decided here by what a crash may take back. But a sync
   *       that failed before leaves the length in doubt, and one that succeeds does not help.
   *   <li>{@code start.lastSegment()}: a file that was closed knows elsewhere which number was the
   *       last. But a release that did not note it may have closed the file.
   * </ul>
   *
   * <p>The segments of a file that is still needed keep their size, whatever the configuration
   * says; where they are too small for it the buffer is made smaller.
   *
   * @param device the file, synced; stays the caller's
   * @param config sizes and times
   * @param start where it goes on
   * @throws io.fovea.error.CorruptionException where it is the log of another database
   * @throws io.fovea.error.StorageFullException where there is no space for a segment
   */
  public static Log open(BlockDevice device, LogConfig config, LogStart start) {
    if ((start.startLsn() & 7) != 0
        || start.startLsn() < FIRST_LSN
        || start.redoLsn() > start.startLsn()) {
      throw new IllegalArgumentException(start.toString());
    }
    if (Group.BLOCK % device.blockSize() != 0) {
      throw new IllegalArgumentException(
          "The log is written in blocks of 4096 bytes; the device has " + device.blockSize() + ".");
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
          "A log needs a buffer of 64 KiB at least and larger segments than a quarter of it: "
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
      log.maker.start();
      begun = true;
    } finally {
      if (!begun) {
        log.abandon(); // waits for the one that has begun, and gives memory back
      }
    }
    return log;
  }

  /**
   * Writes the log behind a position again, byte for byte, and syncs it. After a failed sync,
   * records may be in the system's cache, where recovery reads them, but not on the device, and
   * later syncs do not write them. Nothing appended behind such records may be acknowledged before
   * they are durable: a crash would end the log where they are missing.
   *
   * @param device the file
   * @param database whose segments
   * @param from up to where it is known to be durable, by what is not in the file itself
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

  /** What a recovery may need, and what stays beside it. */
  private static long fileBytesMax(LogConfig config) {
    long more = Math.min(config.changeRetentionBytes(), Long.MAX_VALUE - config.keepBytes());
    return config.keepBytes() + more;
  }

  // ----------------------------------------------------------------------------------- sessions

  /** A new session; kept by its owner as long as the log is open. */
  public synchronized LogSession session() {
    LogSession session = new LogSession(this, ring, file.start.incarnation());
    LogSession[] more = Arrays.copyOf(sessions, sessions.length + 1);
    more[sessions.length] = session;
    sessions = more;
    file.room().sessions(more.length);
    return session;
  }

  /** The largest body that a record may have: a quarter of the buffer, less the header. */
  public int recordMax() {
    return SegmentFile.payloadMax(ring.size()) - Record.HEADER;
  }

  /** The least position that a session holds back; {@link Long#MAX_VALUE} where none does. */
  public long minActive() {
    long min = Long.MAX_VALUE;
    for (LogSession session : sessions) {
      min = Math.min(min, session.slot());
    }
    return min;
  }

  /** Whether the calling thread itself holds the redo point back with an operation that is long. */
  public boolean isHeldByMe() {
    for (LogSession session : sessions) {
      Holder holder = session.holder();
      if (holder != null && holder.isMe()) {
        return true;
      }
    }
    return false;
  }

  /** What holds back the redo point now, in words. */
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

  /** The position that the next record will have at least. */
  public long tail() {
    return ring.tail();
  }

  /** All records that end at or before this position are on stable storage. */
  @Override
  public long durableLsn() {
    return waits.durable();
  }

  /** How far it is durable, for somebody who keeps that elsewhere. */
  public Watermark watermark() {
    // In this order: what is durable reaches the start of a segment before that counts as begun.
    long segment = file.slots().durableNumber();
    return new Watermark(waits.durable(), segment);
  }

  /**
   * Waits until the log is durable up to a position. An interrupt does not end the wait; the flag
   * is kept.
   *
   * @param lsn a position that was reserved
   * @throws DurabilityLostException if it can't become so any more
   * @throws DatabaseClosedException if the log was closed before it did
   * @throws IllegalArgumentException where the position lies beyond the tail
   */
  public void awaitDurable(long lsn) {
    if (waits.durable() >= lsn) {
      return;
    }
    requireReserved(lsn);
    waited.increment();
    waits.request(lsn);
    if (writer.lead(lsn, false)) {
      writer.wanted();
    }
    await(lsn);
  }

  /**
   * As {@link #awaitDurable}, for a checkpoint, a close and whoever else must not wait for space on
   * a full disk. A writer without a slot waits for a checkpoint to recycle one; so a checkpoint
   * that waited for the writer would wait for itself. The thread does not lead: one that leads may
   * be the one that waits for the slot.
   *
   * @param lsn a position that was reserved
   * @throws StorageFullException where the writer has no room, and the file can't be made larger
   * @throws DurabilityLostException if it can't become durable any more
   * @throws DatabaseClosedException if the log was closed before it did
   */
  public void awaitDurableUnlessFull(long lsn) {
    if (waits.durable() >= lsn) {
      return;
    }
    requireReserved(lsn);
    waited.increment();
    waits.request(lsn);
    writer.wanted();
    do {
      requireAlive();
      StorageFullException full = file.room().whyStuck();
      if (full != null) {
        throw full;
      }
    } while (!waits.await(lsn, writer, LOOK_NANOS));
  }

  /**
   * The log is about to be closed. An operation that is in the log already waits for room no more
   * where the file can't be made larger: {@link LogSession#grant} throws then.
   */
  public void abortWaits() {
    space.abortWaits();
  }

  /**
   * For a close: where the writer has no room, the file can't be made larger, and that does not
   * change within a second, nothing more becomes durable. Whoever waits for that is told.
   */
  public void failWhereStuck() {
    StorageFullException full = file.room().whyStuck();
    for (int i = 0; i < STUCK_LOOKS && full != null; i++) {
      Waits.sleep(LOOK_NANOS);
      full = file.room().whyStuck();
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
   * Asks for durability up to a position, and does not wait: {@link #durableLsn} will tell, and
   * {@link #awaitRequested} waits.
   *
   * @param lsn a position that was reserved
   */
  public void request(long lsn) {
    if (waits.durable() < lsn) {
      waits.request(lsn);
      writer.wanted();
    }
  }

  /**
   * As {@link #awaitDurable}, for a position that was requested.
   *
   * @throws DurabilityLostException if it can't become so any more
   * @throws DatabaseClosedException if the log was closed before it did
   */
  public void awaitRequested(long lsn) {
    if (waits.durable() < lsn) {
      waited.increment();
      if (writer.lead(lsn, true)) {
        waits.hurry(lsn, writer);
      }
      await(lsn);
    }
  }

  /**
   * Starts an action on a virtual thread, and does not wait: when a position that was requested is
   * durable, or can't become so any more. The action asks which by {@link #awaitRequested}.
   *
   * @param lsn what was requested
   * @param action may block
   */
  public void whenDurable(long lsn, Runnable action) {
    waited.increment();
    waits.then(lsn, action, writer);
  }

  private void await(long lsn) {
    if (waits.durable() < lsn && !waits.await(lsn, writer)) {
      requireAlive();
      throw new DatabaseClosedException("The log was closed.");
    }
  }

  /**
   * For commits that do not wait: waits only where more than the window is not durable yet.
   *
   * @throws DurabilityLostException where nothing can become durable any more
   */
  public void awaitWindow() {
    writer.gathered();
    long behind = ring.tail() - windowBytes;
    if (behind > waits.durable()) {
      awaitDurable(behind);
    } else if (failure != null) {
      requireAlive();
    }
  }

  /**
   * Returns where the log is in use.
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
              + "). What was acknowledged before is found again when the database is opened anew.",
          why);
    }
    if (state != OPEN) {
      throw new DatabaseClosedException("The log was closed.");
    }
  }

  /** Whether more of it can become durable. */
  public boolean isAlive() {
    return failure == null && state == OPEN;
  }

  /**
   * Makes durability lost, for a reason outside of the log (a data file that could not be synced).
   * The first reason stays. What is durable stays so.
   *
   * @param reason what failed
   */
  public void fail(Throwable reason) {
    FAILURE.compareAndSet(this, null, reason);
    wakeAll();
  }

  /**
   * Sets what is called when {@link #requireAlive} begins to throw. It may be called more than
   * once, in any thread, and must not wait.
   *
   * @param action wakes who has to look at the log again
   */
  public void onEnd(Runnable action) {
    onEnd = action;
  }

  private void wakeAll() {
    waits.end();
    changeSubscribers.wake();
    file.room().end();
    space.changed();
    writer.wake();
    onEnd.run();
  }

  /** Whether the writer is to stop at once. */
  boolean hasEnded() {
    return failure != null || state >= ABANDONED;
  }

  /** Whether nothing is to be made ahead any more. */
  boolean isStopping() {
    return state != OPEN || hasEnded();
  }

  /** The writer has stopped. */
  void ended() {
    wakeAll();
  }

  // ---------------------------------------------------------------------------------- recycling

  /** Records below this position are not needed any more, except for pins. */
  public void recycleBelow(long lsn) {
    recycleBelow(lsn, 0);
  }

  /**
   * The same where somebody follows changes.
   *
   * @param lsn the position
   * @param changes what {@link #retainable} said, which is durable elsewhere by now
   */
  public void recycleBelow(long lsn, long changes) {
    file.slots().recycleBelow(Math.min(lsn, waits.durable()), changes);
    if (file.slots().isFar()) {
      writer.wake();
    }
    space.changed();
  }

  /** Whether its file is larger than that of a log that rests. */
  public boolean isLarge() {
    return file.slots().isLarge();
  }

  /**
   * Nothing was logged for a while: gives the slots of the file back that are needed no more, after
   * a checkpoint that left little. The log goes on in the first slots of the file, and makes others
   * when it needs them.
   */
  public void rest() {
    file.slots().rest();
    if (file.slots().isFar()) {
      writer.wake();
    }
  }

  /** Whether records stay that no recovery needs, for who follows changes. */
  public boolean isFollowed() {
    return config.changeRetentionBytes() > 0;
  }

  /**
   * From where on records stay for who follows changes, once recovery needs none below a position.
   *
   * @param redo the position
   */
  public long retainable(long redo) {
    return file.slots().retainable(Math.min(redo, waits.durable()), config.changeRetentionBytes());
  }

  /**
   * Whether the storage is full while records stay for who follows changes: a checkpoint lets them
   * go.
   */
  public boolean mustReleaseRetention() {
    return isFollowed() && file.slots().mustReleaseRetention();
  }

  /** Where the records that are there begin. */
  public long firstLsn() {
    return file.slots().firstLsn();
  }

  /** Reads records that are durable, beside everything else; to be closed before the log is. */
  @Override
  public DurableRecords records() {
    return new DurableRecords(device, new OwnSegments(this, file));
  }

  /**
   * Waits until the log is durable beyond a position.
   *
   * @param lsn the position
   * @param nanos how long at most
   * @param over whether to wait no longer, which is asked again after {@link #wakeFollowers}
   * @return whether it is
   * @throws InterruptedException if the thread is interrupted meanwhile
   */
  public boolean awaitBeyond(long lsn, long nanos, BooleanSupplier over)
      throws InterruptedException {
    return changeSubscribers.await(
            () -> waits.durable() > lsn || over.getAsBoolean() || !isAlive(), nanos)
        && waits.durable() > lsn;
  }

  /** Whoever waits in {@link #awaitBeyond} looks again. */
  public void wakeFollowers() {
    changeSubscribers.wake();
  }

  /** More is durable. */
  void becameDurable() {
    changeSubscribers.wake();
  }

  /** Holds back recycling, for a backup; {@link Pin#close} ends it. */
  public Pin pin() {
    return new FilePin(file.slots(), file.slots().pin());
  }

  /** Holds back recycling. */
  public interface Pin extends AutoCloseable {
    /** Records from here on stay. */
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

  /** How many bytes were written to the file since it was opened. */
  public long bytesWritten() {
    return writer.bytesWritten();
  }

  /** The size of a segment of the file. */
  public long segmentBytes() {
    return file.segmentBytes;
  }

  /** The native memory of the buffer and of what is written from it, in bytes. */
  public long memoryBytes() {
    return ring.memoryBytes() + writer.memoryBytes();
  }

  /** What was done so far. */
  public LogStats stats() {
    return new LogStats(
        writer.records(),
        ring.tail() - file.start.startLsn(),
        writer.bytesWritten(),
        writer.groups(),
        writer.groups(),
        waited.sum(),
        file.room().fileBytes());
  }

  /**
   * Writes what is complete, syncs, ends the threads. The device stays the caller's. Nobody may be
   * appending.
   */
  @Override
  public void close() {
    if (STATE.compareAndSet(this, OPEN, CLOSING)) {
      writer.close();
      end();
    }
  }

  /** Ends the threads without writing: what a crash leaves. */
  public void abandon() {
    if (STATE.compareAndSet(this, OPEN, ABANDONED)) {
      wakeAll();
      writer.close();
      end();
    }
  }

  private void end() {
    file.room().end();
    Waits.join(maker);
    state = CLOSED;
    ring.free();
  }
}
