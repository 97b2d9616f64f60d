package io.fovea.io;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A file with positioned reads and writes.
 *
 * <pre>
 *   platform thread ── read, write ──────────────► pread, pwrite      (one system call, no hand-over)
 *   virtual thread  ── read, write ──► parks       workers ──► pread, pwrite
 *   any thread      ── batch ──┬─────────────────► the caller, if it waits anyway; a write and a
 *                              │                   sync as one call (O_DSYNC) if they are all
 *                              └─► workers ──────► so that several entries run concurrently
 * </pre>
 *
 * <p>The engine's fallback without io_uring, and about as fast for a single read. Batches cost a
 * hand-over to threads; beyond about ten concurrent operations a ring is faster.
 *
 * @since 0.1.0
 */
final class PosixDevice extends AbstractBlockDevice {
  private final DeviceFile file;
  private final Workers workers;

  PosixDevice(DeviceConfig options, DeviceFile file, IoStats stats) {
    super(file.path().toString(), DeviceFile.BLOCK, stats);
    this.file = file;
    this.workers = new Workers(String.valueOf(file.path().getFileName()), options.workers());
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public String kind() {
    return (file.raw().fd() < 0 ? "java.io" : "posix")
        + (file.raw().direct() ? ", direct" : ", buffered");
  }

  private boolean mustNotBlock() {
    return Thread.currentThread().isVirtual();
  }

  /** Performs one operation on a thread of the device, while the caller parks. */
  private int handOver(IoBatch single) {
    return workers.perform(file, single, name());
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.read(offset, seg, segOff, len);
      return handOver(single);
    }
    return file.read(offset, seg, segOff, len);
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.write(offset, seg, segOff, len);
      return handOver(single);
    }
    return file.write(offset, seg, segOff, len);
  }

  @Override
  protected int syncNow() {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.sync();
      return handOver(single);
    }
    return file.sync();
  }

  @Override
  protected int resizeNow(long bytes) {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.resize(bytes);
      return handOver(single);
    }
    return file.resize(bytes);
  }

  @Override
  protected int punchNow(long offset, int len) {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.punch(offset, len);
      return handOver(single);
    }
    return file.punch(offset, len);
  }

  @Override
  protected int reserveNow(long offset, int len) {
    if (mustNotBlock()) {
      IoBatch single = new IoBatch(1);
      single.reserve(offset, len);
      return handOver(single);
    }
    return file.reserve(offset, len);
  }

  @Override
  public boolean writesApart() {
    return file.writesApart();
  }

  @Override
  public void submit(IoBatch batch) {
    Share share = new Share(batch); // allocated before the batch is accepted
    accept(batch);
    if (share.entries > 0 && !share.spread(Math.min(share.entries, workers.threads()))) {
      share.run();
    }
  }

  /**
   * Performs a batch as {@link #submit} does, with the waiting caller taking a share of the work.
   */
  @Override
  public void run(IoBatch batch) {
    if (mustNotBlock()) {
      super.run(batch);
      return;
    }
    Share share = new Share(batch);
    accept(batch);
    if (isDurableWrite(batch) && file.onlyDurably()) {
      int errno = writeDurably(batch);
      finish(batch, 0, errno);
      // After a failure the verdict ends the sync; after another write in between, the sync must
      // run.
      finish(batch, 1, errno == 0 && file.onlyDurably() ? 0 : file.perform(batch, 1));
    } else if (share.entries > 0) {
      share.spread(Math.min(share.entries - 1, workers.threads()));
      share.run();
      batch.await();
    }
  }

  private int writeDurably(IoBatch batch) {
    try {
      return file.writeDurably(batch.offset(0), batch.memory(0), batch.address(0), batch.length(0));
    } catch (Throwable t) {
      return IoErrors.unexpected(name(), t);
    }
  }

  /** Returns whether a batch is one write and a sync, as a log's groups are. */
  private boolean isDurableWrite(IoBatch batch) {
    return batch.size() == 2
        && batch.endsWithSync()
        && batch.op(0) == IoOp.WRITE
        && !file.bounces(batch.segment(0), batch.segmentOffset(0));
  }

  @Override
  protected void closeNow() {
    workers.close();
    file.close();
  }

  /**
   * The work of one batch: any thread that runs it takes entries until none is left. It has its own
   * counter, so a thread that starts late, when the batch belongs to its owner again, leaves it
   * alone.
   *
   * <p>Each entry ends exactly once: {@code next} gives its number to one thread. All end, since
   * the thread that accepted the batch runs this itself unless another thread is certain to.
   */
  private final class Share implements Runnable {
    private final IoBatch batch;
    private final boolean sync;

    /** All entries except a sync at the end; for a batch of a single sync, that one. */
    final int entries;

    private final AtomicInteger next = new AtomicInteger();

    Share(IoBatch batch) {
      this.batch = batch;
      this.sync = batch.endsWithSync() && batch.size() > 1;
      this.entries = batch.size() - (sync ? 1 : 0);
    }

    /**
     * Asks a number of threads to help; returns false if one could not be asked. Does not throw.
     */
    boolean spread(int times) {
      for (int i = 0; i < times; i++) {
        if (!workers.tryExecute(this)) {
          return false;
        }
      }
      return true;
    }

    @Override
    public void run() {
      for (int i = next.getAndIncrement(); i < entries; i = next.getAndIncrement()) {
        int left = finish(batch, i, file.perform(batch, i));
        if (left == 1 && sync) {
          finish(batch, entries, file.perform(batch, entries));
        }
      }
    }
  }
}
