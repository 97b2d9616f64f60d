package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Padding;
import io.fovea.memory.Waits;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Finds a <i>quiescent point</i>, at which no commit is between its decision and its last change:
 * the trees then contain exactly the transactions that have decided.
 *
 * <pre>
 *   a commit                                a thread that needs a quiescent point
 *     inside := 1                             closed := true
 *     closed? inside := 0, wait, retry        every inside = 0?   otherwise closed := false, retry
 *     decide, append, install, publish        point + 1; work; point + 1
 *     inside := 0                             closed := false
 * </pre>
 *
 * <p>The excluded outcome is that a commit misses {@code closed} and the other thread misses its
 * {@code inside}. All four accesses are volatile, so they have one order, in which one of the two
 * loads follows both stores.
 *
 * <p><b>Serial order.</b> Let A be the transactions that decide before the point and B those that
 * decide after it; {@code docs/internals/snapshots.md} proves that A precedes B. The proof requires
 * that a transaction of B that began before the point revalidates its reads ({@link
 * ConcurrencyControl#decide}). A read-only transaction does not enter the gate. It is in B if, when
 * it decided, it saw a new value of {@link #pointCounter} or a change of a transaction in B; the
 * writer had seen that value, so the reader sees it too.
 *
 * <p><b>A commit that changes the catalog</b> decides at a quiescent point, between A and B.
 * Transactions of B that have used a table that it drops are aborted ({@link #isDropped}). The drop
 * is recorded before {@code pointCounter} changes, so a transaction that is in B because it saw
 * that value also sees the drop.
 *
 * <p><b>Swapped trees.</b> A load publishes a table's new tree at a quiescent point, between A and
 * B. A transaction that began before the point, decides after it and has read anything is aborted,
 * because it may have read the old tree. A transaction that decides before the point has read
 * nothing of the new tree, because {@code pointCounter} changes before the trees do. A transaction
 * that began after it has read nothing of the old tree, because {@code pointCounter} changes again
 * after them; a transaction that begins in between counts as having begun before.
 */
final class CommitGate {
  private static final long CLOSED_NANOS = 1_000_000;

  private static final long OPEN_NANOS = 5_000_000;

  /** Whether a commit of a context is inside. Written by its thread a few times per commit. */
  static final class CommitSlot extends Padding {
    private static final VarHandle INSIDE;
    private static final VarHandle TREES;
    private static final VarHandle DECIDED;

    static {
      try {
        MethodHandles.Lookup here = MethodHandles.lookup();
        INSIDE = here.findVarHandle(CommitSlot.class, "inside", int.class);
        TREES = here.findVarHandle(CommitSlot.class, "trees", long.class);
        DECIDED = here.findVarHandle(CommitSlot.class, "decided", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private int inside;

    /** The trees that the commit inside changes, as bits of {@link ScanTimestamps}. */
    private long trees;

    /** The largest timestamp that a commit of the context has decided. */
    private long decided;

    private boolean isInside() {
      return (int) INSIDE.getVolatile(this) != 0;
    }
  }

  private final CommitSlot[] commitSlots;
  private final ReentrantLock pointLock = new ReentrantLock();
  private volatile boolean closed;

  private volatile long pointCounter;

  private volatile long drops;

  /** For each bit, the last drop of a table with that bit. */
  private final long[] droppedAt = new long[64];

  private long lastExchange;

  CommitGate(int contexts) {
    commitSlots = new CommitSlot[contexts];
    for (int i = 0; i < contexts; i++) {
      commitSlots[i] = new CommitSlot();
    }
  }

  CommitSlot slotOf(int context) {
    return commitSlots[context];
  }

  /**
   * Returns a number that is incremented before and after the work at a quiescent point, and so is
   * odd during it. Acquire.
   */
  long pointCounter() {
    return pointCounter;
  }

  /** Returns {@link #pointCounter} at the last swap of trees; for callers that saw it change. */
  long lastExchange() {
    return lastExchange;
  }

  /** Announces the trees that a commit will change, as bits of {@link ScanTimestamps}. */
  void changes(CommitSlot commitSlot, long trees) {
    CommitSlot.TREES.setOpaque(commitSlot, trees); // before inside: see awaitOthers
  }

  /** Enters, before the decision and with all locks held. May wait for a millisecond. */
  void enter(CommitSlot commitSlot) {
    for (int attempt = 0; ; attempt++) {
      CommitSlot.INSIDE.setVolatile(
          commitSlot, 1); // partner: isInside in tryQuiescentPoint and in awaitOthers
      if (!closed) {
        return;
      }
      leaveGate(commitSlot);
      Waits.spin(attempt);
    }
  }

  /** Enters as the thread that closed the gate, within {@link #atQuiescentPoint}. */
  void enterAtQuiescentPoint(CommitSlot commitSlot) {
    CommitSlot.INSIDE.setVolatile(commitSlot, 1); // partner: isInside in awaitOthers
  }

  /**
   * Records a commit's timestamp, before its first change. A thread that reads a change has
   * acquired the leaf's version, released after this.
   */
  void decided(CommitSlot commitSlot, long timestamp) {
    if (timestamp > commitSlot.decided) {
      CommitSlot.DECIDED.setOpaque(commitSlot, timestamp);
    }
  }

  /** Leaves: all changes are installed and published, or there are none. */
  void leaveGate(CommitSlot commitSlot) {
    CommitSlot.INSIDE.setRelease(commitSlot, 0);
  }

  /** Returns the largest timestamp of all commits that the caller may have read. */
  long decided() {
    long max = 0;
    for (CommitSlot commitSlot : commitSlots) {
      max = Math.max(max, (long) CommitSlot.DECIDED.getOpaque(commitSlot));
    }
    return max;
  }

  /**
   * Waits a little for each commit inside that changes one of the trees; returns whether all have
   * ended. The caller is not inside. The {@code trees} value read is at least as new as {@code
   * inside}: if it belongs to a later commit, the commit that was seen inside has ended, and its
   * changes are visible.
   */
  boolean awaitOthers(long trees, int spins) {
    for (CommitSlot commitSlot : commitSlots) {
      for (int attempt = 0; commitSlot.isInside(); attempt++) {
        if (((long) CommitSlot.TREES.getAcquire(commitSlot) & trees) == 0) {
          break;
        }
        if (attempt >= spins) {
          return false;
        }
        Thread.onSpinWait();
      }
    }
    return true;
  }

  /**
   * Records drops of tables with these bits, {@code 1L << (id & 63)}, under the schema lock. Later
   * users learn of a drop from the tables.
   */
  void dropping(long bits) {
    long next = drops + 1;
    for (long rest = bits; rest != 0; rest &= rest - 1) {
      droppedAt[Long.numberOfTrailingZeros(rest)] = next;
    }
    drops = next; // a transaction that begins with this number never used them
  }

  long drops() {
    return drops;
  }

  /**
   * Returns whether a table with these bits was dropped since {@link #drops} was {@code since}.
   * Plain loads: the caller has seen {@link #pointCounter} of a later point or holds the schema
   * lock; otherwise the transaction does not depend on the drop.
   */
  boolean isDropped(long bits, long since) {
    for (long rest = bits; rest != 0; rest &= rest - 1) {
      if (droppedAt[Long.numberOfTrailingZeros(rest)] > since) {
        return true;
      }
    }
    return false;
  }

  void atQuiescentPoint(Runnable work, long timeoutNanos, Runnable alive) {
    atQuiescentPoint(false, work, timeoutNanos, alive);
  }

  /**
   * Runs the work, which must be short and must not wait, at a quiescent point.
   *
   * @param exchanges whether it swaps trees
   * @param alive throws if the engine has stopped, because a commit inside may then never end
   * @throws TransactionAbortedException with cause {@link AbortCause#ADMISSION} after the timeout
   */
  void atQuiescentPoint(boolean exchanges, Runnable work, long timeoutNanos, Runnable alive) {
    long began = System.nanoTime();
    pointLock.lock();
    try {
      while (!tryQuiescentPoint(exchanges, work)) {
        OperationInterruptedException.check("wait for a quiescent point");
        alive.run();
        if (System.nanoTime() - began > timeoutNanos) {
          throw new TransactionAbortedException(
              AbortCause.ADMISSION,
              "There was no quiescent point for a snapshot or catalog change within "
                  + timeoutNanos / 1_000_000
                  + " ms, because a commit that is being installed did not end.");
        }
        Waits.sleep(OPEN_NANOS);
      }
    } finally {
      closed = false;
      pointLock.unlock();
    }
  }

  private boolean tryQuiescentPoint(boolean exchanges, Runnable work) {
    closed = true; // partner: the check in enter
    long began = System.nanoTime();
    for (CommitSlot commitSlot : commitSlots) {
      for (int attempt = 0; commitSlot.isInside(); attempt++) {
        if (System.nanoTime() - began > CLOSED_NANOS) {
          closed = false;
          return false;
        }
        Waits.spin(attempt);
      }
    }
    long now = pointCounter + 1;
    if (exchanges) {
      lastExchange = now; // before pointCounter: a thread that sees it sees this
    }
    pointCounter = now;
    try {
      work.run();
    } finally {
      pointCounter = now + 1;
    }
    return true;
  }
}
