package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.error.DatabaseClosedException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The common base of all devices: argument checks, the gate, the counters, and the conversion of
 * error numbers to exceptions.
 *
 * <p>A device implements the {@code ...Now} methods, which return 0 or an error number and are
 * called inside the gate. A device that can do more than one thing at a time also overrides {@link
 * #submit}, calling {@link #accept} at its start and {@link #finish} for every entry.
 *
 * @since 0.1.0
 */
public abstract class AbstractBlockDevice implements BlockDevice {
  private final String name;
  private final int blockSize;
  private final UseGate gate;
  private final IoStats stats;

  /** Held during a sync; no other lock is taken under it. */
  private final ReentrantLock syncing = new ReentrantLock();

  /** The error number of the first failed sync; 0 for none. Guarded by the lock. */
  private int syncFailure;

  /**
   * Creates the common part.
   *
   * @param name the path, or another name for messages
   * @param blockSize the unit of transfers in bytes, a power of two
   */
  protected AbstractBlockDevice(String name, int blockSize) {
    this(name, blockSize, new IoStats());
  }

  AbstractBlockDevice(String name, int blockSize, IoStats stats) {
    if (Integer.bitCount(blockSize) != 1) {
      throw new IllegalArgumentException(
          "The block size must be a power of two, not " + blockSize + ".");
    }
    this.name = name;
    this.blockSize = blockSize;
    this.gate = new UseGate(name);
    this.stats = stats;
  }

  // ------------------------------------------------------------------- implemented by subclasses

  /** Reads in full, with zeros beyond the end; returns 0 or an error number. */
  protected abstract int readNow(long offset, MemorySegment seg, long segOff, int len);

  /** Writes in full; returns 0 or an error number. */
  protected abstract int writeNow(long offset, MemorySegment seg, long segOff, int len);

  /** Makes previous writes durable; returns 0 or an error number. */
  protected abstract int syncNow();

  /** Changes the length; returns 0 or an error number. */
  protected abstract int resizeNow(long bytes);

  /** Releases the space of a range; returns 0 or an error number, EOPNOTSUPP if not supported. */
  protected int punchNow(long offset, int len) {
    return Errno.EOPNOTSUPP;
  }

  /** Allocates space for a range; returns 0 or an error number, EOPNOTSUPP if not supported. */
  protected int reserveNow(long offset, int len) {
    return Errno.EOPNOTSUPP;
  }

  /** Releases the device's resources. Called once, with no operation in progress. */
  protected abstract void closeNow();

  // -------------------------------------------------------------------------------- the interface

  @Override
  public final int blockSize() {
    return blockSize;
  }

  /** Returns the path, or another name for messages. */
  public final String name() {
    return name;
  }

  /** Returns {@link #name}. */
  @Override
  public String toString() {
    return name;
  }

  @Override
  public final IoStats stats() {
    return stats;
  }

  @Override
  public final void read(long offset, MemorySegment seg, long segOff, int len) {
    check(IoOp.READ, offset, seg, segOff, len);
    int errno;
    gate.enter();
    try {
      errno = readNow(offset, seg, segOff, len);
    } finally {
      gate.exit();
    }
    deliver(IoOp.READ, offset, len, errno);
  }

  @Override
  public final void write(long offset, MemorySegment seg, long segOff, int len) {
    check(IoOp.WRITE, offset, seg, segOff, len);
    int errno;
    gate.enter();
    try {
      errno = writeNow(offset, seg, segOff, len);
    } finally {
      gate.exit();
    }
    deliver(IoOp.WRITE, offset, len, errno);
  }

  @Override
  public final void sync() {
    int errno;
    gate.enter();
    try {
      errno = syncOnce();
    } finally {
      gate.exit();
    }
    deliver(IoOp.SYNC, -1, 0, errno);
  }

  /**
   * Syncs one call at a time, and never after a failure. A system reports a failed write only once,
   * to the first thread that syncs: of two concurrent syncs, one may succeed because the other
   * consumed the error.
   */
  private int syncOnce() {
    syncing.lock();
    try {
      if (syncFailure == 0) {
        syncFailure = syncNow();
      }
      return syncFailure;
    } catch (Throwable t) {
      syncFailure = IoErrors.unexpected(name, t); // the error may have been consumed
      throw t;
    } finally {
      syncing.unlock();
    }
  }

  @Override
  public final void resize(long bytes) {
    if (bytes < 0 || (bytes & blockSize - 1) != 0) {
      throw new IllegalArgumentException(
          "The size " + bytes + " is not a multiple of the block size " + blockSize + ".");
    }
    int errno;
    gate.enter();
    try {
      errno = resizeNow(bytes);
    } finally {
      gate.exit();
    }
    deliver(IoOp.RESIZE, bytes, 0, errno);
  }

  @Override
  public final boolean punch(long offset, int len) {
    checkRange(offset, len);
    int errno;
    gate.enter();
    try {
      errno = punchNow(offset, len);
    } finally {
      gate.exit();
    }
    return can(IoOp.PUNCH, offset, len, errno);
  }

  @Override
  public final boolean reserve(long offset, int len) {
    checkRange(offset, len);
    int errno;
    gate.enter();
    try {
      errno = reserveNow(offset, len);
    } finally {
      gate.exit();
    }
    return can(IoOp.RESERVE, offset, len, errno);
  }

  private boolean can(IoOp op, long offset, int len, int errno) {
    if (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS || errno == Errno.EROFS) {
      return false;
    }
    deliver(op, offset, len, errno);
    return true;
  }

  /** Performs the entries one after the other, on the calling thread. */
  @Override
  public void submit(IoBatch batch) {
    accept(batch);
    // The size is read before the last entry ends: after that the batch belongs to its owner.
    for (int i = 0, n = batch.size(); i < n; i++) {
      finish(batch, i, perform(batch, i));
    }
  }

  @Override
  public final void close() {
    if (gate.close()) {
      closeNow();
    }
  }

  // ----------------------------------------------------------------------------- for subclasses

  /**
   * Checks a batch, enters the gate for it and accepts it. An empty batch is done immediately.
   *
   * <p>If this throws, the batch stays with the caller. Afterwards the device throws nothing and
   * ends each entry: it must have all resources for that before it calls this, and if a thread
   * cannot be started, it performs the rest on the calling thread ({@link BlockDevice#submit}).
   *
   * @param batch what to do
   * @throws DatabaseClosedException if the device is closed
   * @throws IllegalArgumentException if an entry breaks the rules
   */
  protected final void accept(IoBatch batch) {
    for (int i = 0; i < batch.size(); i++) {
      if (batch.op(i) != IoOp.SYNC) {
        check(
            batch.op(i),
            batch.offset(i),
            batch.segment(i),
            batch.segmentOffset(i),
            batch.length(i));
      }
    }
    gate.enter();
    boolean begun = false;
    try {
      batch.begin(name);
      begun = true;
    } finally {
      if (!begun) {
        gate.exit();
      }
    }
    stats.recordBatch();
    if (batch.size() == 0) {
      gate.exit();
    }
  }

  /**
   * Ends an entry of an accepted batch, and leaves the gate after the last.
   *
   * @param batch the batch
   * @param i the entry
   * @param errno 0, or why it failed
   * @return the number of entries left, as in {@link IoBatch#complete}
   */
  protected final int finish(IoBatch batch, int i, int errno) {
    stats.record(batch.op(i), batch.length(i), errno);
    int left = batch.complete(i, errno);
    if (left == 0) {
      gate.exit();
    }
    return left;
  }

  /**
   * Performs one entry on the calling thread. A sync is performed only if all other entries have
   * succeeded, and must come after them.
   *
   * @param batch the batch
   * @param i the entry
   * @return 0 or an error number
   */
  protected final int perform(IoBatch batch, int i) {
    try {
      // This may be a thread of the device, which cannot access memory of a confined arena.
      long address = batch.address(i);
      return switch (batch.op(i)) {
        case READ -> readNow(batch.offset(i), batch.memory(i), address, batch.length(i));
        case WRITE -> writeNow(batch.offset(i), batch.memory(i), address, batch.length(i));
        case SYNC -> {
          int verdict = batch.syncVerdict();
          yield verdict != 0 ? verdict : syncNow();
        }
        case RESIZE -> resizeNow(batch.offset(i));
        case PUNCH -> punchNow(batch.offset(i), batch.length(i));
        case RESERVE -> reserveNow(batch.offset(i), batch.length(i));
      };
    } catch (Throwable t) {
      return unexpected(t);
    }
  }

  /**
   * Logs an unexpected exception and returns the error number for the entry.
   *
   * @param t the exception
   * @return an error number
   */
  protected final int unexpected(Throwable t) {
    return IoErrors.unexpected(name, t);
  }

  /**
   * Enters the gate without an operation.
   *
   * @return false if the device is closed; otherwise the caller must call {@link #leave}
   */
  final boolean tryEnter() {
    return gate.tryEnter();
  }

  /** Leaves the gate. */
  final void leave() {
    gate.exit();
  }

  private void deliver(IoOp op, long offset, int len, int errno) {
    stats.record(op, len, errno);
    if (errno != 0) {
      throw IoErrors.exception(op, name, offset, len, errno);
    }
  }

  private void checkRange(long offset, int len) {
    if (offset < 0 || len <= 0 || ((offset | len) & blockSize - 1) != 0) {
      throw new IllegalArgumentException(
          "Offset "
              + offset
              + " and length "
              + len
              + " must be multiples of the block size "
              + blockSize
              + ".");
    }
  }

  private void check(IoOp op, long offset, MemorySegment seg, long segOff, int len) {
    checkRange(offset, len);
    if (!seg.isNative()) {
      throw new IllegalArgumentException("Devices transfer native memory only.");
    }
    if (op == IoOp.READ && seg.isReadOnly()) {
      throw new IllegalArgumentException("The destination of a read must be writable memory.");
    }
    if (!seg.scope().isAlive() || !seg.isAccessibleBy(Thread.currentThread())) {
      throw new IllegalArgumentException("The memory was freed, or belongs to another thread.");
    }
    Objects.checkFromIndexSize(segOff, len, seg.byteSize());
  }
}
