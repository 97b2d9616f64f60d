package io.fovea.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.junit.FoveaDatabase.Location;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** What makes a test fail after its body. */
class VerificationTest {
  /** Options with which leaks fail without waiting. */
  static Options impatient(Options options) {
    return options.transactions(t -> t.closeTimeout(Duration.ZERO));
  }

  private static final String IMPATIENT = "io.fovea.junit.VerificationTest#impatient";

  // ----------------------------------------------------------------------------------------- leaks

  @FoveaDatabase(optionsMethod = IMPATIENT)
  static class Leaking {
    static Database snapshot;

    @Test
    void clean(Database db) {
      db.begin().rollback();
      db.snapshot().close();
    }

    @Test
    void transaction(Database db) {
      db.begin();
    }

    @Test
    void snapshots(Database db) {
      db.snapshot();
      snapshot = db.snapshot();
    }

    @Test
    void both(Database db) {
      db.begin();
      db.begin();
      snapshot = db.snapshot();
    }
  }

  @Test
  void openTransactionsAndSnapshotsFail() {
    Run run = Run.of(Leaking.class);
    assertEquals(
        List.of("both(Database)", "snapshots(Database)", "transaction(Database)"),
        run.failedTests().stream().sorted().toList());
    String of = "The database of " + Leaking.class.getName();
    assertEquals(
        List.of(
            of + ".both(Database) was left with 2 transactions and 1 snapshot open.",
            of + ".snapshots(Database) was left with 2 snapshots open.",
            of + ".transaction(Database) was left with 1 transaction open."),
        run.failures().stream().map(f -> f.getMessage().split(" Close ")[0]).sorted().toList());
    assertFalse(Leaking.snapshot.isOpen());
  }

  static class LeakingInClass {
    @FoveaDatabase(optionsMethod = IMPATIENT)
    static Database db;

    static Database ofClass;

    @BeforeAll
    static void before() {
      ofClass = db.snapshot();
    }

    @Test
    void clean() {}

    @Test
    void leaks() {
      db.begin();
      db.snapshot();
    }

    @Test
    void alsoClean() {}

    @AfterAll
    static void after() {
      ofClass.close();
    }
  }

  @Test
  void theTestThatLeaksIsNamed() {
    Run run = Run.of(LeakingInClass.class);
    assertEquals(List.of("leaks()"), run.failedTests());
    String type = LeakingInClass.class.getName();
    assertEquals(
        type + ".leaks() left 1 transaction and 1 snapshot open in the database of " + type + ".",
        run.failure().getMessage().split(" Close ")[0]);
    assertFalse(LeakingInClass.db.isOpen());
  }

  static class LeakingAtTheEnd {
    @FoveaDatabase(optionsMethod = IMPATIENT)
    static Database db;

    @Test
    void clean() {}

    @AfterAll
    static void after() {
      db.begin();
    }
  }

  @Test
  void leaksOfAClassFailIt() {
    Run run = Run.of(LeakingAtTheEnd.class);
    assertEquals(1, run.failedContainers());
    assertTrue(run.failure().getMessage().contains("with 1 transaction open"));
    assertFalse(LeakingAtTheEnd.db.isOpen());
  }

  @ExtendWith(InParallel.Watcher.class)
  static class InParallel {
    @FoveaDatabase(optionsMethod = IMPATIENT)
    static Database db;

    static final CountDownLatch BEGUN = new CountDownLatch(1);
    static final CountDownLatch ENDED = new CountDownLatch(1);

    /** Called after all other extensions. */
    static final class Watcher implements TestWatcher {
      @Override
      public void testSuccessful(ExtensionContext context) {
        ENDED.countDown();
      }

      @Override
      public void testFailed(ExtensionContext context, Throwable cause) {
        ENDED.countDown();
      }
    }

    @Test
    void ends() throws Exception {
      BEGUN.await();
    }

    @Test
    void hasATransactionMeanwhile() throws Exception {
      db.<Exception>run(
          tx -> {
            BEGUN.countDown();
            ENDED.await();
          });
    }
  }

  @Test
  void aTestIsNotBlamedForTransactionsOfParallelOnes() {
    Run.inParallel(InParallel.class).succeeds(2);
  }

  static class EndingLate {
    static final CountDownLatch BEGUN = new CountDownLatch(1);

    static Options patient(Options options) {
      return options.transactions(t -> t.closeTimeout(Duration.ofMinutes(1)));
    }

    /** Returns while a transaction is open, which ends once the extension closes the database. */
    @Test
    void submits(@FoveaDatabase(optionsMethod = "patient") Database db) throws Exception {
      Thread test = Thread.currentThread();
      Thread.ofVirtual()
          .start(
              () ->
                  db.run(
                      tx -> {
                        BEGUN.countDown();
                        while (isInTest(test)) {
                          Thread.onSpinWait();
                        }
                      }));
      BEGUN.await();
    }

    private static boolean isInTest(Thread thread) {
      for (StackTraceElement e : thread.getStackTrace()) {
        if (e.getMethodName().equals("close")
            && e.getClassName().equals(OpenDatabase.class.getName())) {
          return false;
        }
      }
      return true;
    }
  }

