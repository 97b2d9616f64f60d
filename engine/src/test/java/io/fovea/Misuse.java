package io.fovea;

import io.fovea.config.LeakDetection;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Misuses the API in every possible way, from many threads, in its own JVM. Exits with 0 if only
 * documented exceptions occurred; {@link MisuseTest} starts it and checks for traces of a crash.
 *
 * <p>Usage: {@code Misuse FOLDER RACES SEED}
 */
final class Misuse {
  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field A = KEY.int32("a");
  private static final Field NAME = KEY.text("name", 30);
  private static final KeySpec KEY_SPEC = KEY.build();
  private static final Layout.Definition B = Layout.define();
  private static final Field INT = B.int32("int");
  private static final Field LONG = B.int64("long");
  private static final Field TEXT = B.text("text", 40);
  private static final Field BYTES = B.bytes("bytes", 200);
  private static final Layout LAYOUT = B.build();
  private static final TableSpec SPEC =
      TableSpec.of("rows", KEY_SPEC, LAYOUT)
          .with(IndexSpec.on("by_text", TEXT))
          .with(IndexSpec.unique("by_long", LONG));
  private static final TableSpec BYTE_SPEC = TableSpec.bytes("bytes", 100);
  private static final Field FOREIGN = foreign();

  private static final Map<String, AtomicLong> SEEN = new ConcurrentSkipListMap<>();
  private static final Queue<Throwable> BAD = new ConcurrentLinkedQueue<>();

  private Misuse() {}

  private static Field foreign() {
    Layout.Definition b = Layout.define();
    b.int64("x");
    return b.text("text", 4000);
  }

  private static final class Litter {
    volatile Database db;
    volatile RowTable table;
    volatile RowTable closedTable;
    volatile Transaction tx;
    volatile RowCursor cursor;
    volatile Key key;
    volatile Row row;
    volatile Table<byte[], byte[]> bytes;
    volatile Cursor<byte[], byte[]> byteCursor;
    volatile Batch batch;
    volatile RowIndex index;
  }

  private interface Step {
    void run() throws Exception;
  }

  private static void attempt(Step step) {
    try {
      step.run();
      count("fine");
    } catch (FoveaException
        | NullPointerException
        | IllegalArgumentException
        | IndexOutOfBoundsException e) {
      if (e instanceof NullPointerException && !promised(e)) {
        BAD.add(e);
      }
      if (e instanceof CorruptionException
          && !(e.getMessage().contains("parts of a primary key"))) {
        BAD.add(e); // (possible for a key that another thread changes during an operation)
      }
      count(e.getClass().getSimpleName());
    } catch (Throwable e) {
      BAD.add(e);
    }
  }

  /** Whether the exception came before a null argument reached trees, transactions or buffer. */
  private static boolean promised(Throwable e) {
    StackTraceElement[] s = e.getStackTrace();
    for (StackTraceElement x : s) {
      if (x.getClassName().startsWith("io.fovea.btree")
          || x.getClassName().startsWith("io.fovea.txn")
          || x.getClassName().startsWith("io.fovea.buffer")) {
        return false;
      }
    }
    return true;
  }

  private static void count(String what) {
    SEEN.computeIfAbsent(what, k -> new AtomicLong()).incrementAndGet();
  }

  private static <T> T take(Random r, T other, T mine) {
    return r.nextInt(3) == 0 ? other : mine;
  }

  private static void move(Random r, Litter l) {
    switch (r.nextInt(6)) {
      case 0 -> l.cursor.previous();
      case 1 -> l.cursor.first();
      case 2 -> l.cursor.last();
      case 3 -> l.cursor.seek(l.key);
      default -> l.cursor.next();
    }
    switch (r.nextInt(24)) {
      case 0 -> l.table.floor(l.tx, l.key, l.row);
      case 1 -> l.index.ceiling(l.tx, l.key, l.row);
      case 2 -> l.key = l.row.key(l.key);
      case 3 -> l.table.stream(l.tx, Range.all(), ScanOrder.ASCENDING, (k, row) -> row).toList();
      case 4 -> l.index.page(l.tx, Range.all(), ScanOrder.ASCENDING, null, 3, (k, row) -> row);
      default -> {}
    }
  }

  private static void move(Random r, Cursor<byte[], byte[]> c) {
    switch (r.nextInt(6)) {
      case 0 -> c.previous();
      case 1 -> c.first();
      case 2 -> c.last();
      case 3 -> c.seek(new byte[r.nextInt(200)]);
      default -> c.next();
    }
  }

