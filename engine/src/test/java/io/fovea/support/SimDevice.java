package io.fovea.support;

import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A handle on a file of a {@link SimDisk}: the device that tests pass to the engine. All
 * randomness, counts and faults are the disk's, since a crash or a full disk affects all files.
 */
public final class SimDevice extends AbstractBlockDevice {
  private final SimDisk disk;
  private final SimFile file;

  /** Creates a device on a new disk, for tests of one file. */
  public SimDevice(long seed) {
    this(new SimDisk(seed), "device");
  }

  private SimDevice(SimDisk disk, String name) {
    this(disk, disk.file(name), SimDisk.BLOCK);
  }

  SimDevice(SimDisk disk, SimFile file, int blockSize) {
    super(file.name, blockSize);
    this.disk = disk;
    this.file = file;
  }

  /** Returns the disk of this file. */
  public SimDisk disk() {
    return disk;
  }

  @Override
  public long size() {
    return disk.locked(file::size);
  }

  @Override
  public String kind() {
    return "simulated";
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    return disk.perform(IoOp.READ, () -> disk.read(file, offset, seg, segOff, len));
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    // Copies the bytes now, even if the write is delayed. A caller that changes them in the
    // meantime breaks the contract, and the copy makes the result repeatable.
    byte[] bytes = seg.asSlice(segOff, len).toArray(ValueLayout.JAVA_BYTE);
    return disk.perform(IoOp.WRITE, () -> disk.write(file, offset, bytes));
  }

  @Override
  protected int syncNow() {
    return disk.perform(IoOp.SYNC, () -> disk.sync(file));
  }

  @Override
  protected int resizeNow(long bytes) {
    return disk.perform(IoOp.RESIZE, () -> disk.resize(file, bytes));
  }

  @Override
  protected int punchNow(long offset, int len) {
    return disk.perform(IoOp.PUNCH, () -> disk.punch(file, offset, len));
  }

  @Override
  protected int reserveNow(long offset, int len) {
    return disk.perform(IoOp.RESERVE, () -> disk.reserve(file, offset, len));
  }

  @Override
  protected void closeNow() {
    // Closing a file neither loses data nor makes it durable.
  }

  @Override
  public boolean writesApart() {
    return disk.writesApart();
  }

  /** Runs an entry of a batch of one write and a sync; see {@link #writesApart}. */
  private int performApart(IoBatch batch, int i) {
    if (i == 0) {
      long from = batch.segmentOffset(0);
      byte[] bytes = batch.segment(0).asSlice(from, batch.length(0)).toArray(ValueLayout.JAVA_BYTE);
      return disk.perform(IoOp.WRITE, () -> disk.write(file, batch.offset(0), bytes, batch));
    }
    int verdict = batch.syncVerdict();
    return verdict != 0 ? verdict : disk.perform(IoOp.SYNC, () -> disk.sync(file, batch));
  }

  @Override
  public void submit(IoBatch batch) {
    accept(batch);
    if (batch.size() == 0) {
      return;
    }
    if (batch.size() == 2 && batch.endsWithSync() && batch.op(0) == IoOp.WRITE && writesApart()) {
      disk.start(
          () -> {
            finish(batch, 0, performApart(batch, 0));
            finish(batch, 1, performApart(batch, 1));
          });
      return;
    }
    boolean sync = batch.endsWithSync();
    int last = batch.size() - 1;
    int entries = sync ? last : batch.size();
    if (entries == 0) {
      disk.start(() -> finish(batch, 0, perform(batch, 0)));
      return;
    }
    Integer[] order = disk.order(entries);
    for (int i : order) {
      disk.start(
          () -> {
            if (finish(batch, i, perform(batch, i)) == 1 && sync) {
              finish(batch, last, perform(batch, last));
            }
          });
    }
  }
}
