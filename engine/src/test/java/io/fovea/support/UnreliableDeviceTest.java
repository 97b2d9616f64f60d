package io.fovea.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.Storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The effects of unreliable devices; {@code DeviceContractTest} tests their contract. */
class UnreliableDeviceTest {
  private static final int BLOCK = SimDisk.BLOCK;

  private final MemorySegment seg = Arena.ofAuto().allocate(16L * BLOCK, BLOCK);

  /** Returns which operations failed, as one letter each. */
  private String fates(long seed, DeviceBehavior manner, boolean write) {
    StringBuilder fates = new StringBuilder();
    try (BlockDevice device = new UnreliableDeviceState(manner, seed).on(new SimDevice(seed))) {
      for (int i = 0; i < 200; i++) {
        try {
          if (write) {
            device.write((long) i * BLOCK, seg, 0, BLOCK);
          } else {
            device.read((long) i * BLOCK, seg, 0, BLOCK);
          }
          fates.append('.');
        } catch (StorageFullException e) {
          fates.append('F');
        } catch (StorageException e) {
          fates.append('E');
        }
      }
    }
    return fates.toString();
  }

  @Test
  void failuresFollowFromTheSeed() {
    DeviceBehavior manner = DeviceBehavior.SMOOTH.failingReads(0.1).failingWrites(0.2);
    String reads = fates(1, manner, false);
    assertEquals(reads, fates(1, manner, false));
    assertNotEquals(reads, fates(2, manner, false));
    assertTrue(reads.contains("E") && !reads.contains("F"), reads);
    String writes = fates(1, manner, true);
    assertTrue(writes.contains("E") && writes.contains("F"), writes);
    assertEquals(".".repeat(200), fates(1, DeviceBehavior.SHUFFLED, true));
  }

  @Test
  void worksAgainAfterAFailure() {
    SimDevice below = new SimDevice(1);
    seg.asSlice(0, BLOCK).fill((byte) 1);
    below.write(0, seg, 0, BLOCK);
    UnreliableDeviceState deviceState =
        new UnreliableDeviceState(DeviceBehavior.SMOOTH.failingReads(1).failingWrites(1), 1);
    try (BlockDevice device = deviceState.on(below)) {
      for (int i = 0; i < 3; i++) {
        seg.fill((byte) 0);
        assertThrows(StorageException.class, () -> device.read(0, seg, 0, BLOCK));
        assertNotEquals(1, seg.get(ValueLayout.JAVA_BYTE, 0), "rubbish");
        device.read(0, seg, 0, BLOCK);
        assertEquals(1, seg.get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(FoveaException.class, () -> device.write(0, seg, 0, BLOCK));
        device.write(0, seg, 0, BLOCK);
        assertEquals(1, below.disk().peek("device", 0, 1)[0]);
      }
      assertEquals(3, deviceState.readsFailed());
      assertEquals(3, deviceState.writesFailed());
      deviceState.faults(false);
      device.write(0, seg, 0, BLOCK);
      device.read(0, seg, 0, BLOCK);
    }
  }

  /** Either of two transfers in a batch may complete last. */
  @Test
  void reordersTheEntriesOfABatch() {
    SimDevice below = new SimDevice(1);
    IoBatch batch = new IoBatch(3);
    seg.asSlice(0, BLOCK).fill((byte) 1);
    seg.asSlice(BLOCK, BLOCK).fill((byte) 2);
    List<Byte> last = new ArrayList<>();
    try (BlockDevice device = new UnreliableDeviceState(DeviceBehavior.SHUFFLED, 1).on(below)) {
      while (!last.contains((byte) 1) || !last.contains((byte) 2)) {
        batch.clear();
        batch.write(0, seg, 0, BLOCK);
        batch.write(0, seg, BLOCK, BLOCK);
        batch.sync();
        device.run(batch);
        batch.throwIfFailed();
        last.add(below.disk().peek("device", 0, 1)[0]);
        assertEquals(0, below.disk().unsyncedChanges(), "the sync completed last");
        assertTrue(last.size() < 10_000, "the order never varied");
      }
    }
  }

  @Test
  void failsTheDataFileOnly() {
    UnreliableDeviceState deviceState =
        new UnreliableDeviceState(DeviceBehavior.SMOOTH.failingWrites(1), 1);
    Storage storage = new UnreliableStorage(new SimStorage(new SimDisk(1)), deviceState);
    try (BlockDevice log = storage.open(Storage.LOG);
        BlockDevice data = storage.open(Storage.DATA)) {
      log.write(0, seg, 0, BLOCK);
      assertThrows(StorageException.class, () -> data.write(0, seg, 0, BLOCK));
    }
    assertTrue(storage.exists(Storage.LOG));
    storage.delete(Storage.LOG);
    assertTrue(!storage.exists(Storage.LOG));
  }
}
