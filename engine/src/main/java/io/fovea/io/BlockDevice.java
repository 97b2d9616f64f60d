package io.fovea.io;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A range of bytes that outlives the process, or pretends to: the only door between the engine and
 * storage.
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
 *   <li>Offsets and lengths are multiples of {@link #blockSize}. Memory may lie anywhere, but what
 *       is aligned to the block size saves a copy. Memory is native, and stays until the operation
 *       is done; that it does is not checked again.
 *   <li>A transfer is done in full or fails. What lies beyond the end, and what was never written,
 *       reads as zeros.
 *   <li>A failed read leaves the memory undefined; a failed write leaves the bytes on the device
 *       undefined. Neither touches anything else.
 *   <li>Writes are durable after a {@link #sync} that began after they were done. Until then any of
 *       them may be lost, in any order, torn at 512 bytes. <b>A failed sync is final:</b> no later
 *       one makes up for it.
 *   <li>Operations on overlapping ranges at the same time have no order; callers keep them apart.
 *   <li>Interrupts do not end operations; the thread's flag is kept.
 * </ul>
 *
 * <p>Any thread may call, platform or virtual. An operation costs microseconds, so that an
 * interface is fine here.
 *
 * <p>Exceptions: {@link io.fovea.error.StorageFullException} where there is no space, {@link
 * io.fovea.error.StorageException} for every other refusal, {@link
 * io.fovea.error.DatabaseClosedException} once {@link #close} was called, {@link
 * IllegalArgumentException} for ranges that break the rules.
 *
 * @since 0.1.0
 */
public interface BlockDevice extends AutoCloseable {
  /**
   * The unit of transfers.
   *
   * @return bytes, a power of two
   */
  int blockSize();

  /**
   * The length of the device.
   *
   * @return bytes
   */
  long size();

  /**
   * Reads; returns when all bytes are there.
   *
   * @param offset where on the device, in bytes
   * @param seg native memory
   * @param segOff where in the memory
   * @param len how many bytes
   */
  void read(long offset, MemorySegment seg, long segOff, int len);

  /**
   * Writes; returns when all bytes were taken. Past the end the device grows.
   *
   * @param offset where on the device, in bytes
   * @param seg native memory
   * @param segOff where in the memory
   * @param len how many bytes
   */
  void write(long offset, MemorySegment seg, long segOff, int len);

  /**
   * Starts all entries of a batch and may return before any of them is done. They run in no
   * particular order, many at a time where the device can, except for a sync at the batch's end.
   * Failures are found in the batch. Until {@link IoBatch#await} returned, batch and memory belong
   * to the device.
   *
   * <p>It blocks while more is under way than the device can hold.
   *
   * <p><b>Taken over, or not.</b> What is thrown here is thrown before the device has taken the
   * batch over: no entry has begun, none will be told of, and the memory is the caller's. From then
   * on nothing is thrown, and each entry ends exactly once, whatever fails: the start of a thread,
   * an allocation. So a caller may give back what an entry was to be read into when this throws,
   * and only then.
   *
   * @param batch what to do
   */
  void submit(IoBatch batch);

  /**
   * Does all entries of a batch. Failures of entries are found in the batch, not thrown. What is
   * thrown is thrown before the batch was taken over, as by {@link #submit}.
   *
   * @param batch what to do
   */
  default void run(IoBatch batch) {
    submit(batch);
    batch.await();
  }

  /**
   * Whether durable writes know nothing of each other: a batch of one write and a sync at its end,
   * by {@link #run} on a platform thread, reports what became of its own bytes, and takes no report
   * that is meant for another such batch, however many of them run at a time. Where that is not so,
   * a failed write is perhaps told to another thread's sync, and whoever needs to know runs one
   * batch after the other.
   *
   * <p>The answer may change from true to false while the device is open.
   *
   * @return whether it is so; false where nobody knows
   * @since 0.1.0
   */
  default boolean writesApart() {
    return false;
  }

  /**
   * Lends the calling thread a ring for reads, until {@link ReadRing#giveBack}.
   *
   * @param completion is told of the end of each read, see {@link ReadRing}
   * @return null where there is none to be had: the device has no rings, all are lent, the thread
   *     is a virtual one, which must not wait in a system call, or the device is closed
   */
  default @Nullable ReadRing lend(IoBatch.Completion completion) {
    return null;
  }

  /**
   * Ends reads in lent rings that are done and that nobody has looked at yet: for a thread that
   * waits for one of them and does not know whose it is. Waits for nobody.
   */
  default void endLent() {}

  /**
   * Makes durable what was written before the call, with as much metadata as finding it needs.
   *
   * <p>One at a time, and once one has failed all that follow fail, whoever calls. A sync at the
   * end of a batch is not one of them: it neither waits for them nor is waited for, and its owner
   * takes care that no other's success stands for what it was told; see {@code
   * io.fovea.wal.SlotFile}.
   */
  void sync();

  /**
   * Changes the length. Space is set aside where the file system can, so that later writes inside
   * do not run out of it. What is cut off is gone, and zeros when the device grows again.
   *
   * @param bytes the new length, a multiple of the block size
   */
  void resize(long bytes);

  /**
   * Gives the space of a range back, where the device can: the range reads as zeros then, and its
   * length stays. As with a write, what a crash leaves of that before a {@link #sync} is anything:
   * of each 512 bytes what they were, or zeros; so is what a read finds that is under way.
   *
   * @param offset where on the device, in bytes
   * @param len how many bytes
   * @return false if the device can't; nothing has changed
   */
  default boolean punch(long offset, int len) {
    return false;
  }

  /**
   * Sets space aside for a range that may have been {@linkplain #punch punched}, so that later
   * writes inside do not run out of it. What is read there stays what it was, and the length too.
   * What a crash leaves of it is a hole, or not.
   *
   * @param offset where on the device, in bytes
   * @param len how many bytes
   * @return false if the device can't; nothing has changed
   * @throws io.fovea.error.StorageFullException if there is no space; some of it may have been set
   *     aside
   */
  default boolean reserve(long offset, int len) {
    return false;
  }

  /**
   * What kind of device this is.
   *
   * @return for example {@code "uring, direct"}
   */
  String kind();

  /**
   * What was done so far.
   *
   * @return counters that go on counting
   */
  IoStats stats();

  /**
   * Waits for what is under way and closes; calls that come later fail. Makes nothing durable. A
   * second call does nothing.
   */
  @Override
  void close();
}
