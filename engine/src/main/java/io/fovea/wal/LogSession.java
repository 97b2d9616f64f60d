package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Holder;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One appender's handle on the log: a slot that holds back the redo point, a grant of space, the
 * record under construction, and the position of the changes being made.
 *
 * <pre>
 *   begin(bytes)     slot := tail, full fence; then waits for space           no latch is held
 *     reserve(type, bytes) ─► fill buffer() at the returned offset ─► complete()   never waits
 *     ... pages: markDirty(frame, recLsn(), pageLsn())
 *     grant(bytes)   waits for more space                                     no latch is held
 *   end()            slot := none; returns the rest of the grant
 * </pre>
 *
 * <p>{@link #NONE} is the session of a database without a log: {@link #isLogging} is false, begin,
 * grant and end do nothing, positions are 0, and nothing is reserved.
 *
 * <p><b>Memory order: the redo point.</b> A session stores its slot (S1, volatile), then reserves
 * (a CAS of the tail, S2), marks its frames (S3), and clears the slot (S4, volatile). The
 * checkpointer reads the tail T (C1), then the slots (C2), then the frames (C3). For a record that
 * begins at s:
 *
 * <ul>
 *   <li>C2 sees S1: the slot is a tail from before S2, so it is at most s, and holds back the redo
 *       point.
 *   <li>C2 misses S1, because it comes before it: then C1 comes before S2 too, and T ≤ s.
 *   <li>C2 sees S4: then C3 sees S3, and the frames' recLsn hold back the redo point.
 * </ul>
 *
 * <p>Forbidden: a redo point above a record whose change is in no page on the device. This requires
 * S1 to precede S2 for all observers, hence the sequentially consistent accesses.
 *
 * <p>Used by one thread at a time.
 */
public final class LogSession {
  /** The session of a database without a log. */
  public static final LogSession NONE = new LogSession();

  static final long IDLE = Long.MAX_VALUE;

  /** How much of a claim is used before it is settled. */
  private static final long SPENT_MIN = 64 << 10;

  private static final VarHandle SLOT;

  static {
    try {
      SLOT = MethodHandles.lookup().findVarHandle(LogSession.class, "slot", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final @Nullable Log log;
  private final Ring ring;
  private final Checksum.Reusable sums;
  private final long incarnation;

  @SuppressWarnings("unused") // accessed through SLOT
  private long slot = IDLE;

  private boolean active;
  private volatile @Nullable Holder holder;

  /** The thread between begin and end; for assertions, null without them. */
  private @Nullable Thread user;

  private long left;
  private boolean open;
  private int type;
  private int length;
  private long start;
  private long end;
  private long recLsn;
  private long pageLsn;
  private int reservedPages = -1;
  private boolean failWhenFull;
  private boolean undoing;

  /** File space for records after the operation's own: see {@link #claim}. */
  private long claimed;

  /** The number of bytes of records that the claim is for. */
  private long expected;

  /** The rest of the grant at the last check. */
  private long granted;

  /** The claimed bytes that were logged and are still claimed. */
  private long spent;

  @SuppressWarnings("NullAway") // nothing is reserved in this session
  private LogSession() {
    this.log = null;
    this.ring = null;
    this.sums = null;
    this.incarnation = 0;
  }

  LogSession(Log log, Ring ring, long incarnation) {
    this.log = log;
    this.ring = ring;
    this.sums = new Checksum.Reusable(ring.segment());
    this.incarnation = incarnation;
  }

  /**
   * Creates a session without a log for one appender: {@link #NONE} cannot hold page reservations.
   */
  public static LogSession unlogged() {
    return new LogSession();
  }

  /** Returns whether there is a log. */
  public boolean isLogging() {
    return log != null;
  }

  /** Returns a position at or before everything that the session has logged since its begin. */
  public long beginLsn() {
    return slot();
  }

  /** Returns the maximum part of a grant that a record uses, with header, alignment and filler. */
  public static long space(long bodyBytes) {
    return 2 * (16 + (bodyBytes + 7 & ~7L));
  }

  // ------------------------------------------------------------------------------------- space

  /**
   * Begins to hold back the redo point, and waits for space. Must be called without latches.
   *
   * @param bytes the sum of {@link #space} over what will be logged, at most the size of the log's
   *     buffer; 0 only holds back the redo point
   * @throws io.fovea.error.StorageFullException if the log cannot grow; nothing has begun
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   * @throws IllegalStateException if the session has already begun
   */
  public void begin(long bytes) {
    if (log == null) {
      return;
    }
    if (active) {
      throw new IllegalStateException("The log session has already begun; end it first.");
    }
    SLOT.setVolatile(this, ring.tail());
    boolean done = false;
    try {
      log.space().begin(bytes);
      done = true;
    } finally {
      if (!done) {
        SLOT.setVolatile(this, IDLE);
      }
    }
    active = true;
    left = bytes;
    recLsn = 0;
    pageLsn = 0;
    assert setUser();
  }

  /** Records the using thread. Always returns true. */
  private boolean setUser() {
    user = Thread.currentThread();
    return true;
  }

  /**
   * Continues a session that another thread began and left, such as a load that is ended by a
   * close. Both threads hold the same lock while they use the session.
   */
  public void attachToThread() {
    assert !active || setUser();
  }

  private boolean isUsed() {
    return user == Thread.currentThread();
  }

  /**
   * Begins to hold back the redo point for longer than a commit does. Does not wait.
   *
   * @param what the operation, for messages to threads that wait for log space
   */
  public void hold(String what) {
    begin(0);
    if (log != null) {
      holder = Holder.now(what);
    }
  }

  /**
   * Returns the long operation that holds back the redo point, or null. Safe for use by any thread.
   */
  @Nullable Holder holder() {
    return holder;
  }

  /**
   * Waits until at least the given number of bytes is granted, including the rest of the current
   * grant. Must be called without latches.
   *
   * <p>A thread that has to wait first returns the rest of its grant, so that no two threads wait
   * for each other. After an exception, nothing is granted.
   *
   * @param bytes as for {@link #begin}
   * @throws io.fovea.error.StorageFullException if the log could not grow for half a minute. An
   *     operation whose record is in the log keeps waiting, unless {@link #failWhenFull} was
   *     called; see {@link #undoing}
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  public void grant(long bytes) {
    if (log == null) {
      return;
    }
    requireActive();
    if (claimed > 0) {
      spend(log);
    }
    if (bytes <= left) {
      return;
    }
    boolean must = recLsn != 0 || undoing; // its commit record is in the log, or never will be
    if ((must || log.space().hasReserve()) && ring.take(bytes - left)) {
      left = bytes;
      granted = bytes;
      return;
    }
    returnGrant();
    log.space().more(bytes, must, failWhenFull || undoing);
    left = bytes;
    granted = bytes;
  }

  /**
   * Claims file space for records after the operation's own, until {@link #end}. After that record
   * the operation can no longer be refused, and no checkpoint could free space, since the redo
   * point stays before the operation. Must be called without latches, before the record is
   * reserved.
   *
   * <p>For large operations only; changes of a few pages need no claim.
   *
   * @param bytes the number of bytes of records
   * @throws io.fovea.error.StorageFullException if the file cannot grow that much; nothing was
   *     claimed
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  public void claim(long bytes) {
    if (log != null && bytes > 0) {
      requireActive();
      long more = log.space().claim(bytes);
      granted = left;
      claimed += more;
      expected += more > 0 ? bytes : 0;
    }
  }

  /** Releases the part of the claim that was logged, so that it does not count twice. */
  private void spend(Log of) {
    spent += recLsn == 0 ? 0 : granted - left; // bytes before the record are not part of the claim
    granted = left;
    if (spent >= SPENT_MIN) {
      long part = spent < expected ? (long) ((double) claimed / expected * spent) : claimed;
      expected -= Math.min(spent, expected);
      spent = 0;
      unclaim(of, part);
    }
  }

  private void unclaim(Log of, long bytes) {
    of.space().unclaim(bytes);
    claimed -= bytes; // once, even if the next call fails
    of.space().changed();
  }

  /**
   * Declares that the following records of the session undo its own page allocations. Like an
   * operation that cannot be undone, it may use the last space in the file, but it throws if
   * nothing more can be written at all.
   */
  public void beginUndo() {
    undoing = active;
  }

  /**
   * Makes {@link #grant} throw from now on if nothing more can be written, even if the operation's
   * record is in the log. For recovery, where no checkpoint would free space and the next opening
   * completes the rest. For a close see {@link Log#abortWaits}.
   */
  public void failWhenFull() {
    failWhenFull = true;
  }

  /**
   * Releases the redo point and returns the rest of the grant. A record under construction becomes
   * void. Does nothing if the session is not active.
   */
  public void end() {
    if (log != null && active) {
      endActive();
    }
  }

  /**
   * Returns the granted and claimed space of an operation that failed halfway, and holds back the
   * redo point forever. The operation logs nothing more, so its space would be missing to all
   * others, and to a close that waits for them.
   */
  public void abandon() {
    if (log != null && active) {
      returnAllSpace();
    }
  }

  private void endActive() {
    try {
      cancel();
    } finally {
      try {
        returnAllSpace();
      } finally {
        try {
          returnAllSpace(); // the rest, if the first attempt failed
        } finally {
          expected = 0;
          spent = 0;
          undoing = false;
          active = false;
          holder = null;
          SLOT.setVolatile(this, IDLE);
        }
      }
    }
  }

  private void returnAllSpace() {
    returnGrant();
    if (claimed > 0 && log != null) {
      unclaim(log, claimed);
    }
  }

  private void returnGrant() {
    long rest = left;
    if (rest > 0) {
      ring.returnSpace(rest);
      left = 0; // once, even if the next call fails
      granted = 0;
      if (log != null) {
        log.space().changed();
      }
    }
  }

  private void requireActive() {
    if (!active) {
      throw new IllegalStateException("The log session is not active.");
    }
    assert isUsed() : "the log session was begun by " + user;
  }

  /** Returns whether the session has begun and not ended. */
  public boolean isActive() {
    return active;
  }

  /** Returns the position that holds back the redo point; {@link Long#MAX_VALUE} for none. */
  long slot() {
    return (long) SLOT.getVolatile(this);
  }

  /**
   * Returns the number of pages that the data file reserves for this appender. The pool maintains
   * it; it is stored here because it belongs to the session's owner.
   *
   * @return negative if none were ever reserved
   */
  public int reservedPages() {
    return reservedPages;
  }

  /** Sets the number of reserved pages, for the pool. */
  public void reservedPages(int pages) {
    reservedPages = pages;
  }

  // ------------------------------------------------------------------------------------ records

  /**
   * Reserves a record and returns the offset of its body in {@link #buffer}. Never waits. The
   * body's bytes are zero.
   *
   * @param type one of {@link RecordType}
   * @param bodyBytes the length of the body
   * @throws IllegalStateException if the grant is too small, or a record is under construction
   */
  public long reserve(int type, int bodyBytes) {
    requireActive();
    if (open) {
      throw new IllegalStateException("A record is under construction; complete it first.");
    }
    if (bodyBytes < 0 || bodyBytes > ring.size() / 4 - Record.HEADER) {
      throw new IllegalArgumentException(
          "The body of a log record cannot have " + bodyBytes + " bytes.");
    }
    long bytes = Record.aligned(Record.HEADER + (long) bodyBytes);
    long at = ring.reserve(bytes, left);
    if (at < 0) {
      throw new IllegalStateException(
          "The record needs " + bytes + " bytes, but the grant has only " + left + " left.");
    }
    long filler;
    try {
      filler = ring.filler(at, bytes);
      left -= bytes + filler;
      if (filler > 0) {
        fill(at, (int) filler);
      }
    } catch (Error e) {
      if (log != null) {
        log.fail(e); // the reserved space has no record: nothing after it can become durable
      }
      throw e;
    }
    this.type = type;
    open = true;
    length = Record.HEADER + bodyBytes;
    start = at + filler;
    end = start + bytes;
    return ring.offset(start) + Record.HEADER;
  }

  /** Completes a void record, at the end of a lap. */
  private void fill(long at, int bytes) {
    if (bytes > Record.WORD) {
      Mem.putLong(ring.segment(), ring.offset(at) + Record.TYPE, RecordType.VOID);
    }
    finish(at, bytes);
  }

  private void finish(long at, int bytes) {
    int sum = Record.sum(sums, ring.offset(at), at, incarnation, bytes);
    ring.complete(at, Record.word(bytes, sum));
  }

  /** Returns the ring's memory. */
  public MemorySegment buffer() {
    return ring.segment();
  }

  /** Computes the checksum and completes the record: the writer may take it from now on. */
  public void complete() {
    if (log == null) {
      return;
    }
    if (!open) {
      throw new IllegalStateException("No record is under construction.");
    }
    Mem.putLong(ring.segment(), ring.offset(start) + Record.TYPE, type & 0xFF);
    finish(start, length);
    open = false;
    if (type != RecordType.COMMIT) {
      log.appended();
    }
  }

  /** Makes the record under construction void, if there is one. */
  public void cancel() {
    if (open) {
      type = RecordType.VOID;
      complete();
    }
  }

  /** Returns the start of the last reserved record. */
  public long recordStart() {
    return start;
  }

  /** Returns the end of the last reserved record. */
  public long recordEnd() {
    return end;
  }

  // ---------------------------------------------------------------------------------- positions

  /** Returns the start of the record that holds the logical changes being made; 0 for none. */
  public long recLsn() {
    return recLsn;
  }

  /**
   * Returns the end of that record; pages that it changed are written once the log is durable up to
   * there.
   */
  public long pageLsn() {
    return pageLsn;
  }

  /**
   * Sets the record that the following logical changes belong to, until the next {@link #begin}.
   * For {@link #NONE} it is always 0.
   */
  public void position(long start, long end) {
    if (log != null) {
      recLsn = start;
      pageLsn = end;
      granted = left;
    }
  }
}
