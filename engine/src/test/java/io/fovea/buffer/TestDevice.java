package io.fovea.buffer;

import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import io.fovea.io.IoStats;
import io.fovea.io.MemoryDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongPredicate;

/**
 * A device in memory that counts calls, fails on demand, and detects what a pool must never do: two
 * writes of one range at a time, or a read while the range is being written.
 */
final class TestDevice implements BlockDevice {
  static final int EIO = 5;

  private final MemoryDevice memory;
  private final ConcurrentHashMap<Long, AtomicInteger> busy = new ConcurrentHashMap<>();
  final ConcurrentHashMap<Long, AtomicInteger> readsAt = new ConcurrentHashMap<>();
  final AtomicLong writes = new AtomicLong();
  final AtomicLong transfers = new AtomicLong();
  final AtomicInteger overlaps = new AtomicInteger();
  final AtomicInteger syncs = new AtomicInteger();

  /** The number of times that a thread waiting for a frame has checked others' reads. */
  final AtomicInteger looks = new AtomicInteger();

  volatile LongPredicate readFails = offset -> false;
  volatile LongPredicate writeFails = offset -> false;
  volatile Runnable beforeRead = () -> {};
  volatile Runnable beforeWrite = () -> {};
  volatile Runnable beforePunch = () -> {};
  volatile Runnable beforeResize = () -> {};
  volatile boolean punches = true;
  final AtomicLong punched = new AtomicLong();

  /** Blocks without space; a write to one before it is reserved is an error. */
  private final Set<Long> holes = ConcurrentHashMap.newKeySet();

  final AtomicInteger writesIntoHoles = new AtomicInteger();

  /** The number of blocks with space. */
  final AtomicLong space = new AtomicLong(Long.MAX_VALUE);

  volatile Consumer<IoBatch> beforeBatch = batch -> {};

  TestDevice() {
    this(Long.MAX_VALUE);
  }

  TestDevice(long maxBytes) {
    memory = new MemoryDevice("test", 4096, maxBytes);
  }

  private static final int WRITER = 1 << 16;

  private void enter(long offset, int len, boolean write) {
    for (long at = offset; at < offset + len; at += 4096) {
      AtomicInteger users = busy.computeIfAbsent(at, k -> new AtomicInteger());
      int before = users.getAndAdd(write ? WRITER : 1);
      if (write ? before != 0 : before >= WRITER) {
        overlaps.incrementAndGet();
      }
    }
  }

  private void exit(long offset, int len, boolean write) {
    for (long at = offset; at < offset + len; at += 4096) {
      busy.get(at).addAndGet(write ? -WRITER : -1);
    }
  }

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
    readsAt.computeIfAbsent(offset, k -> new AtomicInteger()).incrementAndGet();
    if (len > 4096) {
      memory.read(offset, seg, segOff, len); // an extent, whose reader detects torn pages
      return;
    }
    enter(offset, len, false);
    try {
      beforeRead.run();
      if (readFails.test(offset)) {
        throw new StorageException("read", "test", offset, EIO, "EIO");
      }
      memory.read(offset, seg, segOff, len);
    } finally {
      exit(offset, len, false);
    }
  }

  @Override
  public void write(long offset, MemorySegment seg, long segOff, int len) {
    enter(offset, len, true);
    try {
      beforeWrite.run();
      if (writeFails.test(offset)) {
        throw new StorageException("write", "test", offset, EIO, "EIO");
      }
      for (long at = offset; at < offset + len; at += 4096) {
        if (holes.contains(at)) {
          writesIntoHoles.incrementAndGet();
        }
      }
      memory.write(offset, seg, segOff, len);
      writes.addAndGet(len / 4096);
      transfers.incrementAndGet();
    } finally {
      exit(offset, len, true);
    }
  }

  @Override
  public void submit(IoBatch batch) {
    beforeBatch.accept(batch);
    batch.begin("test");
    for (int i = 0, n = batch.size(); i < n; i++) {
      int errno = 0;
      try {
        if (batch.op(i) == IoOp.WRITE) {
          write(batch.offset(i), batch.segment(i), batch.segmentOffset(i), batch.length(i));
        } else {
          read(batch.offset(i), batch.segment(i), batch.segmentOffset(i), batch.length(i));
        }
      } catch (StorageException e) {
        errno = e.errno();
      }
      batch.complete(i, errno);
    }
  }

  @Override
  public void reapReadRings() {
    looks.incrementAndGet();
  }

  @Override
  public void sync() {
    syncs.incrementAndGet();
  }

  @Override
  public void resize(long bytes) {
    beforeResize.run();
    if (bytes > memory.size() && space.get() == 0) {
      throw new StorageFullException("resize", "test", bytes, "no space");
    }
    memory.resize(bytes);
  }

  @Override
  public boolean punch(long offset, int len) {
    if (!punches) {
      return false;
    }
    enter(offset, len, true);
    try (Arena arena = Arena.ofConfined()) {
      beforePunch.run();
      memory.write(offset, arena.allocate(len), 0, len);
      punched.addAndGet(len / 4096);
      for (long at = offset; at < offset + len; at += 4096) {
        holes.add(at);
      }
    } finally {
      exit(offset, len, true);
    }
    return true;
  }

  /** Whether a block has no space. */
  boolean isHole(long offset) {
    return holes.contains(offset);
  }

  @Override
  public boolean reserve(long offset, int len) {
    for (long at = offset; at < offset + len; at += 4096) {
      if (holes.contains(at)) {
        if (space.get() == 0) {
          throw new StorageFullException("reserve", "test", offset + len, "no space");
        }
        space.decrementAndGet();
        holes.remove(at);
      }
    }
    return true;
  }

  @Override
  public String kind() {
    return "test";
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