  private static void step(Random r, Litter l, Path dir) {
    Database db = l.db;
    RowTable t = r.nextInt(8) == 0 ? l.closedTable : l.table;
    switch (r.nextInt(34)) {
      case 0 -> attempt(() -> l.tx = db.begin());
      case 1 -> attempt(() -> l.tx.commit());
      case 2 -> attempt(() -> l.tx.rollback());
      case 3 -> attempt(() -> l.tx.close());
      case 4 -> attempt(() -> l.cursor = t.scan(l.tx, Range.all(), ScanOrder.DESCENDING));
      case 5 -> attempt(() -> move(r, l));
      case 6 -> attempt(() -> l.row = l.cursor.row());
      case 7 -> attempt(() -> l.key = l.cursor.key());
      case 8 -> attempt(() -> l.cursor.close());
      case 9 -> attempt(() -> l.row = t.row());
      case 10 -> attempt(() -> l.key = t.key());
      case 11 -> attempt(() -> t.get(l.tx, l.key, l.row));
      case 12 -> attempt(() -> t.put(l.tx, l.key, l.row));
      case 13 -> attempt(() -> t.update(l.tx, l.row));
      case 14 -> attempt(() -> t.delete(l.tx, l.key));
      case 15 -> attempt(() -> l.key.clear().int32(r.nextInt(50)).text("n" + r.nextInt(50)));
      case 16 -> attempt(() -> l.key.clear().text("x".repeat(r.nextInt(60))));
      case 17 ->
          attempt(
              () ->
                  l.row
                      .setInt(take(r, FOREIGN, INT), r.nextInt())
                      .setLong(take(r, A, LONG), r.nextInt(100)));
      case 18 -> attempt(() -> l.row.setText(take(r, BYTES, TEXT), "y".repeat(r.nextInt(60))));
      case 19 -> attempt(() -> l.row.getText(take(r, NAME, TEXT)));
      case 20 -> attempt(() -> l.row.getBytes(BYTES, new byte[r.nextInt(10)], r.nextInt(12)));
      case 21 -> attempt(() -> l.index = t.index(r.nextBoolean() ? "by_text" : "nothing"));
      case 22 -> attempt(() -> l.index.get(l.tx, l.key, l.row));
      case 23 ->
          attempt(
              () ->
                  l.cursor = l.index.scan(l.tx, Range.prefix(l.index.key()), ScanOrder.ASCENDING));
      case 24 -> attempt(() -> l.bytes = db.table(BYTE_SPEC).bytes());
      case 25 ->
          attempt(() -> l.bytes.put(l.tx, new byte[r.nextInt(200)], new byte[r.nextInt(9000)]));
      case 26 -> attempt(() -> l.byteCursor = l.bytes.scan(l.tx, null, null, ScanOrder.ASCENDING));
      case 27 ->
          attempt(
              () -> {
                move(r, l.byteCursor);
                l.byteCursor.value();
              });
      case 28 ->
          attempt(
              () ->
                  l.bytes.get(
                      l.tx, MemorySegment.NULL, MemorySegment.ofArray(new byte[r.nextInt(3)])));
      case 29 ->
          attempt(
              () -> {
                l.batch = r.nextBoolean() ? t.batch(2) : l.batch;
                l.batch.add().set(1);
                t.getAll(l.tx, l.batch);
              });
      case 30 -> attempt(() -> db.run(tx -> work(tx, t, r)));
      case 31 -> attempt(() -> db.run(tx -> db.run(x -> {})));
      case 32 ->
          attempt(
              () -> {
                switch (r.nextInt(8)) {
                  case 0 -> Database.open(dir, Options.defaults());
                  case 1 -> Database.open(dir.resolve("text"), small());
                  case 2 -> Database.open(dir.resolve("other-page-size"), small());
                  case 3 -> Database.inMemory(Options.defaults().bufferBytes(70_000));
                  case 4 -> Database.open(dir.resolve("open"), small());
                  case 5 -> t.get(null, null, null);
                  case 6 -> db.table(r.nextBoolean() ? null : TableSpec.bytes("rows", 3));
                  default -> db.stats();
                }
              });
      default ->
          attempt(
              () -> {
                if (r.nextInt(50) == 0) {
                  db.verify();
                } else {
                  db.tables();
                }
              });
    }
  }

