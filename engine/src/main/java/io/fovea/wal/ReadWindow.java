package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A sliding window over a file, which turns small reads into large ones.
 *
 * <p>It has {@link #CHUNK} bytes of memory, or the size of a smaller file, unless a larger range
 * must be visible in one piece; callers bound that by the actual size of the file.
 */
final class ReadWindow implements AutoCloseable {
  static final int CHUNK = 4 << 20;

  private final BlockDevice device;
  private Arena arena = Arena.ofShared();
  private MemorySegment memory;
  private Checksum.Reusable sums;
  private long from;
  private long to;

  ReadWindow(BlockDevice device) {
    this(device, Math.clamp(device.size() + Group.BLOCK - 1 & -Group.BLOCK, Group.BLOCK, CHUNK));
  }

  /**
   * Creates a window that does not read ahead beyond its memory.
   *
   * @param bytes the initial memory, a multiple of the block size
   */
  ReadWindow(BlockDevice device, long bytes) {
    this.device = device;
    this.memory = arena.allocate(bytes, Group.BLOCK);
    this.sums = new Checksum.Reusable(memory);
  }

  MemorySegment memory() {
    return memory;
  }

  Checksum.Reusable sums() {
    return sums;
  }

  /**
   * Makes a range visible; the previous range may become invisible.
   *
   * @param offset the file offset
   * @param len the number of bytes
   * @param end where reading ahead ends, a multiple of the block size; at least the end of the
   *     range
   * @return the offset of the range in {@link #memory}
   */
  long at(long offset, long len, long end) {
    if (offset < from || offset + len > to) {
      load(offset, len, end);
    }
    return offset - from;
  }

  private void load(long offset, long len, long end) {
    long begin = offset & -Group.BLOCK;
    long needed = offset + len - begin + Group.BLOCK - 1 & -Group.BLOCK;
    from = 0;
    to = 0;
    if (needed > memory.byteSize()) {
      Arena larger = Arena.ofShared();
      memory = larger.allocate(needed, Group.BLOCK);
      sums = new Checksum.Reusable(memory);
      arena.close();
      arena = larger;
    }
    int bytes = (int) Math.min(memory.byteSize(), Math.max(needed, end - begin));
    device.read(begin, memory, 0, bytes);
    from = begin;
    to = begin + bytes;
  }

  @Override
  public void close() {
    arena.close();
  }
}
