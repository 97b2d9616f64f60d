package io.fovea.wal;

import io.fovea.memory.Checksum;
import io.fovea.memory.Holder;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One appender's way into the log: a slot that holds back the redo point, a grant of space, the
 * record under construction, and where the pages that it changes stand.
 *
 * <pre>
 *   begin(bytes)     slot := tail, full fence; then waits for space           no latch is held
 *     reserve(type, bytes) ─► fill buffer() at the returned offset ─► complete()   never waits
 *     ... pages: markDirty(frame, recLsn(), pageLsn())
 *     grant(bytes)   waits for more space                                     no latch is held
 *   end()            slot := none; what is left of the grant goes back
 * </pre>
 *
 * <p>{@link #NONE} is the session of a database without a log: {@link #logging} is false, begin,
 * grant and end do nothing, positions are 0, and nobody reserves.
 *
 * <p><b>Memory order: the redo point.</b> A session stores its slot (S1, volatile), then reserves
 * (a CAS of the tail, S2), marks its frames (S3), and clears the slot (S4, volatile). The
 * checkpointer reads the tail T (C1), then the slots (C2), then the frames (C3). For a record that
 * begins at s:
 *
 * <ul>
 *   <li>C2 sees S1: the slot is a tail from before S2, so it is at most s, and holds the redo
 *       point.
 *   <li>C2 misses S1, because it comes before it: then C1 comes before S2 too, and T ≤ s.
 *   <li>C2 sees S4: then C3 sees S3, and the frames' recLsn hold the redo point.
 * </ul>
 *
 * <p>Forbidden: a redo point above a record whose change is in no page on the device. It takes that
 * S1 is before S2 for all who look, hence the sequential accesses.
 *
 * <p>One thread at a time.
 */
public final class LogSession {
  /** The session of a database that has no log. */
  public static final LogSession NONE = new LogSession();

  static final long IDLE = Long.MAX_VALUE;

  /** How much of a claim is used before it is looked at. */
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

  @SuppressWarnings("unused") // by its handle
  private long slot = IDLE;

  private boolean active;
  private volatile @Nullable Holder holder;

  /** Who uses it from its begin to its end; for assertions, null without them. */
  private @Nullable Thread user;

  private long left;
  private boolean open;
  private int type;
  private int length;
  private long start;
  private long end;
  private long recLsn;
  private long pageLsn;
  private int pagesPromised = -1;
  private boolean failWhenFull;
  private boolean undoes;

  /** Of the file, for what comes behind the operation's record: see {@link #claim}. */
  private long claimed;

  /** Of how many bytes of records that is. */
  private long expected;

  /** What was left of the grant when it was looked at last. */
  private long granted;

  /** What was logged of the claim, and is still claimed. */
  private long spent;

  @SuppressWarnings("NullAway") // nobody reserves here
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

  /** A session of a database that has no log, for one appender: {@link #NONE} has no promises. */
  public static LogSession unlogged() {
    return new LogSession();
  }

  /** Whether there is a log. */
  public boolean logging() {
    return log != null;
  }

  /**
   * Where the log ended when the session began: what it has logged since begins there or behind.
   */
  public long beginLsn() {
    return slot();
  }

  /** How much of a grant a record takes at most, with header, alignment and the end of a lap. */
  public static long space(long bodyBytes) {
    return 2 * (16 + (bodyBytes + 7 & ~7L));
  }

  // ------------------------------------------------------------------------------------- space

  /**
   * Holds back the redo point from here on, and waits for space. Nothing is latched.
   *
   * @param bytes the sum of {@link #space} of what will be logged, at most the size of the log's
   *     buffer; 0 holds back the redo point only
   * @throws io.fovea.error.StorageFullException where the log can't grow; nothing has begun
   * @throws io.fovea.error.DurabilityLostException where nothing can become durable any more
   * @throws IllegalStateException where the session has begun already
   */
  public void begin(long bytes) {
    if (log == null) {
      return;
    }
    if (active) {
      throw new IllegalStateException("The session of the log has begun already.");
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
    assert used();
  }

  /** Notes the user; true. */
  private boolean used() {
    user = Thread.currentThread();
    return true;
  }

  /**
   * Goes on with what another thread has begun and given up, in its place: a close that ends a
   * load. Both hold the same lock while they use the session.
   */
  public void takeOver() {
    assert !active || used();
  }

  private boolean isUsed() {
    return user == Thread.currentThread();
  }

  /**
   * Holds back the redo point from here on, for longer than a commit does. Waits for nothing.
   *
   * @param what the operation, for messages of those who wait for room in the log
   */
  public void hold(String what) {
    begin(0);
    if (log != null) {
      holder = Holder.now(what);
    }
  }

  /** Who holds back the redo point; null for an operation that does not take long. Any thread. */
  @Nullable Holder holder() {
    return holder;
  }

  /**
   * Waits until at least so many bytes are granted, those included that are left. Nothing is
   * latched.
   *
   * <p>A thread that has to wait gives back first what is left, so that no two wait for each other.
   * Hence nothing is granted after an exception.
   *
   * @param bytes as for {@link #begin}
   * @throws io.fovea.error.StorageFullException where the log could not grow for half a minute; not
   *     for an operation whose record is in the log, which waits, unless {@link #failWhenFull} was
   *     called; see {@link #undoes}
   * @throws io.fovea.error.DurabilityLostException where nothing can become durable any more
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
    boolean must = recLsn != 0 || undoes; // its commit record is in the log, or never will be
    if ((must || log.space().hasReserve()) && ring.take(bytes - left)) {
      left = bytes;
      granted = bytes;
      return;
    }
    giveBack();
    log.space().more(bytes, must, failWhenFull || undoes);
    left = bytes;
    granted = bytes;
  }

  /**
   * Sees to it that the file of the log has room for what is logged behind the operation's record,
   * until {@link #end}. It can't be refused then any more, nor can anybody make room for it: the
   * redo point stays before the operation. Nothing is latched, and the record is not reserved yet.
   *
   * <p>For what may be much. Of a few pages no operation has to say anything.
   *
   * @param bytes how many bytes of records
   * @throws io.fovea.error.StorageFullException where the file can't be made so large; nothing was
   *     claimed
   * @throws io.fovea.error.DurabilityLostException where nothing can become durable any more
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

  /** What was logged of a claim, behind the record, is not in the way of others twice. */
  private void spend(Log of) {
    spent += recLsn == 0 ? 0 : granted - left; // what comes before the record is not of the claim
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
    claimed -= bytes; // once, whatever fails behind it
    of.space().changed();
  }

  /**
   * What the session logs from now on, until its end, takes back a page or two that it has given
   * out. It may use the last of the file, as what can't go back any more does, but throws where
   * nothing more can be written at all.
   */
  public void undoes() {
    undoes = active;
  }

  /**
   * From now on {@link #grant} throws where nothing more can be written, whether the operation's
   * record is in the log or not. For a recovery: no checkpoint is made meanwhile, so nothing would
   * make room, and the next opening does what is left undone. For a close see {@link
   * Log#abortWaits}.
   */
  public void failWhenFull() {
    failWhenFull = true;
  }

  /**
   * Lets the redo point go on and gives back what is left of the grant. A record under construction
   * becomes void. Does nothing where the session has not begun.
   */
  public void end() {
    if (log != null && active) {
      endActive();
    }
  }

  private void endActive() {
    try {
      cancel();
    } finally {
      try {
        giveAllBack();
      } finally {
        try {
          giveAllBack(); // what is left of it, where it has failed
        } finally {
          expected = 0;
          spent = 0;
          undoes = false;
          active = false;
          holder = null;
          SLOT.setVolatile(this, IDLE);
        }
      }
    }
  }

  private void giveAllBack() {
    giveBack();
    if (claimed > 0 && log != null) {
      unclaim(log, claimed);
    }
  }

  private void giveBack() {
    long rest = left;
    if (rest > 0) {
      ring.giveBack(rest);
      left = 0; // once, whatever fails behind it
      granted = 0;
      if (log != null) {
        log.space().changed();
      }
    }
  }

  private void requireActive() {
    if (!active) {
      throw new IllegalStateException("The session of the log has not begun.");
    }
    assert isUsed() : "the session of the log was begun by " + user;
  }

  /** Whether it has begun, and not ended. */
  public boolean begun() {
    return active;
  }

  /** What holds back the redo point; {@link Long#MAX_VALUE} for nothing. */
  long slot() {
    return (long) SLOT.getVolatile(this);
  }

  /**
   * How many pages the data file keeps for this appender. The pool's number, which is here because
   * it goes where the session goes.
   *
   * @return negative where it was never promised any
   */
  public int pagesPromised() {
    return pagesPromised;
  }

  /** The pool has promised pages, or has given some of them out. */
  public void pagesPromised(int pages) {
    pagesPromised = pages;
  }

  // ------------------------------------------------------------------------------------ records

  /**
   * Reserves a record; returns where its body goes in {@link #buffer}. Never waits. The body's
   * bytes are zero.
   *
   * @param type one of {@link RecordType}
   * @param bodyBytes the length of the body
   * @throws IllegalStateException where the grant is too small, or a record is under construction
   */
  public long reserve(int type, int bodyBytes) {
    requireActive();
    if (open) {
      throw new IllegalStateException("A record is under construction.");
    }
    if (bodyBytes < 0 || bodyBytes > ring.size() / 4 - Record.HEADER) {
      throw new IllegalArgumentException("A record with a body of " + bodyBytes + " bytes.");
    }
    long bytes = Record.aligned(Record.HEADER + (long) bodyBytes);
    long at = ring.reserve(bytes, left);
    if (at < 0) {
      throw new IllegalStateException(
          "A record of " + bytes + " bytes; " + left + " are left of what was granted.");
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
        log.fail(e); // what was reserved has no end: nothing behind it becomes durable
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

  /** A void record, at the end of a lap. */
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

  /** The log's memory. */
  public MemorySegment buffer() {
    return ring.segment();
  }

  /** Ends the record: it may be written from here on. Sums it. */
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

  /** Makes the record under construction void, where there is one. */
  public void cancel() {
    if (open) {
      type = RecordType.VOID;
      complete();
    }
  }

  /** Where the last reserved record begins. */
  public long recordStart() {
    return start;
  }

  /** Where the last reserved record ends. */
  public long recordEnd() {
    return end;
  }

  // ---------------------------------------------------------------------------------- positions

  /** Where the record begins that holds the logical changes that are being made; 0 for none. */
  public long recLsn() {
    return recLsn;
  }

  /**
   * Where that record ends: pages that it changes are not written before the log is durable up to
   * here.
   */
  public long pageLsn() {
    return pageLsn;
  }

  /**
   * Says which record the logical changes that follow belong to, until the next {@link #begin}.
   * That of {@link #NONE} is always 0.
   */
  public void position(long start, long end) {
    if (log != null) {
      recLsn = start;
      pageLsn = end;
      granted = left;
    }
  }
}
