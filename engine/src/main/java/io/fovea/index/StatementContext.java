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
 * Per-transaction state of the API: scratch memory, and the two words by which the thread of the
 * transaction and the close of the database exclude each other. A context lives as long as its
 * database. A transaction claims one when it begins and releases it when it ends.
 *
 * <pre>
 *   owner's thread                      closing thread
 *     operations := odd        (F1)       refused := true               (R1)
 *     light fence                         heavy fence
 *     operations is odd?       (F2)       wait until operations is even (R2)
 *     refused? yes: even, throw (F3)      flush, free memory
 *     ... the operation ...
 *     operations := even
 * </pre>
 *
 * <p><b>The pair.</b> In the forbidden outcome, the owner misses {@code refused} and the closing
 * thread misses the odd number. {@link AsymmetricFence} excludes it, and explains the purpose of F2
 * and why an operation needs no processor fence.
 *
 * <p>Each step sets the parity, whatever it was before: an error of the JVM, such as a stack
 * overflow, may interrupt an operation before its end, and must not invert the meaning for all
 * later operations. The end of the transaction ends such an operation.
 *
 * <p>Confined to the thread of the transaction, except for these two words.
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

  @SuppressWarnings("unused") // accessed through CLAIMED
  private volatile boolean claimed;

  private long operations;
  private boolean refused;

  /** The id of the owner's thread, or 0; {@code TxLife} explains why it is an id. */
  private long owner;

  /** The reason why the transaction can only roll back, or null. */
  private @Nullable Throwable broken;

  private final Blocks memory;
  private MemorySegment keyStage = Blocks.NONE;
  private MemorySegment valueStage = Blocks.NONE;
  private MemorySegment record = Blocks.NONE;
  private MemorySegment entries = Blocks.NONE;

  public final Position entry = new Position();

  /** The hint of an entry as found, and the location of its record. */
  final Position hinted = new Position();

  final Position position = new Position();

  final MemorySegment hint;

  /** The length of the last record that {@link IndexMaintenance#readApart} read. */
  int lengthApart;

  private final int[][] lengths = {new int[4], new int[4]};

  /** The transaction for which {@link #expiryTime} was read, and the result. */
  private @Nullable Tx expiryTimeOf;

  private long expiryTimeEpoch;
  private long expiryTimeMillis;
  private final MemorySegment[] spare = new MemorySegment[8];
  private int spares;

  /** The number of this context, and the count of contexts in the database; -1 and 0 if private. */
  final int number;

  final int count;

  /** The values of {@link SlotLocal}s in a private context. */
  private final Map<Object, Object> kept = new IdentityHashMap<>();

  /** Creates a private context, which belongs to no database. */
  public StatementContext() {
    this(-1, 0, Blocks.COLLECTED);
  }

  public StatementContext(int number, int count, Blocks memory) {
    this.number = number;
    this.count = count;
    this.memory = memory;
    hint = memory.take(16);
  }

  // ------------------------------------------------------------------------------------- lending

  public boolean claim() {
    if (claimed || !CLAIMED.compareAndSet(this, false, true)) {
      return false;
    }
    owner = Thread.currentThread().threadId();
    return true;
  }

  /** Releases the context, within the last operation of the transaction. */
  public void release() {
    assert isInUse() : "the context is released twice";
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

  /** Returns whether a transaction of the calling thread owns this context. */
  public boolean isOwnedByCurrentThread() {
    return claimed && owner == Thread.currentThread().threadId();
  }

  private boolean isInUse() {
    return claimed || count == 0;
  }

  // ------------------------------------------------------------------- operations and their end

  /** Begins an operation; returns false if the database refuses it. */
  public boolean enter() {
    assert isInUse() : "the context has been released";
    OPERATIONS.setOpaque(this, operations + 1 | 1);
    AsymmetricFence.light(); // partner: the heavy fence in Closing.quiesce
    if (busy() && !(boolean) REFUSED.getOpaque(this)) { // busy is F2: true
      return true;
    }
    exit();
    return false;
  }

  /**
   * Ends an operation. A thread that observes the end also sees the operation's writes to memory.
   */
  public void exit() {
    OPERATIONS.setRelease(this, operations + 1 & ~1L);
  }

  /** Refuses further operations. Called by the closing thread. */
  public void refuse() {
    REFUSED.setVolatile(this, true);
  }

  /**
   * Returns whether an operation is in progress. The closing thread calls it after a heavy fence.
   */
  public boolean busy() {
    return ((long) OPERATIONS.getAcquire(this) & 1) != 0;
  }

  /**
   * Marks the transaction rollback-only, whatever the program does with the exception: an operation
   * was aborted, or a statement failed partway.
   */
  public void markRollbackOnly(Throwable cause) {
    if (broken == null
        || cause instanceof TransactionAbortedException
            && !(broken instanceof TransactionAbortedException)) {
      broken = cause;
    }
  }

  /**
   * Returns the cause of {@link #markRollbackOnly}, or null: the first abort, or the first failure
   * if there was no abort. An abort takes precedence because it may be retried.
   */
  public @Nullable Throwable broken() {
    return broken;
  }

  /**
   * Returns the time of the transaction in milliseconds since 1970, never negative, as read at the
   * first call. Begin and end need not reset it, because no two transactions have the same {@code
   * Tx} and epoch.
   */
  long expiryTime(Tx t, InstantSource clock) {
    if (expiryTimeOf != t || expiryTimeEpoch != t.epoch()) {
      expiryTimeMillis = Math.max(0, clock.millis());
      expiryTimeEpoch = t.epoch();
      expiryTimeOf = t;
    }
    return expiryTimeMillis;
  }

  // -------------------------------------------------------------------------------------- scratch

  public MemorySegment keyStage(long bytes) {
    if (keyStage.byteSize() < bytes) {
      keyStage = memory.exchange(keyStage, Math.max(bytes, 256));
    }
    return keyStage;
  }

  /** Returns scratch memory for a value, freed at the end of the transaction if it is large. */
  public MemorySegment valueStage(long bytes) {
    if (valueStage.byteSize() < Math.max(bytes, STAGE_BYTES)) {
      valueStage = memory.exchange(valueStage, Math.max(bytes, STAGE_BYTES));
    }
    return valueStage;
  }

  MemorySegment record(long bytes) {
    if (record.byteSize() < bytes) {
      record = memory.exchange(record, Math.max(bytes, STAGE_BYTES));
    }
    return record;
  }

  /** Frees the scratch memory for records if it is large, at the end of a statement. */
  public void shrinkRecord() {
    if (record.byteSize() > KEEP_BYTES) {
      MemorySegment large = record;
      record = Blocks.NONE;
      memory.release(large);
    }
  }

  public MemorySegment entries(long bytes) {
    if (entries.byteSize() < bytes) {
      entries = memory.exchange(entries, Math.max(bytes, STAGE_BYTES));
    }
    return entries;
  }

  /** Returns memory for a cursor, reused by later ones. */
  public MemorySegment take(long bytes) {
    for (int i = spares - 1; i >= 0; i--) {
      if (spare[i].byteSize() >= bytes) {
        MemorySegment found = spare[i];
        spare[i] = spare[--spares];
        assert Blocks.isPoisoned(found) : "memory was written after its return";
        return found;
      }
    }
    return memory.take(Math.max(512, bytes));
  }

  Map<Object, Object> kept() {
    return kept;
  }

  /**
   * Returns a block that came from {@link #take}. The block is freed if it is large or if enough
   * blocks are kept.
   */
  public void releaseBlock(MemorySegment block) {
    assert isInUse() && !isSpare(block) : "memory is returned twice, or too late";
    if (spares < spare.length && block.byteSize() <= SPARE_BYTES) {
      assert Blocks.poisoned(block);
      spare[spares++] = block;
    } else {
      memory.release(block);
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

  /** Returns an array for the lengths of entries, before (0) and after (1). */
  int[] lengths(int which, int n) {
    int[] array = lengths[which];
    if (array.length < n) {
      array = new int[n];
      lengths[which] = array;
    }
    return array;
  }

  private void ended() {
    if (valueStage.byteSize() > KEEP_BYTES) {
      MemorySegment large = valueStage;
      valueStage = Blocks.NONE;
      memory.release(large);
    }
  }
}
