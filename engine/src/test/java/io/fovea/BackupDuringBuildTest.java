package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A backup that starts at any step of a load or index build, and ends when the build is published
 * or must wait for that. The copy contains all of the build or none of it, and its increment
 * contains all.
 *
 * <p>An earlier load holds back the redo point for as long as the test needs.
 */
class BackupDuringBuildTest {
  private static final int RECORDS = 20_000;
  private static final TableSpec OTHER = TableSpec.bytes("other", 8);
  private static final TableSpec PLAIN = TableSpec.bytes("t", 8);

  private static final int HALF = RECORDS / 2;

  @TempDir Path dir;

  private final Gate half = new Gate();

  private final TableSpec indexed =
      PLAIN.with(
          IndexSpec.bytes(
              "i",
              KeySpec.of(FieldType.INT64),
              false,
              (key, value, entry) -> {
                long k = ByteBuffer.wrap(key).getLong();
                if (k == HALF) {
                  half.pass();
                }
                entry.int64(-k);
                return true;
              }));

  /** The state of the build when the backup begins. */
  enum Step {
    NONE,
    /** Half of the records have been read. */
    READING,
    /** The catalog contains its trees; the redo point is before them. */
    REDO,
    /** It waits for an earlier backup. */
    BACKUPS
  }

  /** Holds all arriving threads until it is opened. */
  private static final class Gate {
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch open = new CountDownLatch(1);

    void pass() {
      reached.countDown();
      await(open);
    }

    void awaitArrival() {
      await(reached);
    }

    void open() {
      open.countDown();
    }

    private static void await(CountDownLatch latch) {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private static final class Work {
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    final Thread thread;

    Work(Runnable what) {
      thread = Thread.ofPlatform().daemon().unstarted(what);
      thread.setUncaughtExceptionHandler((t, e) -> failure.set(e));
    }

    /** Waits until the thread is in the given method of {@code FreshTrees} or has ended. */
    void awaitIn(String method) throws InterruptedException {
      while (thread.isAlive() && !isIn(method)) {
        Thread.sleep(1);
      }
    }

    private boolean isIn(String method) {
      return Arrays.stream(thread.getStackTrace())
          .anyMatch(
              f ->
                  f.getClassName().equals("io.fovea.catalog.FreshTrees")
                      && f.getMethodName().equals(method));
    }

    void join() throws InterruptedException {
      thread.join();
      assertNull(failure.get());
    }
  }

  /** A backup that has written its superblock and waits before it copies pages. */
  private static final class HeldBackup {
    private final Gate gate = new Gate();
    private final Work work;
    private volatile @Nullable BackupReport report;

    private final ByteArrayOutputStream archive =
        new ByteArrayOutputStream() {
          @Override
          public synchronized void write(byte[] b, int off, int len) {
            gate.pass();
            super.write(b, off, len);
          }
        };

    HeldBackup(Database db) {
      work = new Work(() -> report = db.backup(archive));
      work.thread.start();
      gate.awaitArrival();
    }

    void end() throws InterruptedException {
      gate.open();
      work.join();
    }

    BackupPosition position() {
      return Objects.requireNonNull(Objects.requireNonNull(report).position());
    }

    ByteArrayInputStream stream() {
      return new ByteArrayInputStream(archive.toByteArray());
    }
  }

  private static byte[] key(long i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private void load(Database db) {
    db.table(PLAIN)
        .bytes()
        .load(
            LoadOptions.defaults().ascending(true),
            into -> {
              for (int i = 0; i < RECORDS; i++) {
                if (i == HALF) {
                  half.pass();
                }
                into.add(key(i), key(i));
              }
            });
  }

  /** Checks that each record is found by key and by index; returns the number of records. */
  private long check(Path file, boolean index) {
    try (Database db = Database.open(file, Options.defaults())) {
      assertEquals(List.of(), db.verify().problems());
      Table<byte[], byte[]> t = db.table(index ? indexed : PLAIN).bytes();
      long n = db.read(tx -> count(t.scan(tx, null, null, ScanOrder.ASCENDING)));
      if (index) {
        Index<Key, byte[], byte[]> i = t.index("i", Key.class);
        assertEquals(n, i.count());
        assertEquals(List.of(), db.verify().problems());
      }
      return n;
    }
  }

  private static long count(Cursor<byte[], byte[]> c) {
    long n = 0;
    try (c) {
      while (c.next()) {
        assertEquals(n, ByteBuffer.wrap(c.key()).getLong());
        n++;
      }
    }
    return n;
  }

  @ParameterizedTest
  @EnumSource(Step.class)
  void duringALoad(Step step) throws Exception {
    duringABuild(step, false);
  }

  @ParameterizedTest
  @EnumSource(Step.class)
  void duringAnIndexBuild(Step step) throws Exception {
    duringABuild(step, true);
  }

  private void duringABuild(Step step, boolean index) throws Exception {
    Options options =
        Options.defaults()
            .bufferBytes(8 << 20)
            .log(log -> log.checkpointInterval(Duration.ofMillis(20)));
    Gate source = new Gate();
    try (Database db = Database.open(dir.resolve("db"), options)) {
      try {
        duringABuild(db, step, index, source);
      } finally {
        half.open();
        source.open();
      }
    }
  }

  private void duringABuild(Database db, Step step, boolean index, Gate source) throws Exception {
    db.table(PLAIN);
    if (index) {
      db.run(
          tx -> {
            for (int i = 0; i < RECORDS; i++) {
              db.table(PLAIN).bytes().put(tx, key(i), key(i));
            }
          });
    }
    Work other =
        new Work(
            () ->
                db.table(OTHER)
                    .bytes()
                    .load(LoadOptions.defaults().ascending(true), into -> source.pass()));
    other.thread.start();
    source.awaitArrival();

    HeldBackup before = step == Step.BACKUPS ? new HeldBackup(db) : null;
    HeldBackup backup = step == Step.NONE ? new HeldBackup(db) : null;
    Work build = new Work(index ? () -> db.table(indexed) : () -> load(db));
    build.thread.start();
    half.awaitArrival();
    if (step == Step.READING) {
      backup = new HeldBackup(db);
    }
    half.open();
    build.awaitIn("awaitRedo");
    assertTrue(build.thread.isAlive());
    if (step == Step.REDO) {
      backup = new HeldBackup(db);
    }
    source.open();
    build.awaitIn("awaitBackups");
    if (before != null) {
      assertTrue(build.thread.isAlive());
      backup = new HeldBackup(db);
      before.end();
      build.join(); // it does not wait for a backup that began after the redo point
    }
    HeldBackup held = Objects.requireNonNull(backup);
    held.end();
    build.join();
    other.join();

    copies("one", held, added(db, held), index);
    if (before != null) {
      copies("before", before, added(db, before), index);
    }
  }

  private static ByteArrayOutputStream added(Database db, HeldBackup to) {
    ByteArrayOutputStream more = new ByteArrayOutputStream();
    db.backup(more, BackupOptions.defaults().since(to.position()));
    return more;
  }

  private void copies(String name, HeldBackup first, ByteArrayOutputStream more, boolean index) {
    Path one = dir.resolve(name);
    assertTrue(Restore.from(first.stream()).to(one, Options.defaults()).ok());
    long n = check(one, index);
    assertTrue(n == RECORDS || n == 0 && !index, () -> "records: " + n);

    Path both = dir.resolve(name + "-and-more");
    Restore chain = Restore.from(first.stream()).then(new ByteArrayInputStream(more.toByteArray()));
    assertTrue(chain.to(both, Options.defaults()).ok());
    assertEquals(RECORDS, check(both, index));
  }
}