  private static void work(Transaction tx, RowTable t, Random r) {
    Key key = t.key();
    Row row = t.row();
    for (int i = 0; i < 5; i++) {
      key.clear().int32(r.nextInt(50)).text("n" + r.nextInt(50));
      switch (r.nextInt(4)) {
        case 0 -> t.delete(tx, key);
        case 1 -> {
          if (t.get(tx, key, row)) {
            t.update(tx, row.setInt(INT, r.nextInt()));
          }
        }
        default ->
            t.put(
                tx, key, row.clear().setLong(LONG, r.nextLong()).setText(TEXT, "t" + r.nextInt()));
      }
    }
    try (RowCursor c = t.scan(tx, Range.atLeast(t.key().set(r.nextInt(50))), ScanOrder.ASCENDING)) {
      for (int i = 0; i < 10 && c.next(); i++) {
        c.row().getText(TEXT);
      }
    }
  }

  private static Options small() {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(
            txs ->
                txs.maxActive(4)
                    .timeout(Duration.ofMillis(20))
                    .closeTimeout(Duration.ZERO)
                    .leakDetection(LeakDetection.OFF));
  }

  /** Starts threads that misuse open, closed and foreign objects. */
  private static List<Thread> misusers(
      Litter shared, int n, long seed, Path dir, AtomicBoolean stop, boolean virtual) {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Random r = new Random(seed * 31 + i);
      Litter own = new Litter();
      Runnable vandal =
          () -> {
            while (!stop.get()) {
              own.db = shared.db;
              own.table = shared.table;
              own.closedTable = shared.closedTable;
              step(r, r.nextInt(4) == 0 ? shared : own, dir);
              if (r.nextInt(200) == 0) {
                LockSupport.parkNanos(100_000);
              }
            }
            Transaction tx = own.tx;
            if (tx != null) {
              attempt(tx::close);
            }
          };
      threads.add(virtual ? Thread.startVirtualThread(vandal) : Thread.ofPlatform().start(vandal));
    }
    return threads;
  }

  private static void races(Path dir, int races, long seed) throws Exception {
    Random r = new Random(seed);
    Litter shared = new Litter();
    Database first = Database.inMemory(small());
    shared.closedTable = first.table(SPEC);
    first.close();
    shared.db = first;
    shared.table = shared.closedTable;
    AtomicBoolean stop = new AtomicBoolean();
    List<Thread> threads;
    Path file = dir.resolve("raced");
    try (Database held = Database.open(dir.resolve("open"), small())) {
      threads = misusers(shared, 3, seed, dir, stop, false);
      threads.addAll(misusers(shared, 3, seed + 1, dir, stop, true));
      for (int i = 0; i < races; i++) {
        boolean onDisk = i % 10 == 0;
        Database db = onDisk ? Database.open(file, small()) : Database.inMemory(small());
        RowTable t = db.table(SPEC);
        shared.table = t;
        shared.db = db;
        LockSupport.parkNanos(r.nextInt(3_000_000));
        if (r.nextInt(4) == 0) {
          Thread second = Thread.ofPlatform().start(() -> attempt(db::close));
          db.close();
          second.join();
        } else {
          db.close();
        }
        shared.closedTable = t;
      }
      if (!held.isOpen()) {
        throw new AssertionError("a database was closed without a call of close");
      }
    }
    stop.set(true);
    for (Thread t : threads) {
      t.join();
    }
    VerifyReport report = io.fovea.FileVerifier.verify(file);
    System.out.println("  " + report);
    if (!report.ok()) {
      throw new AssertionError(report.toString());
    }
  }

  public static void main(String[] args) {
    try {
      run(args);
    } catch (Throwable e) {
      e.printStackTrace(System.out); // otherwise the misusing threads would keep the JVM alive
      System.exit(2);
    }
  }

  private static void run(String[] args) throws Exception {
    Path dir = Path.of(args[0]);
    Files.writeString(dir.resolve("text"), "no database ".repeat(1000));
    Database.open(dir.resolve("other-page-size"), small().device(dev -> dev.pageSize(8192)))
        .close();
    races(dir, Integer.parseInt(args[1]), Long.parseLong(args[2]));
    System.out.println("  " + SEEN);
    int n = 0;
    for (Throwable e : BAD) {
      if (n++ < 5) {
        e.printStackTrace(System.out);
      }
    }
    System.out.println(BAD.isEmpty() ? "GOOD" : "BAD: " + BAD.size());
    System.exit(BAD.isEmpty() ? 0 : 1);
  }
}
