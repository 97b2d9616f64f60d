package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A piece of a file in memory that moves forward: large reads for who looks at small things.
 *
 * <p>The memory is that of {@link #CHUNK} bytes, or of the file where that is smaller, unless
 * something larger has to be seen in one piece; callers bound that by what the file really has.
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
   * One that reads no more ahead than it has memory.
   *
   * @param bytes how much it has at first, a multiple of the block
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
   * Makes a range visible; what was visible before may be gone.
   *
   * @param offset where in the file
   * @param len how many bytes
   * @param end where reading ahead ends, a multiple of the block; at least the end of the range
   * @return where in {@link #memory} the range begins
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
