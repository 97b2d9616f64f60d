package io.fovea.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Errno;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SimDiskTest {
  private static final int BLOCK = SimDisk.BLOCK;

  private final Arena arena = Arena.ofAuto();
  private final MemorySegment seg = arena.allocate(4 * BLOCK, BLOCK);

  private void write(SimDevice device, long block, int value) {
    seg.asSlice(0, BLOCK).fill((byte) value);
    device.write(block * BLOCK, seg, 0, BLOCK);
  }

  private static int value(SimDisk disk, String name, long block) {
    byte[] bytes = disk.peek(name, block * BLOCK, BLOCK);
    for (byte b : bytes) {
      if (b != bytes[0]) {
        return -1;
      }
    }
    return bytes[0];
  }

  @Test
  void crashKeepsChosenChanges() {
    SimDisk disk = new SimDisk(1);
    SimDevice a = disk.device("a");
    SimDevice b = disk.device("b");
    write(a, 2, 1);
    a.sync();
    write(a, 0, 2);
    a.resize(BLOCK);
    write(b, 0, 3);
    Set<String> left = new HashSet<>();
    for (SimChoice choice : SimChoice.of(disk.unsyncedChanges(), 3)) {
      SimDisk after = disk.crash(choice);
      left.add(
          choice
              + " "
              + value(after, "a", 0)
              + after.device("a").size() / BLOCK
              + value(after, "b", 0));
    }
    assertEquals(
        Set.of(
            "--- 030", "x-- 230", "-x- 010", "xx- 210", "--x 033", "x-x 233", "-xx 013", "xxx 213"),
        left.stream().filter(s -> s.matches("[-x]{3}.*")).collect(Collectors.toSet()));
    assertTrue(left.contains("f-- -130"), left::toString);
    assertTrue(left.contains("xxl 21-1"), left::toString);
  }

  /** A failed sync leaves changes in doubt; it does not undo a later sync that succeeds. */
  @Test
  void laterSyncsAreNotUndoneByDoubtfulWrites() {
    SimDisk disk = new SimDisk(1);
    SimDevice a = disk.device("a");
    write(a, 0, 1);
    write(a, 3, 1);
    a.sync();
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    write(a, 0, 2);
    write(a, 1, 2);
    a.resize(2 * BLOCK);
    assertThrows(StorageException.class, a::sync);
    assertEquals(3, disk.unsyncedChanges());
    SimDevice again = disk.device("a"); // the first device no longer syncs
    write(again, 0, 3);
    again.sync();
    assertEquals(2, disk.unsyncedChanges());
    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    assertEquals(3, value(after, "a", 0));
    assertEquals(0, value(after, "a", 1));
    assertEquals(4 * BLOCK, after.device("a").size());
    assertEquals(3, value(disk.crash(SimCrash.KEEP_ALL), "a", 0));
    assertEquals(2 * BLOCK, disk.crash(SimCrash.KEEP_ALL).device("a").size());
    again.resize(5 * BLOCK);
    again.sync();
    assertEquals(1, disk.unsyncedChanges());
    assertEquals(0, value(disk.crash(SimCrash.LOSE_ALL), "a", 3));
  }

  @Test
  void keepsSyncedChangesAndLosesTheRest() {
    SimDisk disk = new SimDisk(1);
    SimDevice a = disk.device("a");
    SimDevice b = disk.device("b");
    write(a, 0, 1);
    write(b, 0, 1);
    a.sync();
    write(a, 0, 2);
    write(a, 1, 2);
    assertEquals(3, disk.unsyncedChanges());
    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    assertEquals(1, value(after, "a", 0));
    assertEquals(0, value(after, "a", 1));
    assertEquals(BLOCK, after.device("a").size());
    assertEquals(0, after.device("b").size());
    assertEquals(2, value(disk, "a", 0), "the original disk continues to work");
    SimDisk killed = disk.crash(SimCrash.KEEP_ALL);
    assertEquals(2, value(killed, "a", 0));
    assertEquals(2, value(killed, "a", 1));
    assertEquals(1, value(killed, "b", 0));
    assertEquals(0, killed.unsyncedChanges());
  }

  @Test
  void losesTearsAndReordersAtRandom() {
    boolean old = false;
    boolean first = false;
    boolean second = false;
    boolean torn = false;
    boolean lostAFile = false;
    SimDisk disk = new SimDisk(2);
    SimDevice device = disk.device("a");
    write(device, 0, 1);
    device.sync();
    write(device, 0, 2);
    write(device, 0, 3);
    write(disk.device("b"), 0, 1);
    for (int i = 0; i < 200; i++) {
      SimDisk after = disk.crash(SimCrash.RANDOM);
      byte[] bytes = after.peek("a", 0, BLOCK);
      for (int sector = 0; sector < BLOCK; sector += SimFile.SECTOR) {
        byte[] same = new byte[SimFile.SECTOR];
        Arrays.fill(same, bytes[sector]);
        assertArrayEquals(
            same, Arrays.copyOfRange(bytes, sector, sector + SimFile.SECTOR), "sectors are whole");
      }
      int value = value(after, "a", 0);
      old |= value == 1;
      first |= value == 2;
      second |= value == 3;
      torn |= value == -1;
      lostAFile |= after.device("b").size() == 0;
    }
    assertTrue(old && first && second && torn && lostAFile);
  }

  @Test
  void repeatsWithTheSameSeed() {
    List<byte[]> runs = new ArrayList<>();
    for (long seed : new long[] {7, 7, 8}) {
      SimDisk disk = new SimDisk(seed);
      SimDevice device = disk.device("a");
      IoBatch batch = new IoBatch(16);
      for (int round = 0; round < 5; round++) {
        batch.clear();
        for (int i = 0; i < 16; i++) {
          batch.write((long) (i * 7 + round) % 20 * BLOCK, seg, (i & 3) * BLOCK, BLOCK);
        }
        seg.fill((byte) (round + 1));
        device.run(batch);
      }
      runs.add(disk.crash(SimCrash.RANDOM).peek("a", 0, 20 * BLOCK));
    }
    assertArrayEquals(runs.get(0), runs.get(1));
    assertFalse(Arrays.equals(runs.get(0), runs.get(2)));
  }

  @Test
  void failsTheNthOperationOnceOrPermanently() {
    for (int n = 1; n <= 5; n++) {
      for (boolean forever : new boolean[] {false, true}) {
        SimDisk disk = new SimDisk(n);
        SimDevice device = disk.device("a");
        disk.fail(forever ? SimFault.from(n) : SimFault.once(n));
        int failed = 0;
        for (int i = 1; i <= 6; i++) {
          try {
            switch (i % 3) {
              case 0 -> disk.device("a").sync(); // a failed device no longer syncs
              case 1 -> write(device, i, i);
              default -> device.read(0, seg, 0, BLOCK);
            }
          } catch (StorageException e) {
            assertEquals(Errno.EIO, e.errno());
            assertTrue(forever ? i >= n : i == n);
            failed++;
          }
        }
        assertEquals(forever ? 7 - n : 1, failed);
        assertEquals(failed, disk.faultsHit());
        disk.heal();
        write(device, 0, 1);
      }
    }
  }

  @Test
  void failsOnlyMatchingOperations() {
    SimDisk disk = new SimDisk(3);
    SimDevice device = disk.device("a");
    disk.fail(SimFault.once(2).of(IoOp.WRITE).errno(Errno.ENOSPC));
    write(device, 0, 1);
    device.read(0, seg, 0, BLOCK);
    assertThrows(StorageFullException.class, () -> write(device, 0, 2));
    write(device, 0, 3);
    disk.fail(SimFault.once(1).of(IoOp.RESIZE));
    assertThrows(StorageException.class, () -> device.resize(BLOCK));
  }

  /** Holes take no space until they are written or reserved. */
  @Test
  void holesTakeNoSpace() {
    SimDisk disk = new SimDisk(4);
    SimDevice device = disk.device("a");
    for (int i = 0; i < 6; i++) {
      write(device, i, 7);
    }
    device.sync();
    disk.capacity(6L * BLOCK);
    assertTrue(device.punch(BLOCK, 4 * BLOCK));
    assertEquals(2L * BLOCK, disk.allocated());
    assertEquals(6L * BLOCK, disk.bytes());
    assertEquals(2L * BLOCK, disk.crash(SimCrash.KEEP_ALL).allocated("a"));
    disk.capacity(4L * BLOCK);
    write(device, 2, 8);
    assertEquals(3L * BLOCK, disk.copy().allocated());
    assertThrows(StorageFullException.class, () -> device.write(3L * BLOCK, seg, 0, 2 * BLOCK));
    assertEquals(4L * BLOCK, disk.allocated(), "the part that fits was written");
    assertThrows(StorageFullException.class, () -> device.reserve(0, 6 * BLOCK));
    write(device, 2, 9); // its space is reserved
    disk.capacity(6L * BLOCK);
    assertTrue(device.reserve(0, 6 * BLOCK));
    assertEquals(6L * BLOCK, disk.allocated());
    assertEquals(0, value(disk, "a", 4), "its contents are unchanged");
    device.punch(0, 6 * BLOCK);
    device.resize(3L * BLOCK);
    assertEquals(0, disk.allocated());
    device.resize(5L * BLOCK);
    assertEquals(2L * BLOCK, disk.allocated(), "an extension is not a hole");
  }

  @Test
  void aFailedSyncIsFinal() {
    boolean lost = false;
    boolean kept = false;
    for (long seed = 0; seed < 20; seed++) {
      SimDisk disk = new SimDisk(seed);
      SimDevice device = disk.device("a");
      write(device, 0, 1);
      disk.fail(SimFault.once(1).of(IoOp.SYNC));
      assertThrows(StorageException.class, device::sync);
      SimDevice again = disk.device("a"); // the first device no longer syncs
      write(again, 1, 2);
      again.sync();
      assertEquals(1, value(disk, "a", 0), "reads still see the write");
      SimDisk after = disk.crash(new SimCrash(0.5, false, false));
      assertEquals(2, value(after, "a", 1));
      lost |= value(after, "a", 0) == 0;
      kept |= value(after, "a", 0) == 1;
    }
    assertTrue(lost && kept);
  }

  @Test
  void aFailedWriteMayHaveChangedAnySector() {
    Set<Integer> changed = new HashSet<>();
    for (long seed = 0; seed < 20; seed++) {
      SimDisk disk = new SimDisk(seed);
      SimDevice device = disk.device("a");
      write(device, 0, 1);
      disk.fail(SimFault.once(1));
      assertThrows(StorageException.class, () -> write(device, 0, 2));
      byte[] bytes = disk.peek("a", 0, BLOCK);
      int count = 0;
      for (int s = 0; s < BLOCK; s += SimFile.SECTOR) {
        count += bytes[s] == 2 ? 1 : 0;
      }
      changed.add(count);
    }
    assertTrue(changed.size() > 3);
  }

  @Test
  void losesMisdirectsAndFlips() {
    SimDisk disk = new SimDisk(4);
    SimDevice device = disk.device("a");
    for (int i = 0; i < 4; i++) {
      write(device, i, 1);
    }
    disk.fail(SimFault.once(1).of(IoOp.WRITE).effect(SimFault.Effect.LOSE));
    write(device, 1, 2);
    assertEquals(1, value(disk, "a", 1));
    disk.fail(SimFault.once(1).of(IoOp.WRITE).effect(SimFault.Effect.MISDIRECT));
    write(device, 1, 2);
    assertEquals(1, value(disk, "a", 1));
    assertTrue(value(disk, "a", 0) == 2 ^ value(disk, "a", 2) == 2);
    disk.fail(SimFault.once(1).of(IoOp.READ).effect(SimFault.Effect.FLIP));
    device.read(3 * BLOCK, seg, 0, BLOCK);
    int bits = 0;
    for (byte b : seg.asSlice(0, BLOCK).toArray(ValueLayout.JAVA_BYTE)) {
      bits += Integer.bitCount((b ^ 1) & 0xFF);
    }
    assertEquals(1, bits);
    disk.flip("a", 3 * BLOCK + 5, 0);
    assertEquals(0, disk.peek("a", 3 * BLOCK + 5, 1)[0]);
    assertEquals(0, disk.crash(SimCrash.LOSE_ALL).peek("a", 3 * BLOCK + 5, 1)[0]);
  }

  @Test
  void isFullUntilItsCapacityIsRaised() {
    SimDisk disk = new SimDisk(5);
    disk.capacity(2 * BLOCK);
    SimDevice a = disk.device("a");
    SimDevice b = disk.device("b");
    write(a, 0, 1);
    write(b, 0, 1);
    write(a, 0, 2);
    assertThrows(StorageFullException.class, () -> write(a, 1, 1));
    assertThrows(StorageFullException.class, () -> b.resize(2 * BLOCK));
    disk.capacity(3 * BLOCK);
    write(a, 1, 1);
  }

  @Test
  void stopsWhenThePowerFails() {
    for (int n = 1; n <= 6; n++) {
      SimDisk disk = new SimDisk(n);
      SimDevice device = disk.device("a");
      disk.powerOffAt(n);
      int done = 0;
      try {
        for (int i = 0; i < 3; i++) {
          write(device, i, i + 1);
          done++;
          device.sync();
          done++;
        }
        throw new AssertionError("the power did not fail");
      } catch (StorageException e) {
        assertEquals(n - 1, done);
      }
      assertThrows(StorageException.class, () -> device.read(0, seg, 0, BLOCK));
      SimDisk after = disk.crash(SimCrash.RANDOM);
      for (int i = 0; i < done / 2; i++) {
        assertEquals(i + 1, value(after, "a", i), "synced writes survive");
      }
      write(after.device("a"), 0, 1);
    }
  }

  @Test
  void canBeClonedBeforeEachOperation() {
    SimDisk disk = new SimDisk(6);
    SimDevice device = disk.device("a");
    List<SimDisk> clones = new ArrayList<>();
    disk.onOperation(n -> clones.add(disk.crash(SimCrash.KEEP_ALL)));
    for (int i = 0; i < 5; i++) {
      write(device, 0, i + 1);
    }
    assertEquals(5, clones.size());
    for (int i = 0; i < 5; i++) {
      assertEquals(i, value(clones.get(i), "a", 0));
    }
  }

  @Test
  void executesBatchesInAnyOrder() {
    Set<Integer> last = new HashSet<>();
    for (long seed = 0; seed < 30; seed++) {
      SimDisk disk = new SimDisk(seed);
      SimDevice device = disk.device("a");
      disk.asynchronous(seed % 2 == 0);
      IoBatch batch = new IoBatch(4);
      for (int i = 0; i < 3; i++) {
        seg.asSlice(i * BLOCK, BLOCK).fill((byte) (i + 1));
        batch.write(0, seg, i * BLOCK, BLOCK);
      }
      batch.sync();
      device.run(batch);
      batch.throwIfFailed();
      assertEquals(0, disk.unsyncedChanges());
      last.add(value(disk, "a", 0));
    }
    assertEquals(Set.of(1, 2, 3), last);
  }

  @Test
  void skipsTheSyncOfABatchThatFailed() {
    SimDisk disk = new SimDisk(7);
    SimDevice device = disk.device("a");
    disk.fail(SimFault.once(2));
    IoBatch batch = new IoBatch(3);
    batch.write(0, seg, 0, BLOCK);
    batch.write(BLOCK, seg, 0, BLOCK);
    batch.sync();
    device.run(batch);
    assertTrue(IntStream.range(0, batch.size()).anyMatch(i -> batch.error(i) != 0));
    assertEquals(Errno.ECANCELED, batch.error(2));
    assertEquals(1, (batch.error(0) != 0 ? 1 : 0) + (batch.error(1) != 0 ? 1 : 0));
    assertThrows(StorageException.class, batch::throwIfFailed);
    assertTrue(disk.unsyncedChanges() > 0);
  }

  @Test
  void holdsOperationsUntilTheyAreReleased() throws Exception {
    SimDisk disk = new SimDisk(8);
    SimDevice device = disk.device("a");
    disk.hold(IoOp.READ);
    MemorySegment shared = arena.allocate(2 * BLOCK, BLOCK);
    List<Thread> readers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      int off = i * BLOCK;
      readers.add(Thread.ofPlatform().start(() -> device.read(0, shared, off, BLOCK)));
    }
    disk.awaitHeld(2);
    write(device, 0, 9);
    disk.letGo();
    for (Thread reader : readers) {
      reader.join();
    }
    assertEquals(9, shared.get(ValueLayout.JAVA_BYTE, 0));
    assertEquals(9, shared.get(ValueLayout.JAVA_BYTE, BLOCK));
  }

  @Test
  void keepsFilesByName() {
    SimDisk disk = new SimDisk(9);
    write(disk.device("a"), 0, 1);
    write(disk.device("b"), 0, 2);
    assertEquals(List.of("a", "b"), disk.names());
    try (SimDevice again = disk.device("a")) {
      assertEquals(BLOCK, again.size());
    }
    assertEquals(512, disk.device("a", 512).blockSize());
    disk.delete("a");
    assertFalse(disk.exists("a"));
    assertEquals(0, disk.device("a").size());
    SimDisk copy = disk.copy();
    write(copy.device("b"), 0, 3);
    assertEquals(2, value(disk, "b", 0));
    assertTrue(disk.toString().contains("seed 9L"), disk.toString());
  }
}
