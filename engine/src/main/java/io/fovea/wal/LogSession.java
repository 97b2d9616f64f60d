package io.fovea.wal;

import java.lang.foreign.MemorySegment;
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
 * <p>One thread at a time.
 */
public final class LogSession {
  /** The session of a database that has no log. */
  public static final LogSession NONE = new LogSession(null);

  private final @Nullable Log log;

  LogSession(@Nullable Log log) {
    this.log = log;
  }

  /** Whether there is a log. */
  public boolean logging() {
    return log != null;
  }

  /** How much of a grant a record takes at most, with header, alignment and the end of a lap. */
  public static long space(long bodyBytes) {
    return 2 * (16 + (bodyBytes + 7 & ~7L));
  }

  /** Holds back the redo point from here on, and waits for space. Nothing is latched. */
  public void begin(long bytes) {}

  /** Waits until at least so many bytes are granted. Nothing is latched. */
  public void grant(long bytes) {}

  /** Lets the redo point go on and gives back what is left of the grant. */
  public void end() {}

  /** Reserves a record; returns where its body goes in {@link #buffer}. */
  public long reserve(int type, int bodyBytes) {
    throw new UnsupportedOperationException();
  }

  /** The log's memory. */
  public MemorySegment buffer() {
    throw new UnsupportedOperationException();
  }

  /** Ends the record: it may be written from here on. */
  public void complete() {}

  /** Makes the record under construction void, where there is one. */
  public void cancel() {}

  /** Where the last reserved record begins. */
  public long recordStart() {
    return 0;
  }

  /** Where the last reserved record ends. */
  public long recordEnd() {
    return 0;
  }

  /** Where the record begins that holds the logical changes that are being made; 0 for none. */
  public long recLsn() {
    return 0;
  }

  /**
   * Where that record ends: pages that it changes are not written before the log is durable up to
   * here.
   */
  public long pageLsn() {
    return 0;
  }

  /** Says which record the logical changes that follow belong to. */
  public void position(long start, long end) {}
}
