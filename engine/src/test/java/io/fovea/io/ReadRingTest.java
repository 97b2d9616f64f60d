package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Uring;
import io.fovea.config.Io;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Failures of a read ring in use: each read ends, and the device can be closed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadRingTest {
  private static final int BLOCK = DeviceFile.BLOCK;
  private static final int READS = 4;
  private static final int NOT_ENDED = -1;

  @TempDir Path folder;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate((long) READS * BLOCK, BLOCK);
  private final int[] ends = new int[READS];
  private RingPollerTest.Breaks raw;
  private DeviceFile file;
  private UringDevice device;

  @BeforeEach
  void open() {
    assumeTrue(Uring.probe() instanceof Availability.Available);
    raw = new RingPollerTest.Breaks(folder.resolve("file"));
    IoStats stats = new IoStats();
    DeviceConfig options = DeviceConfig.defaults().kind(Io.URING);
    file = new DeviceFile(folder.resolve("file"), raw, stats);
    device = UringDevice.open(options, file, stats, Uring::probe).device();
    for (int i = 0; i < READS; i++) {
      Mem.putLong(memory, (long) i * BLOCK, i + 1);
    }
    device.write(0, memory, 0, READS * BLOCK);
    memory.fill((byte) 0);
  }

  @AfterEach
  @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void close() {
    if (device != null) {
      // waits until all rings are returned
      device.close();
    }
    arena.close();
  }

  private ReadRing lend() {
    Arrays.fill(ends, NOT_ENDED);
    ReadRing ring = device.acquireReadRing((slot, errno) -> ends[slot] = errno);
    assertNotNull(ring);
    return ring;
  }

  private void read(ReadRing ring) {
    for (int slot = 0; slot < READS; slot++) {
      ring.read(slot, (long) slot * BLOCK, memory, (long) slot * BLOCK, BLOCK);
    }
  }

  @Test
  void readsAll() {
    ReadRing ring = lend();
    read(ring);
    awaitEnds(ring, 0, 1, 2, 3);
    assertRead();
  }

  /** Waits until the reads end without an error, and returns the ring. */
  private void awaitEnds(ReadRing ring, int... slots) {
    while (Arrays.stream(slots).anyMatch(slot -> ends[slot] == NOT_ENDED)) {
      ring.drive(true);
    }
    ring.releaseBorrowed();
    for (int slot : slots) {
      assertEquals(0, ends[slot]);
    }
  }

  private void assertRead() {
    for (int i = 0; i < READS; i++) {
      assertEquals(i + 1, Mem.getLong(memory, (long) i * BLOCK));
    }
  }

  /** A returned ring may belong to another thread. */
  @Test
  void aReturnedRingIsNotUsed() {
    ReadRing ring = lend();
    ring.releaseBorrowed();
    assertThrows(AssertionError.class, () -> ring.read(0, 0, memory, 0, BLOCK));
    assertThrows(AssertionError.class, () -> ring.drive(false));
    assertThrows(AssertionError.class, ring::releaseBorrowed);
  }

  @Test
  void readsMoreThanABlockDirectly() {
    ReadRing ring = lend();
    Mem.putLong(memory, 0, -1);
    ring.read(2, BLOCK, memory, 0, BLOCK);
    ring.read(1, 2L * BLOCK, memory, BLOCK, 2 * BLOCK);
    awaitEnds(ring, 1, 2);
    for (int i = 0; i < READS - 1; i++) {
      assertEquals(i + 2, Mem.getLong(memory, (long) i * BLOCK));
    }
  }

  @Test
  void aRingWithoutBuffersReadsDirectly() {
    Arrays.fill(ends, NOT_ENDED);
    assertTrue(device.tryEnter()); // as RingPool does
    ReadRing ring = new ReadRing(device, file, MemorySegment.NULL);
    assertTrue(ring.borrow((slot, errno) -> ends[slot] = errno));
    read(ring);
    awaitEnds(ring, 0, 1, 2, 3);
    ring.close();
    assertRead();
  }

  /** A late completion for a reused slot is not mistaken for that of the new read. */
  @Test
  void aSlotIsReused() {
    ReadRing ring = lend();
    for (int round = 0; round < 3 * ReadRing.DEPTH; round++) {
      int block = round % READS;
      Mem.putLong(memory, 0, 0);
      ends[1] = NOT_ENDED;
      ring.read(1, (long) block * BLOCK, memory, 0, BLOCK);
      while (ends[1] == NOT_ENDED) {
        ring.drive(true);
      }
      assertEquals(0, ends[1]);
      assertEquals(block + 1, Mem.getLong(memory, 0));
    }
    ring.releaseBorrowed();
  }

  @Test
  void aFailedAcquireDoesNotEnter() {
    raw.broken = true;
    assertThrows(IllegalStateException.class, this::lend);
    raw.broken = false;
    lend().releaseBorrowed();
  }

  @Test
  void allReadsEndIfTheRingFails() {
    ReadRing ring = lend();
    read(ring);
    raw.broken = true;
    ring.drive(true);
    int[] failed = new int[READS];
    Arrays.fill(failed, Errno.EIO);
    assertArrayEquals(failed, ends);
    // and so do later reads
    Arrays.fill(ends, NOT_ENDED);
    read(ring);
    device.reapReadRings();
    ring.drive(false);
    assertArrayEquals(failed, ends);
    ring.releaseBorrowed();
    raw.broken = false;
    ReadRing next = lend();
    assertNotSame(ring, next);
    next.releaseBorrowed();
  }
}
