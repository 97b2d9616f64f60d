package io.fovea.btree;

import io.fovea.memory.Waits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The number of records of a tree and of the bytes of their keys and values, as maintained by
 * commits.
 *
 * <pre>
 *   base                          the counts when the tree was opened
 *   + cell of context 0   seq · LSN · records · bytes         each in its own cache lines,
 *   + cell of context 1   seq · LSN · records · bytes         written by one thread at a time,
 *   + ...                                                     made when first needed
 * </pre>
 *
 * <p><b>A change</b> is made by a commit under its locks, after its record is in the log and before
 * its writes are visible. For each changed tree it calls {@link #enter}; then it issues a full
 * fence and checks {@link #isStopped}; then it calls {@link #leave}. The sequence of the cell is
 * odd in between.
 *
 * <p><b>Consistent sums.</b> {@link #records} and {@link #bytes} read all sequences, add up the
 * cells, and read the sequences again: if none was odd or moved, all cells had these values at once
 * between the two passes. If changes never pause long enough, the reader stops them: it stores
 * {@code stopped}, and commits withdraw and wait. A commit stores an odd sequence, fences, and
 * loads {@code stopped}; a reader stores {@code stopped}, fences, and loads the sequences. One of
 * the two loads follows both fences and sees the other's store. This excludes: a commit misses
 * {@code stopped}, the reader misses the odd sequence, and a cell changes during the sum.
 *
 * <p><b>A checkpoint</b> must know which commits its numbers contain. Commits of a context are
 * logged in their order, so the LSN of the last one in a cell identifies them. {@link #visit}
 * returns each cell with its LSN; cells need not be consistent with each other.
 *
 * <p>Threading: a cell is written by the context of its number; everything else by any thread.
 */
public final class TreeCounts {
  private static final VarHandle LONG = MethodHandles.arrayElementVarHandle(long[].class);

  // In the middle of an array, so that no other object shares these cache lines.
  private static final int SEQUENCE = 8;
  private static final int LSN = 9;
  private static final int RECORDS = 10;
  private static final int BYTES = 11;
  private static final int LONGS = 20;

  /** Attempts to add up the cells before changes are stopped. */
  private static final int PASSES = 16;

  /** The time to wait for a change to end: far longer than it takes. */
  private static final long ODD_NANOS = 10_000_000_000L;

  /** Receives the counts for a checkpoint. */
  public interface Visitor {
    /** Receives the counts of one context, whose last commit is at {@code lsn}; 0 without a log. */
    void cell(int context, long lsn, long records, long bytes);
  }

  private volatile long[] @Nullable [] cells = new long[0][];
  private volatile boolean stopped;
  private volatile boolean known;
  private volatile long baseRecords;
  private volatile long baseBytes;

  /** Creates counts of a tree that may be known to be empty. */
  TreeCounts(boolean empty) {
    this.known = empty;
  }

  // ----------------------------------------------------------------------------------- the base

  /** Returns whether the base is known. */
  public boolean isKnown() {
    return known;
  }

  /** Sets the counts that are not in cells. */
  public synchronized void base(long records, long bytes) {
    baseRecords = records;
    baseBytes = bytes;
    known = true;
  }

  // -------------------------------------------------------------------------------------- changes

  /**
   * Returns the cell of a context for {@link #enter} and {@link #leave}. Call it before the commit
   * has effects: it may allocate.
   */
  public long[] cell(int context) {
    long[] @Nullable [] all = cells;
    long[] cell = context < all.length ? all[context] : null;
    return cell != null ? cell : make(context);
  }

  private synchronized long[] make(int context) {
    long[] @Nullable [] all = cells;
    int length = Math.max(all.length, context + 1);
    long[] @Nullable [] more = new long[length][];
    System.arraycopy(all, 0, more, 0, all.length);
    long[] cell = new long[LONGS];
    more[context] = cell;
    cells = more;
    return cell;
  }

  /** Starts a change. A full fence must follow before {@link #isStopped}. */
  public static void enter(long[] cell) {
    LONG.setOpaque(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  /**
   * Returns whether a reader has stopped changes: then call {@link #withdraw} and {@link
   * #awaitReader}.
   */
  public boolean isStopped() {
    return stopped;
  }

  /** Withdraws a started change. */
  public static void withdraw(long[] cell) {
    LONG.setRelease(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  /** Waits until no reader stops changes. */
  public void awaitReader() {
    for (int attempt = 0; stopped; attempt++) {
      Waits.spin(attempt);
    }
  }

  /**
   * Makes and ends a change by the commit whose record is at {@code lsn}. Its stores follow the
   * fence after {@link #enter} and precede the store of the even sequence.
   */
  public static void leave(long[] cell, long lsn, long records, long bytes) {
    LONG.setOpaque(cell, LSN, lsn);
    LONG.setOpaque(cell, RECORDS, cell[RECORDS] + records);
    LONG.setOpaque(cell, BYTES, cell[BYTES] + bytes);
    LONG.setRelease(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  // --------------------------------------------------------------------------------------- reading

  /**
   * Returns the number of records at some time during the call. If {@link #isKnown} is false, only
   * the difference since the tree was opened.
   */
  public long records() {
    return baseRecords + sum(RECORDS);
  }

  /** Returns the number of bytes of keys and values, like {@link #records}. */
  public long bytes() {
    return baseBytes + sum(BYTES);
  }

  private long sum(int what) {
    for (int i = 0; i < PASSES; i++) {
      long[] @Nullable [] all = cells;
      long sequences = sequences(all);
      if (sequences >= 0) {
        long sum = add(all, what);
        VarHandle.acquireFence(); // values are loaded before the sequences are read again
        if (cells == all && sequences(all) == sequences) {
          return sum;
        }
      }
      Thread.onSpinWait();
    }
    return stopAndSum(what);
  }

  /** Returns the sum of all sequences, which only grow; -1 if one is odd. */
  private static long sequences(long[] @Nullable [] all) {
    long sum = 0;
    for (long[] cell : all) {
      if (cell != null) {
        long sequence = (long) LONG.getAcquire(cell, SEQUENCE);
        if ((sequence & 1) != 0) {
          return -1;
        }
        sum += sequence;
      }
    }
    return sum;
  }

  private static long add(long[] @Nullable [] all, int what) {
    long sum = 0;
    for (long[] cell : all) {
      if (cell != null) {
        sum += (long) LONG.getOpaque(cell, what);
      }
    }
    return sum;
  }

  private synchronized long stopAndSum(int what) {
    stopped = true;
    try {
      VarHandle.fullFence();
      long[] @Nullable [] all = cells;
      long began = System.nanoTime();
      for (int attempt = 0; sequences(all) < 0; attempt++) {
        if (System.nanoTime() - began > ODD_NANOS) {
          break; // an error ended a commit in between and has stopped the engine
        }
        Waits.spin(attempt);
      }
      return add(all, what);
    } finally {
      stopped = false;
    }
  }

  /** Visits all cells; each one is consistent in itself. The base comes first, as context -1. */
  public void visit(Visitor visitor) {
    visitor.cell(-1, 0, baseRecords, baseBytes);
    long[] @Nullable [] all = cells;
    for (int i = 0; i < all.length; i++) {
      long[] cell = all[i];
      if (cell != null) {
        visit(i, cell, visitor);
      }
    }
  }

  private static void visit(int context, long[] cell, Visitor visitor) {
    long began = System.nanoTime();
    for (int attempt = 0; ; attempt++) {
      long sequence = (long) LONG.getAcquire(cell, SEQUENCE);
      long lsn = (long) LONG.getOpaque(cell, LSN);
      long records = (long) LONG.getOpaque(cell, RECORDS);
      long bytes = (long) LONG.getOpaque(cell, BYTES);
      VarHandle.acquireFence();
      boolean valid = (sequence & 1) == 0 && (long) LONG.getOpaque(cell, SEQUENCE) == sequence;
      if (valid || System.nanoTime() - began > ODD_NANOS) {
        visitor.cell(context, lsn, records, bytes);
        return;
      }
      Waits.spin(attempt);
    }
  }
}
