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
 * A set of reads and writes that a device performs together, and their results.
 *
 * <pre>
 *    filling ──submit──► in progress ──last entry done──► done ──clear──► filling
 *    (owner)             (device)                         (owner)
 * </pre>
 *
 * <p>Entries are unordered, with one exception: a sync may be added last, and runs once all others
 * have succeeded (it fails with ECANCELED if one has not).
 *
 * <p>A batch is created once and reused: it holds its entries in arrays and allocates nothing. It
 * belongs to one thread while it is filled and read, and to the device while it is in progress.
 *
 * <p><b>Memory order.</b> A device writes the error of an entry and the bytes that it read, then
 * decrements {@code pending} (a sequentially consistent read-modify-write); the owner reads {@code
 * pending} as 0 (acquire), then the errors and the bytes. The thread that decrements last then
 * reads {@code waiter}; the owner reads {@code pending} after it has set {@code waiter}. Both pairs
 * are sequentially consistent, so one of the two sees the other and no wake-up is lost.
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

  /** Spins before a platform thread parks; useless with one CPU. */
  private static final int SPINS = Runtime.getRuntime().availableProcessors() > 1 ? 64 : 0;

  /**
   * All memory, or null if the JVM denies it. A device's threads access the memory of an entry
   * through it, by {@link #address}: bounds, scope and owner were checked when the batch was
   * submitted, and the batch keeps the segment reachable.
   */
  static final @Nullable MemorySegment EVERYTHING =
      Mem.isRaw() ? MemorySegment.NULL.reinterpret(Long.MAX_VALUE) : null;

  /**
   * Called at the end of each entry, before the entry counts as done, on the device's thread that
   * ended it: for actions that must happen even if the owner never checks the batch again. It may
   * take latches that are held briefly, and must not wait for anything else.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface Completion {
    /**
     * Called when an entry has ended. May be called concurrently for several entries.
     *
     * @param i the entry
     * @param errno 0 if it was done in full, or the error number
     */
    void ended(int i, int errno);
  }

  private final IoOp[] ops;
  private final long[] offsets;
  private final MemorySegment[] segments;
  private final long[] segmentOffsets;
  private final int[] lengths;
  private final int[] errors;

  /** The number of bytes of each entry that are done: for devices with short transfers. */
  final int[] progress;

  /** Created by a device for a single operation: not counted and not gated a second time. */
  boolean internal;

  private final @Nullable Completion completion;
  private String deviceName = "";
  private int size;
  private boolean submitted;
  private volatile int pending;
  private volatile @Nullable Thread waiter;

  /**
   * Creates an empty batch.
   *
   * @param capacity the maximum number of entries, including a sync
   */
  public IoBatch(int capacity) {
    this(capacity, null);
  }

  /**
   * Creates an empty batch with a completion.
   *
   * @param capacity the maximum number of entries, including a sync
   * @param completion called at the end of each entry; null for none
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
   * @param offset the offset on the device, in bytes
   * @param seg native memory
   * @param segOff the offset in the memory
   * @param len the number of bytes
   * @return the number of the entry
   */
  public int read(long offset, MemorySegment seg, long segOff, int len) {
    return add(IoOp.READ, offset, seg, segOff, len);
  }

  /**
   * Adds a write.
   *
   * @param offset the offset on the device, in bytes
   * @param seg native memory
   * @param segOff the offset in the memory
   * @param len the number of bytes
   * @return the number of the entry
   */
  public int write(long offset, MemorySegment seg, long segOff, int len) {
    return add(IoOp.WRITE, offset, seg, segOff, len);
  }

  /**
   * Adds a sync that runs once all other entries have succeeded. Nothing can be added after it.
   *
   * @return the number of the entry
   */
  public int sync() {
    return add(IoOp.SYNC, -1, MemorySegment.NULL, 0, 0);
  }

  /** Adds a change of length: for devices that pass their own work to another thread. */
  int resize(long bytes) {
    return add(IoOp.RESIZE, bytes, MemorySegment.NULL, 0, 0);
  }

  /** Adds a release of space, for the same purpose. */
  int punch(long offset, int len) {
    return add(IoOp.PUNCH, offset, MemorySegment.NULL, 0, len);
  }

  /** Adds an allocation of space, for the same purpose. */
  int reserve(long offset, int len) {
    return add(IoOp.RESERVE, offset, MemorySegment.NULL, 0, len);
  }

  private int add(IoOp op, long offset, MemorySegment seg, long segOff, int len) {
    if (submitted) {
      throw new IllegalStateException("The batch was submitted; clear it first.");
    }
    if (endsWithSync()) {
      throw new IllegalStateException("Nothing can be added after the sync at the end of a batch.");
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

  /** Empties the batch for reuse. */
  public void clear() {
    if (pending != 0) {
      throw new IllegalStateException("The batch is in progress; await its end first.");
    }
    for (int i = 0; i < size; i++) {
      segments[i] = MemorySegment.NULL;
    }
    size = 0;
    submitted = false;
  }

  // ------------------------------------------------------------------------------------ entries

  /** Returns the number of entries. */
  public int size() {
    return size;
  }

  /** Returns whether no entry can be added. */
  public boolean isFull() {
    return size == ops.length;
  }

  /** Returns the operation of entry i. */
  public IoOp op(int i) {
    return ops[i];
  }

  /** Returns the device offset of entry i, in bytes; -1 for a sync. */
  public long offset(int i) {
    return offsets[i];
  }

  /** Returns the memory of entry i. */
  public MemorySegment segment(int i) {
    return segments[i];
  }

  /** Returns the offset of entry i in its memory, in bytes. */
  public long segmentOffset(int i) {
    return segmentOffsets[i];
  }

  /**
   * Returns the memory of entry i, for threads of a device. Without {@link #EVERYTHING} it must be
   * memory that every thread may use.
   */
  MemorySegment memory(int i) {
    MemorySegment all = EVERYTHING;
    return all == null ? segments[i] : all;
  }

  /** Returns the offset of entry i in {@link #memory}. */
  long address(int i) {
    return EVERYTHING == null ? segmentOffsets[i] : segments[i].address() + segmentOffsets[i];
  }

  /** Returns the number of bytes that entry i transfers. */
  public int length(int i) {
    return lengths[i];
  }

  /** Returns whether the last entry is a sync. */
  public boolean endsWithSync() {
    return size > 0 && ops[size - 1] == IoOp.SYNC;
  }

  // ------------------------------------------------------------------------------------ the end

  /** Returns whether all entries are done. */
  public boolean isDone() {
    return submitted && (int) PENDING.getAcquire(this) == 0;
  }

  /**
   * Waits until all entries are done. Only the batch's owner may wait. An interrupt does not end
   * the wait; the flag is kept.
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
   * Returns the result of entry i.
   *
   * @return 0 if it was done in full, or the error number
   */
  public int error(int i) {
    return errors[i];
  }

  /**
   * Returns the exception that {@link #throwIfFailed} would throw for an entry.
   *
   * @param i an entry that failed
   * @return an exception that says what failed and where
   */
  public FoveaException exception(int i) {
    return IoErrors.exception(ops[i], deviceName, offsets[i], lengths[i], errors[i]);
  }

  /**
   * Throws for the first entry that failed.
   *
   * @throws io.fovea.error.StorageFullException if there was no space
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
   * @throws IllegalStateException if it was already submitted
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
   * not be touched.
   *
   * @param i the entry
   * @param errno 0, or why it failed
   * @return the number of entries left; if it is 1 and the batch ends with a sync that is not this
   *     entry, the sync must run now
   */
  public int complete(int i, int errno) {
    errors[i] = completion == null ? errno : notify(completion, i, errno);
    int left = (int) PENDING.getAndAdd(this, -1) - 1;
    if (left == 0) {
      Thread thread = waiter;
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    }
    return left;
  }

  /** Calls a completion. The device's thread survives its exceptions. */
  private static int notify(Completion completion, int i, int errno) {
    try {
      completion.ended(i, errno);
      return errno;
    } catch (RuntimeException | Error e) {
      return errno != 0 ? errno : IoErrors.unexpected("the end of a transfer", e);
    }
  }

  /** For devices, before the sync at the end: returns ECANCELED if another entry failed, else 0. */
  public int syncVerdict() {
    for (int i = 0; i < size - 1; i++) {
      if (errors[i] != 0) {
        return Errno.ECANCELED;
      }
    }
    return 0;
  }
}
