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
 * Finds a moment at which no commit is between its decision and its last change: what the trees
 * hold then is what all transactions have left that have decided, and nothing else.
 *
 * <pre>
 *   a commit                                who wants a moment
 *     inside := 1                             closed := true
 *     closed? inside := 0, wait, again        every inside = 0?   else closed := false, later again
 *     decide, append, install, publish        moments + 1; work; moments + 1
 *     inside := 0                             closed := false
 * </pre>
 *
 * <p><b>No commit is inside at the moment.</b> The forbidden outcome is that a commit misses closed
 * and the other misses its inside. All four accesses are volatile, so they have one order, in which
 * one of the two loads comes behind both stores. A commit pays for it with one volatile store.
 *
 * <p><b>Alternatives considered.</b> {@link io.fovea.memory.AsymmetricFence}, as in {@code
 * StatementContext}: a commit would save one fence of about ten. Measured in alternating slices, a
 * commit with a release store takes between 0.97 and 1.00 of the time: within the noise of 3 %.
 *
 * <p><b>The moment cuts the serial order.</b> Let A be the transactions that have decided before it
 * and B those that decide later. A snapshot sees the changes of A. It is serializable if nothing of
 * B must come before something of A:
 *
 * <ul>
 *   <li>A does not read what B writes, and does not overwrite it: B changes nothing before the
 *       moment, and a lock of B's on an item is either taken after A has published, or A waits.
 *   <li>B does not read what A has overwritten. If B began after the moment, it finds A's changes
 *       published. If it began before, it revalidates: {@link ConcurrencyControl#decide} checks
 *       whether any of its reads was changed since, whatever its timestamp would allow. Otherwise,
 *       under TicToc and protocols that number transactions at their begin, it might commit in the
 *       past, before a part of A. The other protocols cannot.
 * </ul>
 *
 * <p>A transaction that only reads does not pass through the gate. It is in B if it saw a new
 * number of {@link #moments} when it decided, or one of B's changes: their writer had seen that
 * number, so it sees it too. It is checked like the rest of B.
 *
 * <p><b>A commit that changes the catalog</b> makes a moment too, and decides in it: it is what
 * lies between A and B. It follows all of A, because it revalidates like B, and B follows it. So a
 * table that it drops is gone for all of B: a transaction that has used the table is aborted
 * ({@link #isGone}). The note about the table is written before the number of the moment, so a
 * transaction that the number puts into B finds the note.
 *
 * <p><b>Exchanged trees.</b> A load publishes a table's new tree at such a moment. What has read
 * the old one belongs to A. So a transaction that began before the moment and decides behind it
 * must not have read the old tree, which its read set does not show: it is aborted if it has read
 * anything ({@link ConcurrencyControl#decide}). One that decides before the moment has read nothing
 * of the new tree, for the number changes before the trees do; one that began behind the moment
 * nothing of the old one, for the number changes once more after them, and a transaction that
 * begins in between counts as having begun before. So the load lies at the moment, between A and B.
 *
 * <p>Commits wait at a closed gate for as long as it takes those inside to end, a millisecond at
 * most; then it is opened again, and closed once more a while later. A commit that stays inside for
 * long, because it waits for the disk, delays only threads that want a moment.
 */
final class CommitGate {
  /** How long the gate is closed in vain. */
  private static final long CLOSED_NANOS = 1_000_000;

  /** How long it is open then. */
  private static final long AGAIN_NANOS = 5_000_000;

  /** Of one context: whether a commit is inside. Its thread writes it some times a commit. */
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

    /** What the commit changes that is inside, as bits of {@link ScanMarks}. */
    private long trees;

    /** The largest timestamp that a commit of the context has decided. */
    private long decided;

    private boolean isInside() {
      return (int) INSIDE.getVolatile(this) != 0;
    }
  }

  private final CommitSlot[] passes;
  private final ReentrantLock wanting = new ReentrantLock();
  private volatile boolean closed;

  /** Even between moments; odd at one. */
  private volatile long moments;

  private volatile long drops;

  /** By bits of tables: the last drop of one of them. */
  private final long[] gone = new long[64];

  /** The number of the last moment at which trees were exchanged. */
  private long lastExchange;

  CommitGate(int contexts) {
    passes = new CommitSlot[contexts];
    for (int i = 0; i < contexts; i++) {
      passes[i] = new CommitSlot();
    }
  }

  /** The pass of a context. */
  CommitSlot pass(int context) {
    return passes[context];
  }

  /**
   * A number that moments change, odd while one lasts. Acquires: all that was done before the last
   * change is visible.
   */
  long moments() {
    return moments;
  }

  /** The number of the last moment at which trees were exchanged; for who has seen it change. */
  long lastExchange() {
    return lastExchange;
  }

  // --------------------------------------------------------------------------------------- commits

  /**
   * A commit is about to enter.
   *
   * @param trees what it changes, as bits of {@link ScanMarks}
   */
  void changes(CommitSlot commitSlot, long trees) {
    CommitSlot.TREES.setOpaque(commitSlot, trees); // before inside: see awaitOthers
  }

  /** A commit is about to decide. It has all its locks, and may wait here for a millisecond. */
  void enter(CommitSlot commitSlot) {
    for (int attempt = 0; ; attempt++) {
      CommitSlot.INSIDE.setVolatile(
          commitSlot, 1); // partner: isInside in tryMoment, and in awaitOthers
      if (!closed) {
        return;
      }
      passed(commitSlot);
      Waits.spin(attempt);
    }
  }

  /** Enters as the thread that closed the gate, within {@link #atQuiescentPoint}. */
  void enterAtMoment(CommitSlot commitSlot) {
    CommitSlot.INSIDE.setVolatile(commitSlot, 1); // partner: isInside in awaitOthers
  }

  /**
   * A commit has its timestamp, and has changed nothing yet. Who reads a change of it has read the
   * leaf's version after the commit has moved it, and so sees this.
   */
  void decided(CommitSlot commitSlot, long timestamp) {
    if (timestamp > commitSlot.decided) {
      CommitSlot.DECIDED.setOpaque(commitSlot, timestamp);
    }
  }

  /** All its changes are installed and published, or it makes none. */
  void passed(CommitSlot commitSlot) {
    CommitSlot.INSIDE.setRelease(commitSlot, 0);
  }

  // ----------------------------------------------------------------------------- scans by leaves

  /** The largest timestamp that any commit has decided of which the caller can have read. */
  long decided() {
    long most = 0;
    for (CommitSlot commitSlot : passes) {
      most = Math.max(most, (long) CommitSlot.DECIDED.getOpaque(commitSlot));
    }
    return most;
  }

  /**
   * Waits a little for each commit that is inside and changes some trees. The caller is not inside.
   *
   * <p>What is read of the trees is at least as new as what is read of inside. So if they are those
   * of a later commit, the one that was seen inside has ended, and its changes are visible.
   *
   * @return whether each of them has ended, or was not there
   */
  boolean awaitOthers(long trees, int spins) {
    for (CommitSlot commitSlot : passes) {
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

  // ------------------------------------------------------------------------------ tables dropped

  /**
   * Notes that tables are not to be used any more, which who uses them from now on is told by them.
   * Under the lock of the schema.
   *
   * @param bits of the tables, {@code 1L << (id & 63)}
   */
  void dropping(long bits) {
    long next = drops + 1;
    for (long rest = bits; rest != 0; rest &= rest - 1) {
      gone[Long.numberOfTrailingZeros(rest)] = next;
    }
    drops = next; // who has begun with this number has not used them
  }

  /** How many drops there were: what a transaction remembers that begins. */
  long drops() {
    return drops;
  }

  /**
   * Whether one of these tables, or of others with the same bits, was dropped since.
   *
   * <p>Plain loads: who asks has seen the number of a moment that came later, or has the lock of
   * the schema, or else asks for what it need not know.
   *
   * @param since {@link #drops} when the transaction began
   */
  boolean isGone(long bits, long since) {
    for (long rest = bits; rest != 0; rest &= rest - 1) {
      if (gone[Long.numberOfTrailingZeros(rest)] > since) {
        return true;
      }
    }
    return false;
  }

  // --------------------------------------------------------------------------------------- moments

  /** The same where nothing is exchanged. */
  void atQuiescentPoint(Runnable work, long timeoutNanos, Runnable alive) {
    atQuiescentPoint(false, work, timeoutNanos, alive);
  }

  /**
   * Does something at a moment at which no commit is inside.
   *
   * @param exchanges whether it exchanges trees
   * @param work is quick, and waits for nobody
   * @param timeoutNanos how long a moment is waited for
   * @param alive throws where a commit may never end, for the engine has stopped
   * @throws TransactionAbortedException with cause {@link AbortCause#ADMISSION} if there is none in
   *     time: a commit waits for the disk
   */
  void atQuiescentPoint(boolean exchanges, Runnable work, long timeoutNanos, Runnable alive) {
    long began = System.nanoTime();
    wanting.lock();
    try {
      while (!tryMoment(exchanges, work)) {
        OperationInterruptedException.check("wait for a moment between commits");
        alive.run();
        if (System.nanoTime() - began > timeoutNanos) {
          throw new TransactionAbortedException(
              AbortCause.ADMISSION,
              "A commit that is being installed did not end within "
                  + timeoutNanos / 1_000_000
                  + " ms, so there was no moment for a snapshot or a change of the catalog.");
        }
        Waits.sleep(AGAIN_NANOS);
      }
    } finally {
      closed = false;
      wanting.unlock();
    }
  }

  /** Closes the gate and waits a little for those inside. */
  private boolean tryMoment(boolean exchanges, Runnable work) {
    closed = true; // partner: the look in enter
    long began = System.nanoTime();
    for (CommitSlot commitSlot : passes) {
      for (int attempt = 0; commitSlot.isInside(); attempt++) {
        if (System.nanoTime() - began > CLOSED_NANOS) {
          closed = false;
          return false;
        }
        Waits.spin(attempt);
      }
    }
    long now = moments + 1;
    if (exchanges) {
      lastExchange = now; // before the number: who sees that, sees this
    }
    moments = now;
    try {
      work.run();
    } finally {
      moments = now + 1;
    }
    return true;
  }
}
