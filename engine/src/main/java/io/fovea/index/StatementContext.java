package io.fovea.index;

import io.fovea.btree.Position;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.AsymmetricFence;
import io.fovea.memory.Blocks;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.InstantSource;
import java.util.IdentityHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the API lends to one active transaction: scratch memory, and the two words by which the
 * close of the database and the transaction's thread agree who may touch the engine. Slots live as
 * long as their database; a transaction claims one when it begins and releases it at its end.
 *
 * <pre>
 *   owner's thread                      closing thread
 *     operations := odd        (F1)       refused := true               (R1)
 *     light fence                         heavy fence
 *     operations is odd?       (F2)       wait until operations is even (R2)
 *     refused? yes: even, throw (F3)      flush, give memory back
 *     ... the operation ...
 *     operations := even
 * </pre>
 *
 * <b>The pair.</b> The forbidden outcome is that the owner misses {@code refused} and the closing
 * thread misses the odd number. {@link AsymmetricFence} forbids it: it says what F2 is for, and why
 * an operation pays for no fence of the processor.
 *
 * <p>The number is odd in an operation and even outside, whatever came before: an error of the JVM
 * may have cut an operation off before its end (a stack that is full at a call), and must not turn
 * all that come later into their opposite. The end of the transaction ends such an operation.
 *
 * <p>Belongs to the thread whose transaction has it, but for those two words.
 */
