package io.fovea.btree;

import io.fovea.memory.Waits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * How many records a tree has, and how many bytes their keys and values have, as its commits have
 * left it.
 *
 * <pre>
 *   base                          what it had when it was opened
 *   + cell of context 0   seq · LSN · records · bytes         each in cache lines of its own,
 *   + cell of context 1   seq · LSN · records · bytes         written by one thread at a time
 *   + ...                                                     made when the context needs it first
 * </pre>
 *
 * <p><b>A change</b> is made by a commit under its locks, after its record is in the log and before
 * others see what it has written: {@link #enter}, for every tree that it changes; {@link #ready};
 * {@link #leave}. The sequence of a cell is odd in between.
 *
 * <p><b>A moment.</b> {@link #records} and {@link #bytes} add the cells up, twice: where no
 * sequence has moved and none was odd, all cells had these values at once, at any moment between
 * the two passes. Where changes never pause for so long, the reader stops them: it stores {@code
 * stopped}, and a commit waits in {@link #ready} until the reader is through. A commit stores odd
 * sequences, fences, and loads {@code stopped}; a reader stores {@code stopped}, fences, and loads
 * sequences. Forbidden: the commit misses the store and the reader misses the odd sequence, so that
 * a cell changes while it is added up. One of the two loads comes after both fences, so it sees the
 * other's store. The fence is the only cost of a commit that changes counts; one that does not
 * change any does not come here.
 *
 * <p><b>A checkpoint</b> must know which commits are in the numbers that it writes. A context's
 * commits are in the log in the order in which they are made, so the LSN of the last one that is in
 * a cell says it: {@link #visit} gives each cell with its LSN, and no two cells need be of one
 * moment.
 *
 * <p>Threading: a cell belongs to the context of its number; the rest by any thread.
 */
public final class TreeCounts {
  private static final VarHandle LONG = MethodHandles.arrayElementVarHandle(long[].class);

  // In the middle of an array, so that no other object is in these cache lines.
  private static final int SEQUENCE = 8;
  private static final int LSN = 9;
  private static final int RECORDS = 10;
  private static final int BYTES = 11;
  private static final int LONGS = 20;

  /** How often cells are added up in vain before changes are stopped. */
  private static final int PASSES = 16;

  /** How long a cell is waited for whose change has begun: far longer than it takes. */
  private static final long ODD_NANOS = 10_000_000_000L;

  /** Gets what a checkpoint writes. */
  public interface Visitor {
    /**
     * One context's part.
     *
     * @param context whose
     * @param lsn where the last commit begins that is in it; 0 without a log
     * @param records more than before
     * @param bytes more than before
     */
    void cell(int context, long lsn, long records, long bytes);
  }

  private volatile long[] @Nullable [] cells = new long[0][];
  private volatile boolean stopped;
  private volatile boolean known;
  private volatile long baseRecords;
  private volatile long baseBytes;

  /**
   * Counts of a tree.
   *
   * @param empty whether it is known to have nothing
   */
  TreeCounts(boolean empty) {
    this.known = empty;
  }

  // ----------------------------------------------------------------------------------- the base

  /** Whether it is known how many there were to begin with. */
  public boolean isKnown() {
    return known;
  }

  /**
   * Says how many there were to begin with.
   *
   * @param records without those that cells have
   * @param bytes likewise
   */
  public synchronized void base(long records, long bytes) {
    baseRecords = records;
    baseBytes = bytes;
    known = true;
  }

  // -------------------------------------------------------------------------------------- changes

  /**
   * The cell of a context, to be had before anything has happened: it may have to be made.
   *
   * @param context its number
   * @return for {@link #enter} and {@link #leave}
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

  /** A change begins. A full fence follows before {@link #isStopped} is asked. */
  public static void enter(long[] cell) {
    LONG.setOpaque(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  /** Whether a reader wants no change now; then {@link #giveWay} and {@link #awaitReader}. */
  public boolean isStopped() {
    return stopped;
  }

  /** No change after all. */
  public static void giveWay(long[] cell) {
    LONG.setRelease(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  /** Waits until no reader wants that nothing changes: it adds up some numbers. */
  public void awaitReader() {
    for (int attempt = 0; stopped; attempt++) {
      Waits.spin(attempt);
    }
  }

  /**
   * The change, and its end. What it stores comes after the fence behind {@link #enter}, and before
   * the sequence is even again.
   *
   * @param lsn where the commit's record begins
   */
  public static void leave(long[] cell, long lsn, long records, long bytes) {
    LONG.setOpaque(cell, LSN, lsn);
    LONG.setOpaque(cell, RECORDS, cell[RECORDS] + records);
    LONG.setOpaque(cell, BYTES, cell[BYTES] + bytes);
    LONG.setRelease(cell, SEQUENCE, cell[SEQUENCE] + 1);
  }

  // --------------------------------------------------------------------------------------- reading

  /**
   * How many records there are, at a moment during the call.
   *
   * @return only what has changed since it was opened where {@link #isKnown} is false
   */
  public long records() {
    return baseRecords + sum(RECORDS);
  }

  /**
   * How many bytes the keys and values of the records have, at a moment during the call.
   *
   * @return as {@link #records}
   */
  public long bytes() {
    return baseBytes + sum(BYTES);
  }

  private long sum(int what) {
    for (int i = 0; i < PASSES; i++) {
      long[] @Nullable [] all = cells;
      long sequences = sequences(all);
      if (sequences >= 0) {
        long sum = add(all, what);
        VarHandle.acquireFence(); // the values are loaded before the sequences are once more
        if (cells == all && sequences(all) == sequences) {
          return sum;
        }
      }
      Thread.onSpinWait();
    }
    return stopAndSum(what);
  }

  /** The sum of all sequences, which only grow; -1 where one is odd. */
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
          break; // an error has ended a commit in between: it has stopped the engine as well
        }
        Waits.spin(attempt);
      }
      return add(all, what);
    } finally {
      stopped = false;
    }
  }

  /**
   * Visits all cells; each has the values of a moment of its own.
   *
   * @param visitor gets the base first, as context -1
   */
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
      boolean whole = (sequence & 1) == 0 && (long) LONG.getOpaque(cell, SEQUENCE) == sequence;
      if (whole || System.nanoTime() - began > ODD_NANOS) {
        visitor.cell(context, lsn, records, bytes);
        return;
      }
      Waits.spin(attempt);
    }
  }
}
