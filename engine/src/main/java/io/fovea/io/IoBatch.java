package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A number of reads and writes that a device does at once, and how each of them ended.
 *
 * <pre>
 *    filling ──submit──► under way ──last entry done──► done ──clear──► filling
 *    (owner)             (device)                       (owner)
 * </pre>
 *
 * <p>Entries have no order among each other, with one exception: a sync may be added last, and runs
 * when all others have succeeded (it fails with ECANCELED where one has not).
 *
 * <p>A batch is made once and used again and again: it holds its entries in arrays and allocates
 * nothing. It belongs to one thread while it is filled and read, and to the device while it is
 * under way.
 *
 * <p><b>Memory order.</b> A device writes the error of an entry and the bytes that it read, then
 * counts {@code pending} down (a sequential read-modify-write); the owner reads {@code pending} as
 * 0 (acquire) and then the errors and the bytes. The last to count down looks at {@code waiter}
 * after that, the owner looks at {@code pending} after it has set {@code waiter}; both pairs are
 * sequential, so that one of the two sees the other and no wake-up is lost.
 *
 * @since 0.1.0
 */
public final class IoBatch {
  private static final VarHandle PENDING;

  static {
    try {
      PENDING = MethodHandles.lookup().findVarHandle(IoBatch.class, "pending", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A moment's spinning before a platform thread parks; there is no use in it on one CPU. */
  private static final int SPINS = Runtime.getRuntime().availableProcessors() > 1 ? 64 : 0;

  /**
   * All memory, or null where the JVM denies it. Threads of a device reach the memory of an entry
   * through it, by {@link #address}: its bounds, its scope and its owner were checked when the
   * batch was submitted, and the segment stays in the batch, which keeps its memory from being
   * collected.
   */
  static final @Nullable MemorySegment EVERYTHING =
      Mem.isRaw() ? MemorySegment.NULL.reinterpret(Long.MAX_VALUE) : null;

  /**
   * Told of the end of each entry, before the entry counts as done, by the thread of the device
   * that has ended it: what must happen whether or not the owner ever looks again. It may take
   * latches that nobody holds for long, and waits for nothing else.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface Completion {
    /**
     * An entry has ended. May be called for several entries at once, by several threads.
     *
     * @param i the entry
     * @param errno 0 where it was done in full, or the number of the error
     */
    void ended(int i, int errno);
  }

  private final IoOp[] ops;
  private final long[] offsets;
  private final MemorySegment[] segments;
  private final long[] segmentOffsets;
  private final int[] lengths;
  private final int[] errors;

  /** How much of an entry is done already: for devices that see short transfers. */
  final int[] progress;

  /** Made by a device for one operation of its own: not counted and not gated a second time. */
  boolean internal;

  private final @Nullable Completion completion;
  private String deviceName = "";
  private int size;
  private boolean submitted;
  private volatile int pending;
  private volatile @Nullable Thread waiter;

  /**
   * Makes an empty batch.
   *
   * @param capacity how many entries it can hold, a sync included
   */
  public IoBatch(int capacity) {
    this(capacity, null);
  }

  /**
   * Makes an empty batch.
   *
   * @param capacity how many entries it can hold, a sync included
   * @param completion is told of the end of each entry; null for nobody
   */
  public IoBatch(int capacity, @Nullable Completion completion) {
    this.completion = completion;
    ops = new IoOp[capacity];
    offsets = new long[capacity];
    segments = new MemorySegment[capacity];
    segmentOffsets = new long[capacity];
    lengths = new int[capacity];
    errors = new int[capacity];
    progress = new int[capacity];
  }

  // ------------------------------------------------------------------------------------ filling

  /**
   * Adds a read.
   *
   * @param offset where on the device, in bytes
   * @param seg native memory
   * @param segOff where in the memory
   * @param len how many bytes
   * @return the number of the entry
   */
  public int read(long offset, MemorySegment seg, long segOff, int len) {
    return add(IoOp.READ, offset, seg, segOff, len);
  }

  /**
   * Adds a write.
   *
   * @param offset where on the device, in bytes
   * @param seg native memory
   * @param segOff where in the memory
   * @param len how many bytes
   * @return the number of the entry
   */
  public int write(long offset, MemorySegment seg, long segOff, int len) {
    return add(IoOp.WRITE, offset, seg, segOff, len);
  }

  /**
   * Adds a sync that runs when all other entries have succeeded. Nothing can be added after it.
   *
   * @return the number of the entry
   */
  public int sync() {
    return add(IoOp.SYNC, -1, MemorySegment.NULL, 0, 0);
  }

  /** Adds a change of length: for devices that hand their own work to another thread. */
  int resize(long bytes) {
    return add(IoOp.RESIZE, bytes, MemorySegment.NULL, 0, 0);
  }

  /** Gives the space of a range back: the same. */
  int punch(long offset, int len) {
    return add(IoOp.PUNCH, offset, MemorySegment.NULL, 0, len);
  }

  /** Sets space aside for a range: the same. */
  int reserve(long offset, int len) {
    return add(IoOp.RESERVE, offset, MemorySegment.NULL, 0, len);
  }

  private int add(IoOp op, long offset, MemorySegment seg, long segOff, int len) {
    if (submitted) {
      throw new IllegalStateException("The batch was submitted; clear it first.");
    }
    if (endsWithSync()) {
      throw new IllegalStateException("A sync is the last entry of a batch.");
    }
    if (size == ops.length) {
      throw new IllegalStateException("The batch is full: " + size + " entries.");
    }
    int i = size++;
    ops[i] = op;
    offsets[i] = offset;
    segments[i] = Objects.requireNonNull(seg);
    segmentOffsets[i] = segOff;
    lengths[i] = len;
    errors[i] = 0;
    progress[i] = 0;
    return i;
  }

  /** Empties the batch, so that it can be filled again. */
  public void clear() {
    if (pending != 0) {
      throw new IllegalStateException("The batch is under way; await its end first.");
    }
    for (int i = 0; i < size; i++) {
      segments[i] = MemorySegment.NULL;
    }
    size = 0;
    submitted = false;
  }

  // ------------------------------------------------------------------------------------ entries

  /** How many entries the batch can hold. */
  public int capacity() {
    return ops.length;
  }

  /** How many entries the batch has. */
  public int size() {
    return size;
  }

  /** Whether no entry can be added. */
  public boolean isFull() {
    return size == ops.length;
  }

  /** What entry i does. */
  public IoOp op(int i) {
    return ops[i];
  }

  /** Where on the device entry i begins, in bytes; -1 for a sync. */
  public long offset(int i) {
    return offsets[i];
  }

  /** The memory of entry i. */
  public MemorySegment segment(int i) {
    return segments[i];
  }

  /** Where in its memory entry i begins, in bytes. */
  public long segmentOffset(int i) {
    return segmentOffsets[i];
  }

  /**
   * The memory of entry i, for threads of a device: where there is no {@link #EVERYTHING} it must
   * be memory that every thread may use.
   */
  MemorySegment memory(int i) {
    MemorySegment all = EVERYTHING;
    return all == null ? segments[i] : all;
  }

  /** Where in {@link #memory} entry i begins. */
  long address(int i) {
    return EVERYTHING == null ? segmentOffsets[i] : segments[i].address() + segmentOffsets[i];
  }

  /** How many bytes entry i transfers. */
  public int length(int i) {
    return lengths[i];
  }

  /** Whether the last entry is a sync. */
  public boolean endsWithSync() {
    return size > 0 && ops[size - 1] == IoOp.SYNC;
  }

  // ------------------------------------------------------------------------------------ the end

  /** Whether all entries are done. */
  public boolean isDone() {
    return submitted && (int) PENDING.getAcquire(this) == 0;
  }

  /**
   * Waits until all entries are done. Only the batch's owner may wait. An interrupt does not end
   * the wait; the flag is set again afterwards.
   */
  public void await() {
    for (int i = 0; i < SPINS && pending != 0; i++) {
      Thread.onSpinWait();
    }
    if (pending == 0) {
      return;
    }
    boolean interrupted = false;
    waiter = Thread.currentThread();
    while (pending != 0) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    waiter = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * How entry i ended.
   *
   * @return 0 where it was done in full, or the number of the error
   */
  public int error(int i) {
    return errors[i];
  }

  /** Whether an entry failed. */
  public boolean failed() {
    for (int i = 0; i < size; i++) {
      if (errors[i] != 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * What {@link #throwIfFailed} would throw for one entry.
   *
   * @param i an entry that failed
   * @return an exception that says what failed where
   */
  public FoveaException exception(int i) {
    return IoErrors.exception(ops[i], deviceName, offsets[i], lengths[i], errors[i]);
  }

  /**
   * Throws for the first entry that failed.
   *
   * @throws io.fovea.error.StorageFullException where there was no space
   * @throws io.fovea.error.StorageException for every other error
   */
  public void throwIfFailed() {
    for (int i = 0; i < size; i++) {
      if (errors[i] != 0) {
        throw exception(i);
      }
    }
  }

  // ------------------------------------------------------------------------------- for devices

  /**
   * Takes the batch over. For devices, before they start its first entry.
   *
   * @param name the device, for messages
   * @throws IllegalStateException where it was submitted before
   */
  public void begin(String name) {
    if (submitted) {
      throw new IllegalStateException("The batch was submitted; clear it first.");
    }
    submitted = true;
    deviceName = name;
    pending = size;
  }

  /**
   * Ends one entry. For devices. After the last one the batch belongs to its owner again and must
   * not be touched any more.
   *
   * @param i the entry
   * @param errno 0, or why it failed
   * @return how many entries are left; where that is 1 and the batch ends with a sync that is not
   *     this entry, the sync is due now
   */
  public int complete(int i, int errno) {
    errors[i] = completion == null ? errno : told(completion, i, errno);
    int left = (int) PENDING.getAndAdd(this, -1) - 1;
    if (left == 0) {
      Thread thread = waiter;
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    }
    return left;
  }

  /** A device's thread survives whatever is thrown. */
  private static int told(Completion completion, int i, int errno) {
    try {
      completion.ended(i, errno);
      return errno;
    } catch (RuntimeException | Error e) {
      return errno != 0 ? errno : IoErrors.unexpected("the end of a transfer", e);
    }
  }

  /** For devices, when the sync at the end is due: ECANCELED where another entry failed, else 0. */
  public int syncVerdict() {
    for (int i = 0; i < size - 1; i++) {
      if (errors[i] != 0) {
        return Errno.ECANCELED;
      }
    }
    return 0;
  }
}
