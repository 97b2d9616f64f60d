package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.config.Io;
import io.fovea.error.DatabaseClosedException;
import io.fovea.memory.Mem;
import io.fovea.support.DeviceBehavior;
import io.fovea.support.SimDevice;
import io.fovea.support.UnreliableDeviceState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract of all devices. */
@Tag("slow")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceContractTest {
  private static final int BLOCK = 4096;
  private static final DeviceConfig OPTIONS = DeviceConfig.defaults();

  /** The devices. Without io_uring, positioned reads and writes are tested instead. */
  enum Kind {
    URING {
      @Override
      BlockDevice open(Path file) {
        return Devices.open(file, OPTIONS.kind(Io.URING));
      }
    },
    URING_ONLY {
      @Override
      BlockDevice open(Path file) {
        return Devices.open(file, OPTIONS.kind(Io.URING).lonePread(false));
      }
    },
    URING_BUFFERED_SMALL {
      @Override
      BlockDevice open(Path file) {
        return Devices.open(
            file, OPTIONS.kind(Io.URING).lonePread(false).direct(false).rings(2, 4));
      }
    },
    POSIX {
      @Override
      BlockDevice open(Path file) {
        return Devices.open(file, OPTIONS.kind(Io.POSIX));
      }
    },
    POSIX_BUFFERED {
      @Override
      BlockDevice open(Path file) {
        return Devices.open(file, OPTIONS.kind(Io.POSIX).direct(false).workers(2));
      }
    },
    CHANNEL {
      @Override
      BlockDevice open(Path file) {
        IoStats stats = new IoStats();
        return new PosixDevice(
            OPTIONS, new DeviceFile(file, JdkFile.open(file, true), stats), stats);
      }
    },
    MEMORY {
      @Override
      BlockDevice open(Path file) {
        return new MemoryDevice();
      }
    },
    SIMULATED {
      @Override
      BlockDevice open(Path file) {
        return new SimDevice(42);
      }
    },
    SIMULATED_ASYNCHRONOUS {
      @Override
      BlockDevice open(Path file) {
        SimDevice device = new SimDevice(43);
        device.disk().asynchronous(true);
        return device;
      }
    },
    UNRELIABLE {
      @Override
      BlockDevice open(Path file) {
        return new UnreliableDeviceState(DeviceBehavior.SHUFFLED, 44).on(new SimDevice(44));
      }
    };

    abstract BlockDevice open(Path file);

    boolean isFile() {
      return ordinal() <= CHANNEL.ordinal();
    }
  }

  @TempDir Path folder;
  private final Arena arena = Arena.ofShared();
  private @Nullable BlockDevice device;

  @AfterEach
  void closeDevice() {
    if (device != null) {
      device.close();
    }
    arena.close();
  }

  private BlockDevice open(Kind kind) {
    BlockDevice opened = kind.open(folder.resolve("device"));
    device = opened;
    return opened;
  }

  private MemorySegment memory(int bytes) {
    return arena.allocate(bytes, BLOCK);
  }

  private static void fill(MemorySegment seg, long off, int len, long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < len; i += 8) {
      Mem.putLong(seg, off + i, random.nextLong());
    }
  }

  private static byte[] bytes(MemorySegment seg, long off, int len) {
    return seg.asSlice(off, len).toArray(ValueLayout.JAVA_BYTE);
  }

  @ParameterizedTest
  @EnumSource
  void readsBackWrites(Kind kind) {
    BlockDevice device = open(kind);
    int blocks = 64;
    byte[] model = new byte[blocks * BLOCK];
    MemorySegment seg = memory(8 * BLOCK);
    Random random = new Random(1);
    for (int i = 0; i < 300; i++) {
      int len = (1 + random.nextInt(8)) * BLOCK;
      int offset = random.nextInt(blocks - len / BLOCK + 1) * BLOCK;
      if (random.nextBoolean()) {
        fill(seg, 0, len, i);
        device.write(offset, seg, 0, len);
        System.arraycopy(bytes(seg, 0, len), 0, model, offset, len);
      } else {
        fill(seg, 0, len, -i);
        device.read(offset, seg, 0, len);
        assertArrayEquals(
            Arrays.copyOfRange(model, offset, offset + len), bytes(seg, 0, len), "at " + offset);
      }
      if (i % 50 == 0) {
        device.sync();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void unwrittenRangesReadAsZeros(Kind kind) {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(4 * BLOCK);
    seg.fill((byte) 7);
    device.read(0, seg, 0, 4 * BLOCK);
    assertTrue(Mem.isZero(seg, 0, 4 * BLOCK), "an empty device");
    seg.fill((byte) 7);
    device.write(5L * BLOCK, seg, 0, BLOCK);
    assertEquals(6L * BLOCK, device.size());
    device.read(4L * BLOCK, seg, 0, 4 * BLOCK);
    assertTrue(Mem.isZero(seg, 0, BLOCK), "a hole");
    assertFalse(Mem.isZero(seg, BLOCK, BLOCK));
    assertTrue(Mem.isZero(seg, 2 * BLOCK, 2 * BLOCK), "beyond the end");
    seg.fill((byte) 7);
    device.read(1L << 40, seg, 0, 4 * BLOCK);
    assertTrue(Mem.isZero(seg, 0, 4 * BLOCK), "far beyond the end");
    IoBatch batch = new IoBatch(3);
    seg.fill((byte) 7);
    batch.read(0, seg, 0, BLOCK);
    batch.read(5L * BLOCK, seg, BLOCK, 2 * BLOCK);
    batch.read(1L << 40, seg, 3 * BLOCK, BLOCK);
    device.run(batch);
    batch.throwIfFailed();
    assertTrue(Mem.isZero(seg, 0, BLOCK), "a hole, in a batch");
    assertEquals(7, seg.get(ValueLayout.JAVA_BYTE, BLOCK));
    assertTrue(Mem.isZero(seg, 2 * BLOCK, 2 * BLOCK), "beyond the end, in a batch");
  }

  @ParameterizedTest
  @EnumSource
  void growsAndShrinks(Kind kind) {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(4 * BLOCK);
    seg.fill((byte) 1);
    device.resize(16L * BLOCK);
    assertEquals(16L * BLOCK, device.size());
    device.write(8L * BLOCK, seg, 0, 4 * BLOCK);
    assertEquals(16L * BLOCK, device.size());
    device.resize(9L * BLOCK);
    assertEquals(9L * BLOCK, device.size());
    device.resize(16L * BLOCK);
    device.read(8L * BLOCK, seg, 0, 4 * BLOCK);
    assertFalse(Mem.isZero(seg, 0, BLOCK));
    assertTrue(Mem.isZero(seg, BLOCK, 3 * BLOCK), "truncated blocks read as zeros");
    device.resize(0);
    assertEquals(0, device.size());
    device.write(0, seg, 0, BLOCK);
    assertEquals(BLOCK, device.size());
  }

  @ParameterizedTest
  @EnumSource
  void doesBatchesOfAllSizes(Kind kind) {
    BlockDevice device = open(kind);
    int blocks = 700;
    MemorySegment out = memory(blocks * BLOCK);
    MemorySegment in = memory(blocks * BLOCK);
    IoBatch batch = new IoBatch(blocks + 1);
    for (int n : new int[] {0, 1, 2, 3, 5, 64, 255, 256, 257, blocks}) {
      fill(out, 0, n * BLOCK, n);
      batch.clear();
      for (int i = 0; i < n; i++) {
        batch.write((long) i * BLOCK, out, (long) i * BLOCK, BLOCK);
      }
      batch.sync();
      assertFalse(batch.isDone());
      device.run(batch);
      assertTrue(batch.isDone());
      batch.throwIfFailed();
      batch.clear();
      for (int i = 0; i < n; i++) {
        batch.read((long) (n - 1 - i) * BLOCK, in, (long) (n - 1 - i) * BLOCK, BLOCK);
      }
      device.submit(batch);
      batch.await();
      assertTrue(IntStream.range(0, batch.size()).allMatch(i -> batch.error(i) == 0));
      assertTrue(Mem.equal(out, 0, n * BLOCK, in, 0, n * BLOCK), n + " blocks");
    }
    assertEquals((long) blocks * BLOCK, device.size());
  }

  @ParameterizedTest
  @EnumSource
  void concurrentBatchesAreIndependent(Kind kind) {
    BlockDevice device = open(kind);
    int batches = 16;
    int entries = 24;
    MemorySegment out = memory(batches * entries * BLOCK);
    MemorySegment in = memory(batches * entries * BLOCK);
    fill(out, 0, batches * entries * BLOCK, 5);
    List<IoBatch> all = new ArrayList<>();
    for (int b = 0; b < batches; b++) {
      all.add(new IoBatch(entries));
    }
    for (boolean write : new boolean[] {true, false}) {
      for (int b = 0; b < batches; b++) {
        all.get(b).clear();
        for (int i = 0; i < entries; i++) {
          long at = (long) (i * batches + b) * BLOCK;
          if (write) {
            all.get(b).write(at, out, at, BLOCK);
          } else {
            all.get(b).read(at, in, at, BLOCK);
          }
        }
        device.submit(all.get(b));
      }
      all.forEach(IoBatch::await);
      all.forEach(IoBatch::throwIfFailed);
    }
    assertTrue(Mem.equal(out, 0, batches * entries * BLOCK, in, 0, batches * entries * BLOCK));
  }

  @ParameterizedTest
  @EnumSource
  void acceptsUnalignedMemory(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    MemorySegment out = memory(4 * BLOCK);
    MemorySegment in = memory(4 * BLOCK);
    fill(out, 0, 4 * BLOCK, 9);
    onThreadsOf(
        Thread.ofPlatform().factory(),
        1,
        t -> {
          device.write(0, out, 3, 2 * BLOCK);
          device.read(0, in, 5, 2 * BLOCK);
        });
    assertTrue(Mem.equal(out, 3, 2 * BLOCK, in, 5, 2 * BLOCK));
    onThreadsOf(
        Thread.ofVirtual().factory(),
        1,
        t -> {
          device.write(0, out, 13, 2 * BLOCK);
          device.read(0, in, 15, 2 * BLOCK);
        });
    assertTrue(Mem.equal(out, 13, 2 * BLOCK, in, 15, 2 * BLOCK));
    IoBatch batch = new IoBatch(3);
    batch.write(4L * BLOCK, out, 7, BLOCK);
    batch.write(5L * BLOCK, out, BLOCK, BLOCK);
    batch.sync();
    device.run(batch);
    batch.throwIfFailed();
    device.read(4L * BLOCK, in, 1, 2 * BLOCK);
    assertTrue(Mem.equal(out, 7, BLOCK, in, 1, BLOCK));
    assertTrue(Mem.equal(out, BLOCK, BLOCK, in, 1 + BLOCK, BLOCK));
  }

  @ParameterizedTest
  @EnumSource
  void rejectsContractViolations(Kind kind) {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(2 * BLOCK);
    assertEquals(BLOCK, device.blockSize());
    assertThrows(IllegalArgumentException.class, () -> device.read(1, seg, 0, BLOCK));
    assertThrows(IllegalArgumentException.class, () -> device.read(-BLOCK, seg, 0, BLOCK));
    assertThrows(IllegalArgumentException.class, () -> device.read(0, seg, 0, 100));
    assertThrows(IllegalArgumentException.class, () -> device.read(0, seg, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> device.read(0, seg, 0, -BLOCK));
    assertThrows(IndexOutOfBoundsException.class, () -> device.read(0, seg, 0, 3 * BLOCK));
    assertThrows(IndexOutOfBoundsException.class, () -> device.write(0, seg, -1, BLOCK));
    assertThrows(IllegalArgumentException.class, () -> device.resize(BLOCK + 1));
    assertThrows(IllegalArgumentException.class, () -> device.resize(-BLOCK));
    MemorySegment heap = MemorySegment.ofArray(new byte[BLOCK]);
    assertThrows(IllegalArgumentException.class, () -> device.write(0, heap, 0, BLOCK));
    assertThrows(IllegalArgumentException.class, () -> device.read(0, seg.asReadOnly(), 0, BLOCK));
    MemorySegment freed;
    try (Arena shortLived = Arena.ofConfined()) {
      freed = shortLived.allocate(BLOCK, BLOCK);
    }
    assertThrows(IllegalArgumentException.class, () -> device.write(0, freed, 0, BLOCK));
    IoBatch batch = new IoBatch(2);
    batch.read(0, seg, 0, BLOCK);
    batch.read(0, seg, 0, 3);
    assertThrows(IllegalArgumentException.class, () -> device.submit(batch));
    batch.clear();
    batch.read(0, seg, 0, BLOCK);
    device.run(batch);
    assertThrows(IllegalStateException.class, () -> device.run(batch), "twice");
    assertThrows(IllegalStateException.class, () -> batch.read(0, seg, 0, BLOCK));
    batch.clear();
    batch.sync();
    assertThrows(IllegalStateException.class, () -> batch.read(0, seg, 0, BLOCK));
    device.run(batch);
    batch.throwIfFailed();
  }

  /** Without native access other threads can't use a confined arena's memory. */
  private static Arena memoryOfOneThread() {
    return Mem.isRaw() ? Arena.ofConfined() : Arena.ofShared();
  }

  @ParameterizedTest
  @EnumSource
  void acceptsConfinedArenas(Kind kind) throws Exception {
    assumeTrue(Mem.isRaw(), "without native access other threads can't use it");
    BlockDevice device = open(kind);
    for (ThreadFactory factory :
        List.of(Thread.ofPlatform().factory(), Thread.ofVirtual().factory())) {
      onThreadsOf(
          factory,
          2,
          t -> {
            try (Arena mine = Arena.ofConfined()) {
              MemorySegment seg = mine.allocate(4 * BLOCK, BLOCK);
              seg.fill((byte) 3);
              device.write(t * 8L * BLOCK, seg, 0, BLOCK);
              device.write(t * 8L * BLOCK, seg, 9, BLOCK);
              device.read(1L << 40, seg, 0, BLOCK);
              IoBatch batch = new IoBatch(3);
              batch.read(1L << 40, seg, BLOCK, BLOCK);
              batch.read(t * 8L * BLOCK, seg, 2 * BLOCK, BLOCK);
              batch.write(t * 8L * BLOCK + BLOCK, seg, 2 * BLOCK + 1, BLOCK);
              device.run(batch);
              batch.throwIfFailed();
              assertTrue(Mem.isZero(seg, 0, 2 * BLOCK));
              assertFalse(Mem.isZero(seg, 2 * BLOCK, BLOCK));
            }
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void countsOperations(Kind kind) {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(4 * BLOCK);
    device.write(0, seg, 0, 2 * BLOCK);
    device.read(0, seg, 0, BLOCK);
    device.sync();
    device.resize(8L * BLOCK);
    IoBatch batch = new IoBatch(4);
    batch.write(0, seg, 0, BLOCK);
    batch.read(BLOCK, seg, BLOCK, BLOCK);
    batch.sync();
    device.run(batch);
    IoStats stats = device.stats();
    assertEquals(2, stats.count(IoOp.WRITE));
    assertEquals(3 * BLOCK, stats.bytes(IoOp.WRITE));
    assertEquals(2, stats.count(IoOp.READ));
    assertEquals(2 * BLOCK, stats.bytes(IoOp.READ));
    assertEquals(2, stats.count(IoOp.SYNC));
    assertEquals(1, stats.count(IoOp.RESIZE));
    assertEquals(0, stats.errors(IoOp.WRITE));
    assertEquals(1, stats.batches());
    assertTrue(stats.toString().startsWith("reads 2 (8192 bytes)"), stats.toString());
  }

  /** A punched range reads as zeros; if punching is not supported, nothing has changed. */
  @ParameterizedTest
  @EnumSource
  void punches(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(8 * BLOCK);
    seg.fill((byte) 7);
    device.write(0, seg, 0, 8 * BLOCK);
    boolean done = device.punch(2L * BLOCK, 3 * BLOCK);
    Thread virtual =
        Thread.ofVirtual()
            .start(
                () -> assertEquals(done, device.punch(6L * BLOCK, BLOCK), "by a virtual thread"));
    virtual.join();
    device.sync();
    assertEquals(8L * BLOCK, device.size());
    device.read(0, seg, 0, 8 * BLOCK);
    for (int i = 0; i < 8; i++) {
      boolean hole = done && (i >= 2 && i < 5 || i == 6);
      byte expected = (byte) (hole ? 0 : 7);
      for (int at = i * BLOCK; at < (i + 1) * BLOCK; at += 511) {
        assertEquals(expected, seg.get(ValueLayout.JAVA_BYTE, at), "block " + i);
      }
    }
    assertEquals(done ? 2 : 0, device.stats().count(IoOp.PUNCH));
    assertThrows(IllegalArgumentException.class, () -> device.punch(1, BLOCK));
    assertThrows(IllegalArgumentException.class, () -> device.punch(0, 0));
  }

  /** Reserving changes neither contents, holes included, nor the length. */
  @ParameterizedTest
  @EnumSource
  void reserves(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(8 * BLOCK);
    seg.fill((byte) 7);
    device.write(0, seg, 0, 8 * BLOCK);
    boolean punched = device.punch(2L * BLOCK, 3 * BLOCK);
    boolean done = device.reserve(BLOCK, 3 * BLOCK);
    Thread virtual =
        Thread.ofVirtual()
            .start(
                () -> assertEquals(done, device.reserve(4L * BLOCK, 4 * BLOCK), "from a virtual"));
    virtual.join();
    assertEquals(8L * BLOCK, device.size());
    device.read(0, seg, 0, 8 * BLOCK);
    for (int i = 0; i < 8; i++) {
      byte expected = (byte) (punched && i >= 2 && i < 5 ? 0 : 7);
      assertEquals(expected, seg.get(ValueLayout.JAVA_BYTE, (long) i * BLOCK), "block " + i);
    }
    assertEquals(done ? 2 : 0, device.stats().count(IoOp.RESERVE));
    assertThrows(IllegalArgumentException.class, () -> device.reserve(1, BLOCK));
  }

  @ParameterizedTest
  @EnumSource
  void contentsSurviveReopening(Kind kind) {
    BlockDevice device = open(kind);
    MemorySegment seg = memory(2 * BLOCK);
    fill(seg, 0, BLOCK, 3);
    device.write(7L * BLOCK, seg, 0, BLOCK);
    device.sync();
    device.close();
    device.close();
    assertThrows(DatabaseClosedException.class, () -> device.read(0, seg, 0, BLOCK));
    assertThrows(DatabaseClosedException.class, () -> device.write(0, seg, 0, BLOCK));
    assertThrows(DatabaseClosedException.class, device::sync);
    assertThrows(DatabaseClosedException.class, () -> device.resize(0));
    IoBatch batch = new IoBatch(1);
    batch.read(0, seg, 0, BLOCK);
    assertThrows(DatabaseClosedException.class, () -> device.run(batch));
    if (kind.isFile()) {
      BlockDevice again = open(kind);
      assertEquals(8L * BLOCK, again.size());
      again.read(7L * BLOCK, seg, BLOCK, BLOCK);
      assertTrue(Mem.equal(seg, 0, BLOCK, seg, BLOCK, BLOCK));
    }
  }

  /** A file that is not a database may have any length. */
  @ParameterizedTest
  @EnumSource
  void readsAFileOfOddLength(Kind kind) throws Exception {
    if (!kind.isFile()) {
      return;
    }
    byte[] content = new byte[BLOCK + 777];
    new Random(3).nextBytes(content);
    Files.write(folder.resolve("device"), content);
    BlockDevice device = open(kind);
    assertEquals(content.length, device.size());
    MemorySegment seg = memory(4 * BLOCK);
    seg.fill((byte) 1);
    device.read(0, seg, 0, 4 * BLOCK);
    assertArrayEquals(Arrays.copyOf(content, 4 * BLOCK), bytes(seg, 0, 4 * BLOCK));
    seg.fill((byte) 1);
    IoBatch batch = new IoBatch(2);
    batch.read(0, seg, 0, 2 * BLOCK);
    batch.read(BLOCK, seg, 2 * BLOCK, 2 * BLOCK);
    device.run(batch);
    batch.throwIfFailed();
    assertArrayEquals(Arrays.copyOf(content, 2 * BLOCK), bytes(seg, 0, 2 * BLOCK));
    assertArrayEquals(
        Arrays.copyOfRange(content, BLOCK, 3 * BLOCK), bytes(seg, 2 * BLOCK, 2 * BLOCK));
    device.resize(3L * BLOCK);
    device.read(0, seg, 0, 4 * BLOCK);
    assertArrayEquals(Arrays.copyOf(content, 4 * BLOCK), bytes(seg, 0, 4 * BLOCK));
  }

  // ------------------------------------------------------------------------------- many threads

  @FunctionalInterface
  private interface Body {
    void run(int thread) throws Exception;
  }

  private static void onThreadsOf(ThreadFactory factory, int threads, Body body) throws Exception {
    ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
    List<Thread> all = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int number = t;
      all.add(
          factory.newThread(
              () -> {
                try {
                  body.run(number);
                } catch (Throwable e) {
                  thrown.add(e);
                }
              }));
    }
    all.forEach(Thread::start);
    for (Thread thread : all) {
      thread.join();
    }
    if (!thrown.isEmpty()) {
      throw new AssertionError(thrown.size() + " threads failed", thrown.peek());
    }
  }

  /** Writes and reads back the thread's own range, one block at a time and in batches. */
  private static void work(BlockDevice device, int thread, int rounds) {
    int blocks = 8;
    long base = (long) thread * blocks * BLOCK;
    try (Arena mine = memoryOfOneThread()) {
      MemorySegment out = mine.allocate(blocks * BLOCK, BLOCK);
      MemorySegment in = mine.allocate(blocks * BLOCK, BLOCK);
      IoBatch batch = new IoBatch(blocks + 1);
      for (int i = 0; i < rounds; i++) {
        fill(out, 0, blocks * BLOCK, thread * 1000L + i);
        batch.clear();
        if (i % 2 == 0) {
          for (int b = 0; b < blocks; b++) {
            batch.write(base + b * BLOCK, out, b * BLOCK, BLOCK);
          }
          if (i % 8 == 0) {
            batch.sync();
          }
          device.run(batch);
          batch.throwIfFailed();
          device.read(base, in, 0, blocks * BLOCK);
        } else {
          device.write(base, out, 0, blocks * BLOCK);
          for (int b = 0; b < blocks; b++) {
            batch.read(base + b * BLOCK, in, b * BLOCK, BLOCK);
          }
          device.run(batch);
          batch.throwIfFailed();
        }
        assertTrue(
            Mem.equal(out, 0, blocks * BLOCK, in, 0, blocks * BLOCK), thread + " in round " + i);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void servesManyPlatformThreads(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    onThreadsOf(Thread.ofPlatform().factory(), 8, t -> work(device, t, 30));
    assertEquals(0, device.stats().errors(IoOp.READ) + device.stats().errors(IoOp.WRITE));
  }

  @ParameterizedTest
  @EnumSource
  void servesManyVirtualThreads(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    onThreadsOf(Thread.ofVirtual().factory(), 64, t -> work(device, t, 3));
    onThreadsOf(
        Thread.ofVirtual().factory(),
        2,
        t -> {
          device.sync();
          device.resize(4096L * BLOCK);
        });
    assertEquals(4096L * BLOCK, device.size());
  }

  @ParameterizedTest
  @EnumSource
  void toleratesInterrupts(Kind kind) throws Exception {
    BlockDevice device = open(kind);
    for (ThreadFactory factory :
        List.of(Thread.ofPlatform().factory(), Thread.ofVirtual().factory())) {
      AtomicInteger flags = new AtomicInteger();
      onThreadsOf(
          factory,
          4,
          t -> {
            Thread me = Thread.currentThread();
            AtomicBoolean over = new AtomicBoolean();
            Thread nagger =
                Thread.ofPlatform()
                    .start(
                        () -> {
                          while (!over.get()) {
                            me.interrupt();
                            LockSupport.parkNanos(1_000_000);
                          }
                        });
            try {
              for (int i = 0; i < 20; i++) {
                me.interrupt();
                work(device, t, 1);
                // Only this thread clears the flag, so a lost flag shows here.
                assertTrue(Thread.interrupted(), "the interrupt flag was lost");
                flags.incrementAndGet();
              }
            } finally {
              over.set(true);
              boolean interrupted = false;
              while (nagger.isAlive()) {
                try {
                  nagger.join();
                } catch (InterruptedException e) {
                  interrupted = true;
                }
              }
              if (interrupted) {
                Thread.interrupted();
              }
            }
          });
      assertEquals(80, flags.get());
    }
    work(device, 0, 2);
  }

  @ParameterizedTest
  @EnumSource
  void closeDuringUseCausesTypedErrors(Kind kind) throws Exception {
    for (int round = 0; round < 5; round++) {
      BlockDevice device = open(kind);
      CountDownLatch busy = new CountDownLatch(6);
      AtomicInteger refused = new AtomicInteger();
      Thread closer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      busy.await();
                    } catch (InterruptedException e) {
                      throw new AssertionError(e);
                    }
                    device.close();
                  });
      Body body =
          t -> {
            try {
              for (int i = 0; ; i++) {
                work(device, t, 1);
                if (i == 2) {
                  busy.countDown();
                }
                // Virtual threads that never park would starve the others of carriers.
                Thread.yield();
              }
            } catch (DatabaseClosedException e) {
              refused.incrementAndGet();
            }
          };
      Thread virtual =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      onThreadsOf(Thread.ofVirtual().factory(), 3, t -> body.run(t + 3));
                    } catch (Exception e) {
                      throw new AssertionError(e);
                    }
                  });
      onThreadsOf(Thread.ofPlatform().factory(), 3, body);
      virtual.join();
      closer.join();
      assertEquals(6, refused.get());
    }
    assertNotNull(device);
  }
}
