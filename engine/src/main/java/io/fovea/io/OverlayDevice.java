package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A private copy of a device: reads pass through to it, writes stay in memory.
 *
 * <pre>
 *   block   0    1    2    3    4    5    6
 *   below   a    b    c    d    e    f    .     only ever read
 *   here    .    B    .    .    E    .    G     4 KiB each, allocated when they are written
 *   read    a    B    c    d    E    f    G
 * </pre>
 *
 * <p>So a database can be opened, recovered and inspected in full while nothing on disk changes. It
 * takes as much memory as is written, except for zeros.
 *
 * <p>The device below must not change. Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class OverlayDevice extends AbstractBlockDevice {
  private final @Nullable BlockDevice below;
  private final Arena arena = Arena.ofShared();
  private final ConcurrentHashMap<Long, MemorySegment> blocks = new ConcurrentHashMap<>();

  /** Shared by all blocks of zeros, which are frequent, so that they take no memory. */
  private final MemorySegment zeros;

  /** How much of the device below is visible: less than all after a cut. */
  private volatile long visible;

  private volatile long size;

  /**
   * Creates a copy.
   *
   * @param name its name in messages
   * @param below the original, which is closed with this one; null for an empty device
   * @param blockSize the unit of transfers if there is no original
   */
  public OverlayDevice(String name, @Nullable BlockDevice below, int blockSize) {
    super(name, below == null ? blockSize : below.blockSize());
    this.below = below;
    this.zeros = arena.allocate(blockSize(), Math.min(blockSize(), 4096));
    this.size = below == null ? 0 : below.size();
    this.visible = size + blockSize() - 1 & -blockSize(); // its last block may be incomplete
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public String kind() {
    return "copy in memory" + (below == null ? "" : " of " + below.kind());
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    int block = blockSize();
    long from = offset;
    long end = offset + len;
    while (from < end) {
      MemorySegment own = blocks.get(from / block);
      if (own != null) {
        MemorySegment.copy(own, 0, seg, segOff + (from - offset), block);
        from += block;
        continue;
      }
      long to = from + block;
      while (to < end && !blocks.containsKey(to / block)) {
        to += block;
      }
      long seen = Math.max(from, Math.min(to, visible));
      if (below != null && seen > from) {
        try {
          below.read(from, seg, segOff + (from - offset), (int) (seen - from));
        } catch (StorageException e) {
          return e.errno() == 0 ? Errno.EIO : e.errno();
        }
      }
      if (to > seen) {
        Mem.zero(seg, segOff + (seen - offset), to - seen);
      }
      from = to;
    }
    return 0;
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    int block = blockSize();
    try {
      for (int done = 0; done < len; done += block) {
        long n = (offset + done) / block;
        MemorySegment own = blocks.get(n);
        if (Mem.isZero(seg, segOff + done, block)) {
          blocks.put(n, zeros);
          continue;
        }
        if (own == null || own == zeros) {
          own = arena.allocate(block, Math.min(block, 4096));
          blocks.put(n, own);
        }
        MemorySegment.copy(seg, segOff + done, own, 0, block);
      }
    } catch (OutOfMemoryError e) {
      return Errno.ENOSPC;
    }
    grow(offset + len);
    return 0;
  }

  private synchronized void grow(long bytes) {
    size = Math.max(size, bytes);
  }

  @Override
  protected int syncNow() {
    return 0;
  }

  @Override
  protected synchronized int resizeNow(long bytes) {
    visible = Math.min(visible, bytes);
    if (bytes < size) {
      blocks.keySet().removeIf(n -> n * blockSize() >= bytes);
    }
    size = bytes;
    return 0;
  }

  @Override
  protected void closeNow() {
    blocks.clear();
    arena.close();
    if (below != null) {
      below.close();
    }
  }
}
