package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import io.fovea.txn.FaultInjection;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A commit whose record is in the log lacks a resource at its k-th change of a tree, for every k.
 * If the resource may become available, the commit waits for it without a limit, until a close.
 * Otherwise the database stops, and reads continue.
 */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StoppedTest {
  /** How many records the disturbed commit writes. */
  private static final int CHANGES = 4;

  /** Often enough to detect a commit that spins or fails. */
  private static final int ATTEMPTS = 60;

  private static final int OTHERS = 200;

  /** Fails the k-th change of a commit, this many times. */
  private static final class Disturbance {
    private final int at;
    private final int times;
    private final Supplier<? extends Throwable> what;
    private volatile @Nullable Thread whose;
    private int installed;
    private int failed;
    final CountDownLatch begun = new CountDownLatch(1);

    Disturbance(int at, int times, Supplier<? extends Throwable> what) {
      this.at = at;
      this.times = times;
      this.what = what;
    }

    FaultInjection faults() {
      return FaultInjection.NONE.with(
          (stage, tx) -> {
            if (stage != FaultInjection.Stage.INSTALLING || Thread.currentThread() != whose) {
              return;
            }
            if (installed < at || failed == times) {
              installed++;
              return;
            }
            failed++;
            begun.countDown();
            throwAs(what.get());
          });
    }

    int failed() {
      return failed;
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAs(Throwable t) throws T {
      throw (T) t;
    }
  }

  private static byte[] key(String s) {
    return s.getBytes();
  }

  private static byte[] value(int n, int length) {
    byte[] v = new byte[length];
    java.util.Arrays.fill(v, (byte) n);
    return v;
  }

  /** Every second record exists before, so half of the changes are inserts. */
  private static String changed(int i) {
    return "key" + (10 + 37 * i) + (i % 2 == 0 ? "" : "-new");
  }

  private final SimDisk disk = new SimDisk(1);

  private Options options =
      Session.small().transactions(txs -> txs.maxActive(4)).bufferBytes(1 << 20);

  private static Table<byte[], byte[]> table(Database db) {
    return db.table(TableSpec.bytes("t", 16)).bytes();
  }

  private Database open(Disturbance d) {
    Database db = SimDatabase.open(new SimStorage(disk), options, d.faults(), config -> config);
    Table<byte[], byte[]> t = table(db);
    for (int i = 0; i < OTHERS; i++) {
      int n = i;
      db.run(tx -> t.put(tx, key("key" + n), value(n, 100)));
    }
    return db;
  }

  private static void change(Database db, Disturbance d) {
    d.whose = Thread.currentThread();
    Table<byte[], byte[]> t = table(db);
    db.run(
        tx -> {
          for (int i = 0; i < CHANGES; i++) {
            t.put(tx, key(changed(i)), value(99, 150));
          }
        });
  }

  private static void mustHold(Database db) {
    Table<byte[], byte[]> t = table(db);
    for (int i = 0; i < CHANGES; i++) {
      String name = changed(i);
      assertArrayEquals(value(99, 150), db.read(tx -> t.get(tx, key(name))), name);
    }
    assertTrue(db.verify().ok());
  }

  private static RuntimeException noFrame() {
    return new PoolExhaustedException(1, 1);
  }

  private static RuntimeException noSpace() {
    return new StorageFullException("resize", "db", 1, "ENOSPC");
  }

  private static RuntimeException unreadable() {
    return new StorageException(IoOp.READ.word(), "db", 4096, 5, "EIO");
  }

  /** A reader sees the waiting commit as a lock, and aborts. Other threads are unaffected. */
  @Test
  void waitsForTransientFailures() throws Exception {
    for (int k = 0; k < CHANGES; k++) {
      for (Supplier<RuntimeException> what :
          java.util.List.<Supplier<RuntimeException>>of(
              StoppedTest::noFrame, StoppedTest::noSpace)) {
        Disturbance d = new Disturbance(k, ATTEMPTS, what);
        Database db = open(d);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread writer = Thread.ofPlatform().start(() -> catching(thrown, () -> change(db, d)));
        d.begun.await();
        Table<byte[], byte[]> t = table(db);
        assertArrayEquals(value(3, 100), db.read(tx -> t.get(tx, key("key3"))));
        db.run(tx -> t.put(tx, key("key4"), value(4, 100)));
        writer.join();
        assertEquals(null, thrown.get());
        assertEquals(ATTEMPTS, d.failed());
        assertEquals(DatabaseStats.Health.OK, db.stats().health());
        mustHold(db);
        db.close();
      }
    }
  }

  private static void catching(AtomicReference<Throwable> thrown, Runnable what) {
    try {
      what.run();
    } catch (Throwable e) {
      thrown.set(e);
    }
  }

  /** A close does not wait for the commit, which recovery then finds in the log. */
  @Test
  void aCloseEndsTheWait() throws Exception {
    for (int k = 0; k < CHANGES; k++) {
      Disturbance d = new Disturbance(k, Integer.MAX_VALUE, StoppedTest::noSpace);
      options = options.transactions(txs -> txs.closeTimeout(Duration.ofMillis(1)));
      Database db = open(d);
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Thread writer = Thread.ofPlatform().start(() -> catching(thrown, () -> change(db, d)));
      d.begun.await();
      assertThrows(DurabilityLostException.class, db::close);
      writer.join();
      assertTrue(
          thrown.get() instanceof DurabilityLostException e && e.mayHaveCommitted(),
          () -> "got " + thrown.get());
      try (Database again = SimDatabase.open(new SimStorage(disk), options)) {
        mustHold(again);
      }
    }
  }

  /** With OCC the stopped commit keeps its critical section; with the others, its locks. */
  @ParameterizedTest
  @EnumSource
  void readsContinueAfterAFatalFailure(Protocol protocol) {
    options = options.experiments(exp -> exp.protocol(protocol));
    for (int k = 0; k < CHANGES; k++) {
      Disturbance d = new Disturbance(k, Integer.MAX_VALUE, StoppedTest::unreadable);
      Database db = open(d);
      DurabilityLostException lost =
          assertThrows(DurabilityLostException.class, () -> change(db, d));
      assertTrue(lost.mayHaveCommitted());
      assertEquals(DatabaseStats.Health.STOPPED, db.stats().health());
      assertEquals("", SimDatabase.heldLogSpace(db));
      Table<byte[], byte[]> t = table(db);
      for (int round = 0; round < 2; round++) {
        int seen = 0;
        for (int i = 0; i < OTHERS; i++) {
          String name = "key" + i;
          int n = i;
          try {
            assertArrayEquals(value(n, 100), db.read(tx -> t.get(tx, key(name))), name);
            seen++;
          } catch (DurabilityLostException e) {
            assertTrue(touched(name), name + " was not affected: " + e);
          }
        }
        assertTrue(seen >= OTHERS - 3 * CHANGES, seen + " of " + OTHERS);
        for (int i = 0; i < CHANGES; i++) {
          String name = changed(i);
          assertThrows(
              DurabilityLostException.class, () -> db.read(tx -> t.get(tx, key(name))), name);
        }
      }
      // A full scan reaches the partial changes.
      assertThrows(
          DurabilityLostException.class,
          () ->
              db.read(
                  tx -> {
                    int n = 0;
                    try (Cursor<byte[], byte[]> c =
                        t.scanPrefix(tx, key("key"), ScanOrder.ASCENDING)) {
                      while (c.next()) {
                        n++;
                      }
                    }
                    return n;
                  }));
      assertThrows(
          DurabilityLostException.class, () -> db.run(tx -> t.put(tx, key("key3"), value(1, 100))));
      assertThrows(DurabilityLostException.class, db::close);
      try (Database again = SimDatabase.open(new SimStorage(disk), options)) {
        mustHold(again);
      }
    }
  }

  /** Returns whether the commit writes a key, or the key guards a gap in which it inserts. */
  private static boolean touched(String name) {
    for (int i = 0; i < CHANGES; i++) {
      String c = changed(i);
      if (c.equals(name) || c.endsWith("-new") && name.compareTo(c) > 0 && isNext(c, name)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isNext(String inserted, String name) {
    for (int i = 0; i < OTHERS; i++) {
      String other = "key" + i;
      if (other.compareTo(inserted) > 0 && other.compareTo(name) < 0) {
        return false;
      }
    }
    return true;
  }

  /** After an error that may have left a page half changed, nothing can be read. */
  @Test
  void noReadsAfterAnUnexpectedError() {
    Disturbance d = new Disturbance(1, Integer.MAX_VALUE, () -> new IllegalStateException("a bug"));
    Database db = open(d);
    assertThrows(FoveaException.class, () -> change(db, d));
    Table<byte[], byte[]> t = table(db);
    assertThrows(DurabilityLostException.class, () -> db.read(tx -> t.get(tx, key("key3"))));
    assertThrows(DurabilityLostException.class, db::close);
  }

  /** After the log has failed, only durable data can be read. */
  @Test
  void durableDataIsReadableAfterALogFailure() {
    Database db = SimDatabase.open(new SimStorage(disk), options.durability(Durability.SYNC));
    Table<byte[], byte[]> t = table(db);
    Table<byte[], byte[]> u = db.table(TableSpec.bytes("u", 16)).bytes();
    db.run(tx -> t.put(tx, key("a"), value(1, 100)));
    db.run(tx -> u.put(tx, key("a"), value(1, 100)));
    SimDatabase.checkpoint(db);
    disk.fail(SimFault.from(1).of(IoOp.SYNC));
    DurabilityLostException lost =
        assertThrows(
            DurabilityLostException.class, () -> db.run(tx -> u.put(tx, key("a"), value(2, 100))));
    assertTrue(lost.mayHaveCommitted());
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(value(1, 100), db.read(tx -> t.get(tx, key("a"))));
      assertThrows(DurabilityLostException.class, () -> db.read(tx -> u.get(tx, key("a"))));
      assertThrows(
          DurabilityLostException.class, () -> db.run(tx -> t.put(tx, key("b"), value(2, 100))));
    }
    assertThrows(DurabilityLostException.class, db::close);
  }
}
