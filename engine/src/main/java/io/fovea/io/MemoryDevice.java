package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A device in native memory: the storage of in-memory databases, and the fastest one for tests and
 * benchmarks.
 *
 * <pre>
 *   directory:  [0] [1] [2]  ·  ·  [n]        an entry per MiB, null where nothing was written
 *                │   │       \______ zeros
 *                ▼   ▼
 *               1 MiB chunks of native memory, allocated when they are first written
 * </pre>
 *
 * <p>Memory is in chunks because the final size is not known. Readers and writers take no lock: a
 * chunk stays in place until the device is closed, and callers must prevent concurrent overlapping
 * operations. Growing replaces the directory under a lock; a chunk entered concurrently into the
 * old directory would be lost, so entering one takes the same lock.
 *
 * <p>A sync does nothing: memory is as durable as the process.
 *
 * @since 0.1.0
 */
public final class MemoryDevice extends AbstractBlockDevice {
  private static final int CHUNK_SHIFT = 20;
  private static final int CHUNK_BYTES = 1 << CHUNK_SHIFT;

  /** Held to allocate a chunk, to grow and to cut. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Arena arena = Arena.ofShared();
  private final long maxBytes;
  private volatile AtomicReferenceArray<MemorySegment> directory = new AtomicReferenceArray<>(64);
  private volatile long size;

  /** Creates an empty device that is limited only by memory. */
  public MemoryDevice() {
    this("memory", 4096, Long.MAX_VALUE);
  }

  /**
   * Creates an empty device.
   *
   * @param name its name in messages
   * @param blockSize the unit of transfers in bytes, a power of two of at most 1 MiB
   * @param maxBytes the capacity; a larger size fails like a full disk
   */
  public MemoryDevice(String name, int blockSize, long maxBytes) {
    super(name, blockSize);
    if (blockSize > CHUNK_BYTES) {
      throw new IllegalArgumentException("Block size " + blockSize + " is above 1 MiB.");
    }
    this.maxBytes = maxBytes;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public String kind() {
    return "memory";
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    AtomicReferenceArray<MemorySegment> chunks = directory;
    long end = Math.min(offset + len, size);
    int done = 0;
    while (done < len) {
      long at = offset + done;
      int inChunk = (int) at & CHUNK_BYTES - 1;
      int part = Math.min(len - done, CHUNK_BYTES - inChunk);
      long index = at >>> CHUNK_SHIFT;
      MemorySegment chunk = at < end && index < chunks.length() ? chunks.get((int) index) : null;
      if (chunk == null) {
        Mem.zero(seg, segOff + done, part);
      } else {
        MemorySegment.copy(chunk, inChunk, seg, segOff + done, part);
      }
      done += part;
    }
    return 0;
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    if (offset + len > maxBytes || (offset + len) >>> CHUNK_SHIFT >= Integer.MAX_VALUE - 64) {
      return Errno.ENOSPC;
    }
    int done = 0;
    while (done < len) {
      long at = offset + done;
      int inChunk = (int) at & CHUNK_BYTES - 1;
      int part = Math.min(len - done, CHUNK_BYTES - inChunk);
      MemorySegment chunk = chunk((int) (at >>> CHUNK_SHIFT));
      if (chunk == null) {
        return Errno.ENOSPC;
      }
      MemorySegment.copy(seg, segOff + done, chunk, inChunk, part);
      done += part;
    }
    if (offset + len > size) {
      growTo(offset + len);
    }
    return 0;
  }

  /** Returns a chunk, allocating it if it is missing; null if there is no memory. */
  private @Nullable MemorySegment chunk(int index) {
    AtomicReferenceArray<MemorySegment> chunks = directory;
    MemorySegment chunk = index < chunks.length() ? chunks.get(index) : null;
    if (chunk != null) {
      return chunk;
    }
    lock.lock();
    try {
      chunks = directory;
      if (index >= chunks.length()) {
        AtomicReferenceArray<MemorySegment> longer =
            new AtomicReferenceArray<>(Math.max(index + 1, chunks.length() + chunks.length() / 2));
        for (int i = 0; i < chunks.length(); i++) {
          longer.set(i, chunks.get(i));
        }
        directory = longer;
        chunks = longer;
      }
      chunk = chunks.get(index);
      if (chunk == null) {
        // Filled with zeros by the arena.
        chunk = arena.allocate(CHUNK_BYTES, 4096);
        chunks.set(index, chunk);
      }
      return chunk;
    } catch (OutOfMemoryError e) {
      return null;
    } finally {
      lock.unlock();
    }
  }

  private void growTo(long bytes) {
    lock.lock();
    try {
      size = Math.max(size, bytes);
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected int syncNow() {
    return 0;
  }

  /**
   * Changes the length. Growing allocates nothing. Bytes that are cut off are set to zero; their
   * chunks stay, since a reader may be using them, and are reused when the device grows.
   */
  @Override
  protected int resizeNow(long bytes) {
    if (bytes > maxBytes) {
      return Errno.ENOSPC;
    }
    lock.lock();
    try {
      long end = size;
      size = bytes;
      for (long at = bytes; at < end; ) {
        int inChunk = (int) at & CHUNK_BYTES - 1;
        long part = Math.min(end - at, CHUNK_BYTES - inChunk);
        int index = (int) (at >>> CHUNK_SHIFT);
        MemorySegment chunk = index < directory.length() ? directory.get(index) : null;
        if (chunk != null) {
          Mem.zero(chunk, inChunk, part);
        }
        at += part;
      }
      return 0;
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void closeNow() {
    directory = new AtomicReferenceArray<>(0);
    arena.close();
  }
}
