package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.wal.Watermark;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SuperblockFileTest {
  private final BlockDevice device = new MemoryDevice();
  private final MemorySegment block = Arena.ofAuto().allocate(4096, 4096);

  private SuperblockFile file() {
    return new SuperblockFile(device, "test.fovea");
  }

  private Superblock read() {
    Superblock s = file().read();
    assertNotNull(s);
    return s;
  }

  private void damage(long offset) {
    device.read(offset & -4096L, block, 0, 4096);
    Mem.putByte(block, offset & 4095, (byte) ~Mem.getByte(block, offset & 4095));
    device.write(offset & -4096L, block, 0, 4096);
  }

  @Test
  void anEmptyFileHasNoSuperblock() {
    assertNull(file().read());
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 16384, 65536})
  void theNewerSuperblockIsUsed(int pageSize) {
    SuperblockFile f = file();
    Superblock first = f.write(Superblock.ofNew(pageSize));
    assertFalse(read().isClean());
    Superblock second = f.write(first.with(true, 17, new AllocatorState(100, 7, 3)));
    assertEquals(second, read());
    assertTrue(read().isClean());
    assertEquals(1, second.sequence());
    Superblock third = f.write(second.with(false, 18, new AllocatorState(200, 0, 0)));
    assertEquals(third, read());
    assertEquals(first.id(), third.id());
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 8192, 65536})
  void aTornWriteLeavesTheOther(int pageSize) {
    SuperblockFile f = file();
    Superblock first = f.write(Superblock.ofNew(pageSize));
    Superblock second = f.write(first.with(true, 17, AllocatorState.EMPTY));
    Superblock third = f.write(second.with(false, 18, AllocatorState.EMPTY));
    damage(600); // A, the newest
    assertEquals(second, read());
    // The next write replaces the damaged one.
    SuperblockFile again = file();
    assertEquals(second, again.read());
    assertEquals(third.sequence(), again.write(second).sequence());
    assertEquals(2, read().sequence());
  }

  @Test
  void logNumbersAreKept() {
    SuperblockFile f = file();
    Superblock first = f.write(Superblock.ofNew(4096));
    Superblock open =
        f.write(
            first
                .opened(7, 1 << 20)
                .logged(5000, new AllocatorState(9, 8, 1), 6000, 33, new Watermark(7000, 3)));
    assertEquals(Superblock.LOGGED, read().state());
    assertEquals(open, read());
    assertEquals(7, read().incarnation());
    assertEquals(5000, read().redoLsn());
    assertEquals(6000, read().snapshotLsn());
    Superblock closed = f.write(open.closed(new AllocatorState(10, 0, 0), 34, 7000, 4));
    assertTrue(read().isClean());
    assertEquals(closed, read());
    assertEquals(7000, read().endLsn());
    assertEquals(new Watermark(7000, 4), read().durable());
    // Without a log for a while; the log's position is kept.
    f.write(closed.with(false, 35, AllocatorState.EMPTY));
    assertEquals(Superblock.IN_USE, read().state());
    assertEquals(7000, read().endLsn());
    assertEquals(7, read().incarnation());
  }

  @Test
  void anIncompletelyCreatedFileHasNoSuperblock() {
    Superblock made = Superblock.ofNew(4096);
    file().write(made.logged(4096, made.allocator(), 4096, 2, Watermark.NONE));
    assertNull(file().read());
    device.resize(0);
    device.resize(4096);
    assertNull(file().read());
  }

  @Test
  void theFirstFormatHadNoLog() {
    file().write(Superblock.ofNew(4096).opened(9, 9).closed(AllocatorState.EMPTY, 3, 9000, 1));
    device.read(0, block, 0, 4096);
    Mem.putInt(block, 40, 1);
    PageHeader.seal(block, 0, 4096);
    device.write(0, block, 0, 4096);
    assertTrue(read().isClean());
    assertEquals(0, read().endLsn());
    assertEquals(0, read().incarnation());
  }

  /**
   * A concurrent reader saw one copy while it was being written, and the other during the next
   * write.
   */
  @Test
  void concurrentReadsAreRepeated() {
    SimDisk disk = new SimDisk(1);
    SimDevice device = disk.device("db");
    SuperblockFile f = new SuperblockFile(device, "test.fovea");
    Superblock second = f.write(f.write(Superblock.ofNew(4096)).with(true, 17, state(100)));
    long[] places = {600, 4096 + 600};
    for (long at : places) {
      disk.flip("db", at, 1);
    }
    assertThrows(CorruptionException.class, f::read);
    assertThrows(CorruptionException.class, f::readForeign, "the damage persists");
    long[] left = {5};
    disk.onOperation(
        n -> {
          if (--left[0] == 0) {
            for (long at : places) {
              disk.flip("db", at, 1);
            }
          }
        });
    assertEquals(second, f.readForeign());
    assertTrue(left[0] <= 0);
  }

  private static AllocatorState state(long highWater) {
    return new AllocatorState(highWater, 0, 0);
  }

  @Test
  void twoDamagedSuperblocksAreCorruption() {
    SuperblockFile f = file();
    f.write(f.write(Superblock.ofNew(4096)));
    damage(600);
    damage(4096 + 600);
    assertThrows(CorruptionException.class, () -> file().read());
  }

  @Test
  void otherFilesAreNotDatabases() {
    Mem.putLong(block, 0, 0x1234_5678_9ABCL);
    device.write(0, block, 0, 4096);
    device.write(4096, block, 0, 4096);
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> file().read());
    assertTrue(e.getMessage().contains("not a Fovea database"), e.getMessage());
    Mem.zero(block, 0, 4096);
    device.write(0, block, 0, 4096);
    device.write(4096, block, 0, 4096);
    assertThrows(IncompatibleFormatException.class, () -> file().read());
  }

  @Test
  void aNewerFormatIsRefused() {
    file().write(Superblock.ofNew(4096));
    device.read(0, block, 0, 4096);
    Mem.putInt(block, 40, Superblock.FORMAT_VERSION + 1);
    PageHeader.seal(block, 0, 4096);
    device.write(0, block, 0, 4096);
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> file().read());
    assertTrue(e.getMessage().contains("newer"), e.getMessage());
  }

  /** Whichever bit of one copy is flipped, the other copy is read. */
  @Test
  void readsTheOtherCopyIfOneIsDamaged() {
    SuperblockFile f = file();
    f.write(Superblock.ofNew(4096));
    f.write(f.current());
    for (int at = 0; at < 192; at++) {
      for (int of = 0; of < 2; of++) {
        damage(of * 4096 + at);
        assertNotNull(file().read(), "byte " + at + " of " + of);
        damage(of * 4096 + at);
      }
    }
  }

  @Test
  void everyUsedByteIsChecked() {
    SuperblockFile f = file();
    f.write(Superblock.ofNew(4096));
    for (int at = 4; at < 192; at++) {
      damage(at);
      try {
        assertNull(file().read(), "byte " + at);
      } catch (CorruptionException | IncompatibleFormatException e) {
        assertNotNull(e.getMessage());
      }
      damage(at);
    }
    assertNotNull(file().read());
  }
}
