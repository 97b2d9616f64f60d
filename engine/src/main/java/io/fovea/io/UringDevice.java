package io.fovea.io;

import io.fovea.bindings.Availability;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file on io_uring.
 *
 * <pre>
 *   platform thread ── single read, write ──► pread, pwrite     (or the ring: DeviceConfig.lonePread)
 *   virtual thread  ── single read, write ──► parks ──┐
 *   any thread      ── batch ─────────────────────────┴─► a poller's queue ──► its ring ──► kernel
 *   platform thread ── many reads ──► a ring that it has borrowed (ReadRing) ────────────► kernel
 * </pre>
 *
 * <p>The shared rings belong to pollers ({@link RingPoller}), threads of the device; a caller is
 * assigned to one of them by its thread id. A single transfer of a platform thread overlaps with
 * nothing, and two hand-overs between threads cost more than the system call they would save.
 *
 * <p>Unaligned memory is copied on a thread that may block. Such a thread also changes the length,
 * which the ring supports only on newer kernels.
 *
 * @since 0.1.0
 */
final class UringDevice extends AbstractBlockDevice {
  private final DeviceFile file;
  private final RingPoller[] pollers;
  private final Workers workers;
  private final boolean lonePread;
  private final RingPool ringPool;

  private UringDevice(
      DeviceConfig options, DeviceFile file, IoStats stats, Supplier<Availability> probe) {
    super(file.path().toString(), DeviceFile.BLOCK, stats);
    this.file = file;
    this.lonePread = options.lonePread();
    this.workers = new Workers(String.valueOf(file.path().getFileName()), options.workers());
    this.ringPool = new RingPool(this, file);
    this.pollers = new RingPoller[options.pollers()];
    for (int i = 0; i < pollers.length; i++) {
      pollers[i] =
          new RingPoller(this, file, probe, options.depth(), file.path().getFileName() + " " + i);
    }
  }

  /** A device, or the reason why there is none; the file then stays open. */
  record Attempt(@Nullable UringDevice device, Availability availability) {}

  static Attempt open(
      DeviceConfig options, DeviceFile file, IoStats stats, Supplier<Availability> probe) {
    UringDevice device = new UringDevice(options, file, stats, probe);
    Availability availability = new Availability.Unavailable("", 0);
    for (RingPoller poller : device.pollers) {
      availability = poller.start();
      if (!(availability instanceof Availability.Available)) {
        device.stop();
        return new Attempt(null, availability);
      }
    }
    return new Attempt(device, availability);
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public String kind() {
    return "uring" + (file.raw().direct() ? ", direct" : ", buffered");
  }

  // ---------------------------------------------------------------------------- single operations

  private RingPoller poller() {
    return pollers.length == 1
        ? pollers[0]
        : pollers[(int) Long.remainderUnsigned(Thread.currentThread().threadId(), pollers.length)];
  }

  private boolean mayBlock() {
    return lonePread && !Thread.currentThread().isVirtual();
  }

  private int byRing(IoBatch single) {
    single.internal = true;
    single.begin(name());
    poller().offer(single);
    single.await();
    return single.error(0);
  }

  /** Runs an operation on a thread that may block: this one, or a worker while this one parks. */
  private int byCall(IoBatch single) {
    if (!Thread.currentThread().isVirtual()) {
      return file.perform(single, 0);
    }
    return workers.perform(file, single, name());
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    if (mayBlock()) {
      return file.read(offset, seg, segOff, len);
    }
    IoBatch single = new IoBatch(1);
    single.read(offset, seg, segOff, len);
    return file.bounces(seg, segOff) ? byCall(single) : byRing(single);
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    if (mayBlock()) {
      return file.write(offset, seg, segOff, len);
    }
    IoBatch single = new IoBatch(1);
    single.write(offset, seg, segOff, len);
    return file.bounces(seg, segOff) ? byCall(single) : byRing(single);
  }

  @Override
  protected int syncNow() {
    if (mayBlock()) {
      return file.sync();
    }
    IoBatch single = new IoBatch(1);
    single.sync();
    return byRing(single);
  }

  @Override
  protected int resizeNow(long bytes) {
    IoBatch single = new IoBatch(1);
    single.resize(bytes);
    return byCall(single);
  }

  @Override
  protected int punchNow(long offset, int len) {
    IoBatch single = new IoBatch(1);
    single.punch(offset, len);
    return byCall(single);
  }

  @Override
  protected int reserveNow(long offset, int len) {
    IoBatch single = new IoBatch(1);
    single.reserve(offset, len);
    return byCall(single);
  }

  // --------------------------------------------------------------------------------------- batches

  @Override
  public void submit(IoBatch batch) {
    // Allocated before the batch is accepted.
    Copied copied = bounces(batch) ? new Copied(batch) : null;
    RingPoller poller = poller();
    accept(batch);
    if (batch.size() == 0) {
      return;
    }
    if (copied == null) {
      poller.offer(batch);
    } else if (!workers.tryExecute(copied)) {
      copied.run();
    }
  }

  /** A batch that needs copies: performed once, by the first thread that runs this. */
  private final class Copied implements Runnable {
    private final IoBatch batch;
    private final AtomicBoolean taken = new AtomicBoolean();

    Copied(IoBatch batch) {
      this.batch = batch;
    }

    @Override
    public void run() {
      if (taken.compareAndSet(false, true)) {
        inOrder(batch);
      }
    }
  }

  /** Performs a batch as {@link #submit} does; a batch of one is a single operation. */
  @Override
  public void run(IoBatch batch) {
    if (batch.size() == 1 && mayBlock()) {
      accept(batch);
      inOrder(batch);
    } else {
      submit(batch);
      batch.await();
    }
  }

  private boolean bounces(IoBatch batch) {
    for (int i = 0; i < batch.size(); i++) {
      if (batch.op(i) != IoOp.SYNC && file.bounces(batch.segment(i), batch.segmentOffset(i))) {
        return true;
      }
    }
    return false;
  }

  private void inOrder(IoBatch batch) {
    for (int i = 0, n = batch.size(); i < n; i++) {
      finish(batch, i, file.perform(batch, i));
    }
  }

  @Override
  public @Nullable ReadRing acquireReadRing(IoBatch.Completion completion) {
    return ringPool.acquire(completion);
  }

  @Override
  public void reapReadRings() {
    ringPool.endReads();
  }

  /** Ends an entry. For pollers; afterwards the batch may belong to its owner again. */
  int end(IoBatch batch, int i, int errno) {
    return batch.internal ? batch.complete(i, errno) : finish(batch, i, errno);
  }

  // ------------------------------------------------------------------------------------------- end

  private void stop() {
    for (RingPoller poller : pollers) {
      poller.close();
    }
    workers.close();
  }

  @Override
  protected void closeNow() {
    stop();
    ringPool.close();
    file.close();
  }
}
