package io.fovea.btree;

import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoStats;
import io.fovea.io.MemoryDevice;
import java.lang.foreign.MemorySegment;
import java.util.function.LongPredicate;

/** A device in memory whose reads can be made to fail. */
final class FailingDevice implements BlockDevice {
  private static final int EIO = 5;

  private final MemoryDevice memory = new MemoryDevice();

  /** Asked with the offset. */
  volatile LongPredicate readFails = offset -> false;

  @Override
  public int blockSize() {
    return memory.blockSize();
  }

  @Override
  public long size() {
    return memory.size();
  }

  @Override
  public void read(long offset, MemorySegment seg, long segOff, int len) {
    if (readFails.test(offset)) {
      throw new StorageException("read", "test", offset, EIO, "EIO");
    }
    memory.read(offset, seg, segOff, len);
  }

  @Override
  public void write(long offset, MemorySegment seg, long segOff, int len) {
    memory.write(offset, seg, segOff, len);
  }

  @Override
  public void submit(IoBatch batch) {
    memory.submit(batch);
  }

  @Override
  public void sync() {
    memory.sync();
  }

  @Override
  public void resize(long bytes) {
    memory.resize(bytes);
  }

  @Override
  public String kind() {
    return memory.kind();
  }

  @Override
  public IoStats stats() {
    return memory.stats();
  }

  @Override
  public void close() {
    memory.close();
  }
}
