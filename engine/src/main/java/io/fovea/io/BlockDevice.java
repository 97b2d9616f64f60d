package io.fovea.io;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A persistent range of bytes: the only interface between the engine and storage.
 *
 * <pre>
 *   callers ── read / write ──────────────────────────►┐
 *           ── submit(batch) ··· batch.await() ───────►│ device ──► file, ring, memory, simulation
 *           ── sync ──────────────────────────────────►│
 *           ◄─ done in full, or a typed exception ─────┘
 * </pre>
 *
 * <p><b>Rules.</b>
 *
 * <ul>
 *   <li>Offsets and lengths are multiples of {@link #blockSize}. Memory may have any alignment, but
 *       alignment to the block size saves a copy. Memory is native and must stay alive until the
 *       operation is done; that is not checked again.
 *   <li>A transfer is done in full or fails. Bytes beyond the end, and bytes never written, read as
 *       zeros.
 *   <li>A failed read leaves the memory undefined; a failed write leaves the bytes on the device
 *       undefined. Nothing else is affected.
 *   <li>Writes are durable after a {@link #sync} that began after they were done. Until then any of
 *       them may be lost, in any order, torn at 512 bytes. <b>A failed sync is final:</b> no later
 *       sync makes up for it.
 *   <li>Concurrent operations on overlapping ranges are unordered; callers must prevent them.
 *   <li>Interrupts do not end operations; the thread's flag is kept.
 * </ul>
 *
 * <p>Any thread, platform or virtual, may call the methods. An operation takes microseconds, so the
 * cost of an interface call does not matter.
 *
 * <p>Exceptions: {@link io.fovea.error.StorageFullException} if there is no space, {@link
 * io.fovea.error.StorageException} for every other failure, {@link
 * io.fovea.error.DatabaseClosedException} once {@link #close} was called, {@link
 * IllegalArgumentException} for ranges that break the rules.
 *
 * @since 0.1.0
 */
public interface BlockDevice extends AutoCloseable {
  /**
   * Returns the unit of transfers.
   *
   * @return bytes, a power of two
   */
  int blockSize();

  /** Returns the length of the device, in bytes. */
  long size();

  /**
   * Reads; returns when all bytes have arrived.
   *
   * @param offset the offset on the device, in bytes
   * @param seg native memory
   * @param segOff the offset in the memory
   * @param len the number of bytes
   */
  void read(long offset, MemorySegment seg, long segOff, int len);

  /**
   * Writes; returns when all bytes were accepted. The device grows if necessary.
   *
   * @param offset the offset on the device, in bytes
   * @param seg native memory
   * @param segOff the offset in the memory
   * @param len the number of bytes
   */
  void write(long offset, MemorySegment seg, long segOff, int len);

  /**
   * Starts all entries of a batch and may return before any of them is done. They run in no
   * particular order and concurrently if the device can, except for a sync at the end. Failures are
   * stored in the batch. Until {@link IoBatch#await} returns, batch and memory belong to the
   * device.
   *
   * <p>Blocks while the device has as many operations in progress as it can hold.
   *
   * <p><b>Exceptions.</b> If this throws, the batch was not accepted: no entry was started, no
   * completion will be called, and the memory is the caller's. Otherwise each entry ends exactly
   * once, whatever fails: the start of a thread, an allocation. So a caller may release the memory
   * of an entry if and only if this throws.
   *
   * @param batch what to do
   */
  void submit(IoBatch batch);

  /**
   * Performs all entries of a batch. Failures of entries are stored in the batch, not thrown. An
   * exception means that the batch was not accepted, as in {@link #submit}.
   *
   * @param batch what to do
   */
  default void run(IoBatch batch) {
    submit(batch);
    batch.await();
  }

  /**
   * Returns whether durable writes are independent: a batch of one write and a sync at its end, run
   * by {@link #run} on a platform thread, reports the outcome of these bytes and never consumes a
   * report meant for a concurrent batch of this kind. If not, a failed write may be reported to
   * another thread's sync, and a caller that needs to know must run one batch after the other.
   *
   * <p>The answer may change from true to false while the device is open.
   *
   * @return whether they are independent; false if not known
   * @since 0.1.0
   */
  default boolean writesApart() {
    return false;
  }

  /**
   * Gives the calling thread exclusive use of a ring for reads, until {@link
   * ReadRing#releaseBorrowed}.
   *
   * @param completion called at the end of each read, see {@link ReadRing}
   * @return null if none is available: the device has no rings, all are in use, the thread is
   *     virtual and must not wait in a system call, or the device is closed
   */
  default @Nullable ReadRing acquireReadRing(IoBatch.Completion completion) {
    return null;
  }

  /**
   * Ends finished reads in acquired rings that their users have yet to reap, for a thread that
   * waits for one of them and does not know whose it is. Does not wait.
   */
  default void reapReadRings() {}

  /**
   * Makes all writes before the call durable, with the metadata needed to find them.
   *
   * <p>Calls run one at a time, and after a failure all later calls fail on every thread. A sync at
   * the end of a batch is not included: it neither waits for these calls nor blocks them, and its
   * owner must make sure that no other sync consumed its error; see {@code io.fovea.wal.SlotFile}.
   */
  void sync();

  /**
   * Changes the length. Space is allocated if the file system can do so, so that later writes
   * within the length do not run out of space. Bytes that are cut off are lost, and read as zeros
   * when the device grows again.
   *
   * @param bytes the new length, a multiple of the block size
   */
  void resize(long bytes);

  /**
   * Releases the space of a range, if the device can: the range then reads as zeros, and the length
   * stays. As with a write, after a crash before a {@link #sync} each 512 bytes may contain the old
   * contents or zeros, and a concurrent read may return either.
   *
   * @param offset the offset on the device, in bytes
   * @param len the number of bytes
   * @return false if the device cannot; nothing has changed
   */
  default boolean punch(long offset, int len) {
    return false;
  }

  /**
   * Allocates space for a range that may have been {@linkplain #punch punched}, so that later
   * writes to it do not run out of space. Contents and length stay the same. A crash may undo it.
   *
   * @param offset the offset on the device, in bytes
   * @param len the number of bytes
   * @return false if the device cannot; nothing has changed
   * @throws io.fovea.error.StorageFullException if there is no space; some of it may have been
   *     allocated
   */
  default boolean reserve(long offset, int len) {
    return false;
  }

  /**
   * Returns a description of the kind of device.
   *
   * @return for example {@code "uring, direct"}
   */
  String kind();

  /** Returns counters of operations. */
  IoStats stats();

  /**
   * Waits for operations in progress and closes the device; later calls fail. Makes nothing
   * durable. Idempotent.
   */
  @Override
  void close();
}