  @Test
  void transactionsOfOtherThreadsMayEnd() {
    Run.of(EndingLate.class).succeeds(1);
  }

  @FoveaDatabase(optionsMethod = IMPATIENT)
  static class Failing {
    @Test
    void one(Database db) {
      db.begin();
      fail("first");
    }
  }

  @Test
  void aLeakIsSuppressedInAFailure() {
    Throwable failure = Run.of(Failing.class).failure();
    assertEquals("first", failure.getMessage());
    assertTrue(failure.getSuppressed()[0].getMessage().contains("with 1 transaction open"));
  }

  static class Interrupted {
    static Database seen;

    @Test
    void one(@FoveaDatabase(location = Location.TEMPORARY_FOLDER) Database db) {
      seen = db;
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void anInterruptDoesNotPreventTheVerification() {
    Run.of(Interrupted.class).succeeds(1);
    assertFalse(Interrupted.seen.isOpen());
  }

  // ---------------------------------------------------------------------------------------- damage

  /** Fills a database with more data than its buffer holds, and overwrites its pages. */
  private static void damage(Database db, Path file) throws IOException {
    Table<byte[], byte[]> table = db.table(TableSpec.bytes("damaged", 64)).bytes();
    for (int i = 0; i < 20; i++) {
      byte from = (byte) i;
      db.run(
          tx -> {
            for (byte j = 0; j < 100; j++) {
              table.put(tx, new byte[] {from, j}, new byte[700]);
            }
          });
    }
    db.checkpoint();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      long from = 64 << 10; // behind the superblocks
      channel.write(ByteBuffer.allocate(Math.toIntExact(channel.size() - from)), from);
    }
  }

  static Options small(Options options) {
    return options.bufferBytes(1 << 20);
  }

  static class Damaged {
    static Database seen;

    @Test
    void one(
        @FoveaDatabase(location = Location.TEMPORARY_FOLDER, optionsMethod = SMALL) Database db,
        @FoveaDatabase Path file)
        throws IOException {
      seen = db;
      damage(db, file);
    }
  }

  private static final String SMALL = "io.fovea.junit.VerificationTest#small";

  @Test
  void aDamagedDatabaseFails() throws IOException {
    String message = Run.of(Damaged.class).failure().getMessage();
    String start =
        "The database of " + Damaged.class.getName() + ".one(Database, Path) is damaged.";
    assertTrue(message.startsWith(start + " Its files are in "), message);
    assertTrue(message.contains("\n  table damaged: UNREADABLE page "), message);
    assertTrue(message.endsWith(" more"), message);
    assertFalse(Damaged.seen.isOpen());
    Path folder = Path.of(message.split(" Its files are in ")[1].split("\\. The verification ")[0]);
    assertTrue(Files.exists(folder.resolve("test.fovea")), "kept");
    delete(folder);
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path f : files.toList()) {
        Files.delete(f);
      }
    }
    Files.delete(folder);
  }

  static class DamagedOnPurpose {
    static Path seen;

    @Test
    void one(
        @FoveaDatabase(location = Location.TEMPORARY_FOLDER, optionsMethod = SMALL, verify = false)
            Database db,
        @FoveaDatabase Path file)
        throws IOException {
      seen = file;
      damage(db, file);
    }
  }

  @Test
  void verificationCanBeTurnedOff() {
    Run.of(DamagedOnPurpose.class).succeeds(1);
    assertFalse(Files.exists(DamagedOnPurpose.seen.getParent()));
  }

  static class ClosedAndDamaged {
    @FoveaDatabase(location = Location.TEMPORARY_FOLDER)
    Database db;

    @Test
    void one(@FoveaDatabase Path file) throws IOException {
      damage(db, file);
      db.close();
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.allocate(64 << 10), 64 << 10);
      }
    }
  }

  @Test
  void theFileOfAClosedDatabaseIsVerified() throws IOException {
    String message = Run.of(ClosedAndDamaged.class).failure().getMessage();
    assertTrue(message.contains(" is damaged."), message);
    delete(Path.of(message.split(" Its files are in ")[1].split("\\. The verification ")[0]));
  }

  static class ReopenedAndLeaked {
    static Database leaked;

    @Test
    void one(
        @FoveaDatabase(location = Location.TEMPORARY_FOLDER) Database db,
        @FoveaDatabase Path file) {
      db.close();
      leaked = Database.open(file, db.options());
    }
  }

  @Test
  void aDatabaseThatTheTestLeavesOpenFails() throws IOException {
    String message = Run.of(ReopenedAndLeaked.class).failure().getMessage();
    assertTrue(message.contains("was opened again and not closed."), message);
    ReopenedAndLeaked.leaked.close();
    delete(Path.of(message.split(" Its files are in ")[1].replaceAll("\\.$", "")));
  }

  static class ClosedInMemory {
    @Test
    void one(@FoveaDatabase Database db) {
      db.close();
    }
  }

  @Test
  void aDatabaseInMemoryMayBeClosed() {
    Run.of(ClosedInMemory.class).succeeds(1);
  }
}
