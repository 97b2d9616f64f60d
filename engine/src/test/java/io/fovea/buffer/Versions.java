package io.fovea.buffer;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoStats;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/**
 * A data file that records which version of each page was written, and which of them a sync covers.
 * The version of a page is the first word of its body; all its sectors differ between versions.
 */
final class Versions implements BlockDevice {
  private final BlockDevice device;
  private final int pageSize;

  /** The newest version that was submitted to the device. */
  final Map<Long, Long> written = new HashMap<>();

  /** The newest version that a sync has made durable: no older one may be found later. */
  final Map<Long, Long> synced = new HashMap<>();

  Versions(BlockDevice device, int pageSize) {
    this.device = device;
    this.pageSize = pageSize;
  }

  /** Fills a page with a version. */
  static void fill(MemorySegment pages, long base, int pageSize, long version) {
    for (int at = PageHeader.BYTES; at < pageSize; at += 8) {
      Mem.putLong(pages, base + at, version);
    }
  }

  @Override
  public void submit(IoBatch batch) {
    for (int i = 0; i < batch.size(); i++) {
      for (int at = 0; at < batch.length(i); at += pageSize) {
        long page = batch.segmentOffset(i) + at;
        written.put(
            (batch.offset(i) + at) / pageSize,
            Mem.getLong(batch.segment(i), page + PageHeader.BYTES));
      }
    }
    device.submit(batch);
  }

  @Override
  public void sync() {
    Map<Long, Long> before = new HashMap<>(written);
    device.sync();
    synced.putAll(before);
  }

  @Override
  public int blockSize() {
    return device.blockSize();
  }

  @Override
  public long size() {
    return device.size();
  }

  @Override
  public void read(long offset, MemorySegment seg, long segOff, int len) {
    device.read(offset, seg, segOff, len);
  }

  @Override
  public void write(long offset, MemorySegment seg, long segOff, int len) {
    device.write(offset, seg, segOff, len);
  }

  @Override
  public void resize(long bytes) {
    device.resize(bytes);
  }

  @Override
  public String kind() {
    return device.kind();
  }

  @Override
  public IoStats stats() {
    return device.stats();
  }

  @Override
  public void close() {
    device.close();
  }
}
