package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Checkpoints on demand, by bytes, and when something fails. */
class CheckpointTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .timestampBytes(1 << 20)
          .maxTransactions(4)
          .logBufferBytes(64 << 10)
          .logSegmentBytes(64 << 10)
          .logBytesMax(256 << 10)
          .checkpointInterval(Duration.ZERO);

  private static final TableSpec SPEC = TableSpec.bytes("t", 40);

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(Database db, int from, int to) {
    ByteTable t = db.table(SPEC).bytes();
    for (int i = from; i < to; i++) {
      byte[] key = bytes("key" + i);
      db.run(tx -> t.put(tx, key, new byte[200]));
    }
  }

  /** The files of a disk, the data file of which can't be synced while somebody says so. */
  private record Stubborn(SimStorage files, AtomicBoolean fails) implements Storage {
    @Override
    public BlockDevice open(String suffix) {
      BlockDevice device = files.open(suffix);
      if (!suffix.equals(DATA)) {
        return device;
      }
      return (BlockDevice)
          Proxy.newProxyInstance(
              BlockDevice.class.getClassLoader(),
              new Class<?>[] {BlockDevice.class},
              (proxy, method, arguments) -> {
                if (fails.get() && method.getName().equals("sync")) {
                  throw new StorageException("sync", "db", -1, 5, "EIO (by the test)");
                }
                try {
                  return method.invoke(device, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }

    @Override
    public boolean exists(String suffix) {
      return files.exists(suffix);
    }

    @Override
    public void delete(String suffix) {
      files.delete(suffix);
    }

    @Override
    public String name() {
      return files.name();
    }
  }

  @Test
  void aSyncThatFailsIsFinal() {
    SimDisk disk = new SimDisk(1);
    AtomicBoolean fails = new AtomicBoolean();
    Database db = Database.open(new Stubborn(new SimStorage(disk), fails), SMALL, Switches.NONE);
    put(db, 0, 100);
    assertEquals(DatabaseStats.Health.OK, db.stats().health());
    fails.set(true);
    assertThrows(FoveaException.class, db::checkpoint);
    assertEquals(DatabaseStats.Health.DURABILITY_LOST, db.stats().health());
    fails.set(false);
    assertThrows(DurabilityLostException.class, db::checkpoint);
    assertThrows(DurabilityLostException.class, () -> put(db, 100, 101));
    DurabilityLostException e = assertThrows(DurabilityLostException.class, db::close);
    assertTrue(e.getMessage().contains("again"), e.getMessage());
    try (Database again = Database.open(new SimStorage(disk), SMALL, Switches.NONE)) {
      ByteTable t = again.table(SPEC).bytes();
      for (int i = 0; i < 100; i++) {
        byte[] key = bytes("key" + i);
        assertArrayEquals(new byte[200], again.read(tx -> t.get(tx, key)));
      }
      assertTrue(again.verify().ok());
    }
  }

  @Test
  void theLogDoesNotGrowBeyondItsMaximum() throws InterruptedException {
    SimDisk disk = new SimDisk(2);
    try (Database db = Database.open(new SimStorage(disk), SMALL, Switches.NONE)) {
      db.table(SPEC);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        int from = i * 1000;
        threads.add(Thread.ofVirtual().start(() -> put(db, from, from + 1000)));
      }
      for (Thread t : threads) {
        t.join();
      }
      DatabaseStats s = db.stats();
      assertTrue(s.log().bytes() > 2 * SMALL.logBytesMax(), s::toString);
      // A commit that was let in may append what it has, and so may those beside it.
      assertTrue(s.log().redoBytes() < SMALL.logBytesMax() + (128 << 10), s::toString);
      assertTrue(s.storage().logBytes() < 4 * SMALL.logBytesMax(), s::toString);
      assertTrue(s.checkpoints().made() >= 2, s::toString);
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void onDemandItIsDoneWhenItReturns() {
    SimDisk disk = new SimDisk(3);
    Database db = Database.open(new SimStorage(disk), SMALL, Switches.NONE);
    put(db, 0, 50);
    long made = db.stats().checkpoints().made();
    db.checkpoint();
    assertEquals(made + 1, db.stats().checkpoints().made());
    assertEquals(0, db.stats().log().redoBytes());
    db.checkpoint();
    assertEquals(0, db.stats().checkpoints().failed());
    db.close();
    assertThrows(DatabaseClosedException.class, db::checkpoint);
    // Opened and not written to: nothing to do.
    try (Database again = Database.open(new SimStorage(disk), SMALL, Switches.NONE)) {
      again.checkpoint();
      assertEquals(0, again.stats().checkpoints().made());
    }
  }

  @Test
  void aFileThatWasOnlyReadStaysClean() {
    SimDisk disk = new SimDisk(4);
    try (Database db = Database.open(new SimStorage(disk), SMALL, Switches.NONE)) {
      put(db, 0, 10);
    }
    byte[] before = disk.peek("db", 0, 8192);
    Database db = Database.open(new SimStorage(disk), SMALL, Switches.NONE);
    ByteTable t = db.table(SPEC).bytes();
    assertEquals(true, db.read(tx -> t.exists(tx, bytes("key1"))));
    db.abandon();
    assertArrayEquals(before, disk.peek("db", 0, 8192));
    try (Database again = Database.open(new SimStorage(disk), SMALL, Switches.NONE)) {
      assertEquals(0, again.stats().recovery().nanos());
      assertTrue(again.verify().ok());
    }
  }

  @Test
  void optionsThatDoNotFitAreRefused() {
    Options o = Options.defaults();
    assertThrows(IllegalArgumentException.class, () -> o.logBufferBytes(100_000));
    assertThrows(IllegalArgumentException.class, () -> o.logBufferBytes(4096));
    assertThrows(IllegalArgumentException.class, () -> o.logSegmentBytes(100_000));
    assertThrows(IllegalArgumentException.class, () -> o.logBytesMax(1));
    assertThrows(IllegalArgumentException.class, () -> o.asyncWindow(Duration.ZERO, 1 << 20));
    assertThrows(IllegalArgumentException.class, () -> o.asyncWindow(Duration.ofMillis(1), 1));
    assertThrows(IllegalArgumentException.class, () -> o.checkpointInterval(Duration.ofMillis(-1)));
    refused(SMALL.pageSize(65536).bufferBytes(16 << 20), "logBufferBytes");
    refused(SMALL.logBufferBytes(1 << 20).logBytesMax(8 << 20), "logSegmentBytes");
    refused(SMALL.logSegmentBytes(1 << 20), "logBytesMax(4194304)");
    // Nothing is left that would be in the way.
    SimDisk disk = new SimDisk(5);
    assertThrows(
        InvalidUseException.class,
        () -> Database.open(new SimStorage(disk), SMALL.logSegmentBytes(1 << 20), Switches.NONE));
    assertFalse(disk.exists("db.log"));
    Database.open(new SimStorage(disk), SMALL, Switches.NONE).close();
  }

  private static void refused(Options options, String what) {
    InvalidUseException e =
        assertThrows(
            InvalidUseException.class,
            () -> Database.open(new SimStorage(new SimDisk(6)), options, Switches.NONE));
    assertTrue(e.getMessage().contains(what), e.getMessage());
  }
}
