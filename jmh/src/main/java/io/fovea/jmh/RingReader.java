package io.fovea.jmh;

import io.fovea.bindings.FileCalls;
import io.fovea.bindings.NativeException;
import io.fovea.bindings.Ring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Reads blocks of 4 KiB through a ring owned by the calling thread, with a slot per read in flight.
 */
final class RingReader implements AutoCloseable {
  private static final int BLOCK = 4096;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment memory;
  private final Ring ring;
  private final int fd;
  private final int target;
  private final boolean fixed;
  private final long[] slots;
  private final int[] results;

  /** Blocks of memory per slot, far apart if there are many. */
  private final int turns;

  private final int depth;
  private final SplittableRandom random = new SplittableRandom(1);

  /**
   * Opens the reader.
   *
   * @param turns blocks of memory per slot; a read uses a random one of them
   */
  RingReader(
      Path file, int flags, boolean registerFile, boolean registerBuffers, int depth, int turns) {
    this.turns = turns;
    this.depth = depth;
    memory = arena.allocate((long) turns * depth * BLOCK, BLOCK);
    fixed = registerBuffers;
    slots = new long[depth];
    results = new int[depth];
    fd = FileCalls.open(file.toString(), FileCalls.O_DIRECT | FileCalls.O_CLOEXEC, 0);
    if (fd < 0) {
      throw new NativeException("open", fd);
    }
    ring = Ring.open(Math.max(2, depth), 0, flags);
    if (registerFile) {
      check("register files", ring.registerFiles(fd));
    }
    if (registerBuffers) {
      long[] address = {memory.address()};
      long[] length = {memory.byteSize()};
      check("register buffers", ring.registerBuffers(address, length));
    }
    target = registerFile ? Ring.registeredFile(0) : fd;
  }

  private static void check(String what, int result) {
    if (result < 0) {
      throw new NativeException(what, result);
    }
  }

  /** Adds a read, which {@link #await} submits. */
  void read(int slot, long offset) {
    long block = turns == 1 ? slot : slot + (long) depth * random.nextInt(turns);
    long address = memory.address() + block * BLOCK;
    boolean added =
        fixed
            ? ring.readFixed(target, address, BLOCK, offset, 0, slot)
            : ring.read(target, address, BLOCK, offset, slot);
    if (!added) {
      throw new IllegalStateException("The submission queue is full.");
    }
  }

  /** Submits the added reads, waits, and returns the number of completed ones. */
  int await() {
    check("io_uring_enter", ring.submitAndWait(1));
    int n = ring.reap(slots, results);
    for (int i = 0; i < n; i++) {
      if (results[i] != BLOCK) {
        throw new NativeException("read", Math.min(results[i], -1));
      }
    }
    return n;
  }

  int slot(int i) {
    return (int) slots[i];
  }

  @Override
  public void close() {
    ring.close();
    FileCalls.close(fd);
    arena.close();
  }
}
