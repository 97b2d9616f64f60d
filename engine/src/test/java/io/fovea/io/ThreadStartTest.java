package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Io;
import io.fovea.memory.Mem;
import io.fovea.support.ThreadStarts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A device whose threads cannot be started: each accepted entry ends exactly once, and nothing is
 * thrown. Otherwise a caller would release memory that the device still writes to, or wait forever.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThreadStartTest {
  private static final int BLOCK = DeviceFile.BLOCK;
  private static final int ENTRIES = 6;

  enum Kind {
    POSIX,
    CHANNEL,
    URING
  }

  @TempDir Path folder;

  private BlockDevice open(Kind kind, String name) {
    Path file = folder.resolve(name);
    DeviceConfig options = DeviceConfig.defaults().workers(4);
    return switch (kind) {
      case POSIX -> Devices.open(file, options.kind(Io.POSIX));
      case URING -> Devices.open(file, options.kind(Io.URING).lonePread(false));
      case CHANNEL -> {
        IoStats stats = new IoStats();
        yield new PosixDevice(
            options, new DeviceFile(file, JdkFile.open(file, true), stats), stats);
      }
    };
  }

  @ParameterizedTest
  @CsvSource({
    "POSIX, false",
    "POSIX, true",
    "CHANNEL, false",
    "CHANNEL, true",
    "URING, false",
    "URING, true"
  })
  void everyEntryEndsOnce(Kind kind, boolean virtual) throws Exception {
    for (int first = 1; first <= 5; first++) {
      int n = first;
      int failed = device(kind, virtual, "from-" + kind + virtual + n, start -> start >= n);
      assertTrue(n > 1 || !virtual || failed > 0, "no start failed");
      device(kind, virtual, "only-" + kind + virtual + n, start -> start == n);
    }
  }

  private int device(Kind kind, boolean virtual, String name, IntPredicate fails) throws Exception {
    try (Arena arena = Arena.ofShared();
        ThreadStarts starts =
            ThreadStarts.failing(thread -> thread.startsWith("fovea-io " + name + " "), fails)) {
      BlockDevice device = open(kind, name);
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Runnable work =
          () -> {
            try {
              everything(device, arena);
            } catch (Throwable t) {
              thrown.set(t);
            }
          };
      Thread worker = virtual ? Thread.startVirtualThread(work) : Thread.ofPlatform().start(work);
      worker.join();
      assertNull(thrown.get(), () -> name + ": " + thrown.get());
      device.close(); // returns only when nothing is in progress
      return starts.failed();
    }
  }

  private static void everything(BlockDevice device, Arena arena) {
    // Unaligned in the second round, which uses copies.
    for (int shift = 0; shift <= 8; shift += 8) {
      MemorySegment memory = arena.allocate((long) (ENTRIES + 1) * BLOCK, BLOCK);
      device.resize((long) ENTRIES * BLOCK);
      for (boolean run : new boolean[] {false, true}) {
        fill(memory, shift, run ? 17 : 71);
        batch(device, memory, shift, IoOp.WRITE, run);
        fill(memory, shift, 0);
        batch(device, memory, shift, IoOp.READ, run);
        for (int i = 0; i < ENTRIES; i++) {
          assertEquals((run ? 17 : 71) + i, Mem.getLong(memory, shift + (long) i * BLOCK));
        }
      }
      device.write(0, memory, shift, BLOCK);
      device.sync();
      device.read(0, memory, shift, BLOCK);
    }
  }

  private static void fill(MemorySegment memory, long shift, long value) {
    for (int i = 0; i < ENTRIES; i++) {
      Mem.putLong(memory, shift + (long) i * BLOCK, value == 0 ? 0 : value + i);
    }
  }

  private static void batch(
      BlockDevice device, MemorySegment memory, long shift, IoOp op, boolean run) {
    AtomicIntegerArray ended = new AtomicIntegerArray(ENTRIES + 1);
    IoBatch batch = new IoBatch(ENTRIES + 1, (i, errno) -> ended.incrementAndGet(i));
    for (int i = 0; i < ENTRIES; i++) {
      long at = (long) i * BLOCK;
      if (op == IoOp.WRITE) {
        batch.write(at, memory, shift + at, BLOCK);
      } else {
        batch.read(at, memory, shift + at, BLOCK);
      }
    }
    if (op == IoOp.WRITE) {
      batch.sync();
    }
    if (run) {
      device.run(batch);
    } else {
      device.submit(batch);
      batch.await();
    }
    batch.throwIfFailed();
    for (int i = 0; i < batch.size(); i++) {
      assertEquals(1, ended.get(i), "entry " + i);
    }
    batch.clear();
  }
}