public final class StatementContext {
  private static final VarHandle CLAIMED;
  private static final VarHandle OPERATIONS;
  private static final VarHandle REFUSED;
  private static final int STAGE_BYTES = 4096;
  private static final int KEEP_BYTES = 1 << 20;
  private static final int SPARE_BYTES = 64 << 10;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      CLAIMED = lookup.findVarHandle(StatementContext.class, "claimed", boolean.class);
      OPERATIONS = lookup.findVarHandle(StatementContext.class, "operations", long.class);
      REFUSED = lookup.findVarHandle(StatementContext.class, "refused", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unused") // through CLAIMED
  private volatile boolean claimed;

  private long operations;
  private boolean refused;

  /**
   * The number of the thread that has it, or 0. A number for the reason that {@code TxLife} has.
   */
  private long owner;

  /** Why the transaction must not commit any more, if it must not. */
  private @Nullable Throwable broken;

  private final Blocks memory;
  private MemorySegment keyStage = Blocks.NONE;
  private MemorySegment valueStage = Blocks.NONE;
  private MemorySegment record = Blocks.NONE;
  private MemorySegment entries = Blocks.NONE;

  /** Where the entry of a lookup was found. */
  public final Position entry = new Position();

  /** The hint of an entry as it was found, and where its record is. */
  final Position hinted = new Position();

  final Position there = new Position();

  /** Room for a hint as it is stored. */
  final MemorySegment hint;

  /** The length of what {@link IndexMaintenance#readApart} has read last. */
  int lengthApart;

  private final int[][] lengths = {new int[4], new int[4]};

  /** The transaction whose {@link #moment} is known, and what that is. */
  private @Nullable Tx momentOf;

  private long momentEpoch;
  private long momentMillis;
  private final MemorySegment[] spare = new MemorySegment[8];
  private int spares;

  /** Which of the database's slots it is, and how many there are; of a private one, -1 and 0. */
  final int number;

  final int count;

  /** Of a private one what {@link SlotLocal} keeps for it: it goes with the slot. */
  private final Map<Object, Object> kept = new IdentityHashMap<>();

  /** A private one, of no database: it does not outlive the work that it was made for. */
  public StatementContext() {
    this(-1, 0, Blocks.COLLECTED);
  }

  /**
   * One of a database's.
   *
   * @param number which
   * @param count how many there are
   * @param memory where its memory comes from
   */
  public StatementContext(int number, int count, Blocks memory) {
    this.number = number;
    this.count = count;
    this.memory = memory;
    hint = memory.take(16);
  }

  // ------------------------------------------------------------------------------------- lending

  /** Takes it for the calling thread if it is free. */
  public boolean claim() {
    if (claimed || !CLAIMED.compareAndSet(this, false, true)) {
      return false;
    }
    owner = Thread.currentThread().threadId();
    return true;
  }

  /** Gives it back at the end of a transaction, within its last operation. */
  public void release() {
    assert isLent() : "the slot is released twice";
    try {
      ended();
    } finally {
      owner = 0;
      if (broken != null) {
        broken = null;
      }
      exit();
      CLAIMED.setRelease(this, false);
    }
  }

  /** Whether a transaction of the calling thread has it. */
  public boolean isMine() {
    return claimed && owner == Thread.currentThread().threadId();
  }

  /** Whether some transaction has it; for assertions. A private one belongs to who made it. */
  private boolean isLent() {
    return claimed || count == 0;
  }

  // ------------------------------------------------------------------- operations and their end

  /** Begins an operation; false if the database refuses it. */
  public boolean enter() {
    assert isLent() : "the slot has been released";
    OPERATIONS.setOpaque(this, operations + 1 | 1);
    AsymmetricFence.light(); // partner: the heavy one in Closing.quiesce
    if (busy() && !(boolean) REFUSED.getOpaque(this)) { // busy is F2: true
      return true;
    }
    exit();
    return false;
  }

  /** Ends an operation. What it did to memory is visible to who sees that it has ended. */
  public void exit() {
    OPERATIONS.setRelease(this, operations + 1 & ~1L);
  }

  /** Refuses what comes; for the closing thread. */
  public void refuse() {
    REFUSED.setVolatile(this, true);
  }

  /** Whether an operation is under way; for the closing thread, behind a heavy fence. */
  public boolean busy() {
    return ((long) OPERATIONS.getAcquire(this) & 1) != 0;
  }

  /**
   * An operation was aborted, or a statement failed when a part of it was done: whatever the
   * program does with the exception, the transaction does not commit any more.
   */
  public void markRollbackOnly(Throwable cause) {
    if (broken == null
        || cause instanceof TransactionAbortedException
            && !(broken instanceof TransactionAbortedException)) {
      broken = cause;
    }
  }

  /**
   * What broke it down: the first abort, or the first failure where there was no abort; or null. An
   * abort comes before a failure, for it says whether the work may be done again.
   */
  public @Nullable Throwable broken() {
    return broken;
  }

  /**
   * The transaction's moment, in milliseconds since 1970, never negative: what the clock says when
   * this is called first. No transaction pays for it that does not ask: nothing is reset when one
   * begins or ends, for no two have the same context and epoch.
   */
  long moment(Tx t, InstantSource clock) {
    if (momentOf != t || momentEpoch != t.epoch()) {
      momentMillis = Math.max(0, clock.millis());
      momentEpoch = t.epoch();
      momentOf = t;
    }
    return momentMillis;
  }

  // -------------------------------------------------------------------------------------- scratch

  /** Room for a key. */
  public MemorySegment keyStage(long bytes) {
    if (keyStage.byteSize() < bytes) {
      keyStage = memory.exchange(keyStage, Math.max(bytes, 256));
    }
    return keyStage;
  }

  /** Room for a value, given back at the end of the transaction if it is large. */
  public MemorySegment valueStage(long bytes) {
    if (valueStage.byteSize() < Math.max(bytes, STAGE_BYTES)) {
      valueStage = memory.exchange(valueStage, Math.max(bytes, STAGE_BYTES));
    }
    return valueStage;
  }

  /** Room for the records before and after a change. */
  MemorySegment record(long bytes) {
    if (record.byteSize() < bytes) {
      record = memory.exchange(record, Math.max(bytes, STAGE_BYTES));
    }
    return record;
  }

  /** A statement has ended that needed room for a record of any size. */
  void shrinkRecord() {
    if (record.byteSize() > KEEP_BYTES) {
      MemorySegment large = record;
      record = Blocks.NONE;
      memory.give(large);
    }
  }

  /** Room for the keys of index entries. */
  public MemorySegment entries(long bytes) {
    if (entries.byteSize() < bytes) {
      entries = memory.exchange(entries, Math.max(bytes, STAGE_BYTES));
    }
    return entries;
  }

  /** Memory for a cursor, used again by later ones. */
  public MemorySegment take(long bytes) {
    for (int i = spares - 1; i >= 0; i--) {
      if (spare[i].byteSize() >= bytes) {
        MemorySegment found = spare[i];
        spare[i] = spare[--spares];
        assert Blocks.isPoisoned(found) : "memory was written after it had been given back";
        return found;
      }
    }
    return memory.take(Math.max(512, bytes));
  }

  /** What {@link SlotLocal}s keep here, by themselves. */
  Map<Object, Object> kept() {
    return kept;
  }

  /** Takes back what {@link #take} returned; what are too many, or too large, is not kept. */
  public void give(MemorySegment block) {
    assert isLent() && !isSpare(block) : "memory is given back twice, or too late";
    if (spares < spare.length && block.byteSize() <= SPARE_BYTES) {
      assert Blocks.poisoned(block);
      spare[spares++] = block;
    } else {
      memory.give(block);
    }
  }

  private boolean isSpare(MemorySegment block) {
    for (int i = 0; i < spares; i++) {
      if (spare[i].address() == block.address()) {
        return true;
      }
    }
    return false;
  }

  /** Room for the lengths of entries, before (0) and after (1). */
  int[] lengths(int which, int n) {
    int[] room = lengths[which];
    if (room.length < n) {
      room = new int[n];
      lengths[which] = room;
    }
    return room;
  }

  /** The transaction has ended: what it used too much of goes. */
  private void ended() {
    if (valueStage.byteSize() > KEEP_BYTES) {
      MemorySegment large = valueStage;
      valueStage = Blocks.NONE;
      memory.give(large);
    }
  }
}
