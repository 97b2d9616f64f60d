package io.fovea.churn;

import io.fovea.Batch;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The operations of one worker, with its own keys where workers would conflict. Each operation
 * checks what it reads and removes what it created, so the contents of the database stay the same.
 */
final class Activities {
  static final int ACCOUNTS = 2_000;
  static final long START = 1_000;
  static final int INDEXED = 300;

  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Field OWNER = B.int32("owner");
  private static final Field NOTE = B.text("note", 40);
  private static final Layout LAYOUT = B.build();
  private static final KeySpec NUMBER = KeySpec.of(FieldType.INT32);

  private static final TableSpec ACCOUNT =
      TableSpec.of("accounts", NUMBER, LAYOUT)
          .with(IndexSpec.on("by_owner", OWNER))
          .with(IndexSpec.unique("by_note", NOTE));

  private static final TableSpec BYTES = TableSpec.bytes("bytes", 16);

  private static final int CURSORS = 100;
  private static final int WIDE = 4_000;
  private static final int LONG_MAX = 1 << 20;

  /** A length for which a context allocates memory that it keeps. */
  private static final int KEPT = 900_000;

  private final Database db;
  private final Path dir;
  private final int worker;
  private final Random r;
  private final RowTable accounts;
  private final Table<byte[], byte[]> bytes;

  Activities(Database db, Path dir, int worker, long seed) {
    this.db = db;
    this.dir = dir;
    this.worker = worker;
    this.r = new Random(seed * 31 + worker);
    this.accounts = db.table(ACCOUNT);
    this.bytes = db.table(BYTES).bytes();
  }

  static Options options() {
    return Options.defaults()
        .durability(Durability.ASYNC)
        .bufferBytes(8 << 20)
        .memory(mem -> mem.timestampBytes(8 << 20).sketchBytes(1 << 20))
        .transactions(txs -> txs.maxActive(12).maxBytes(4 << 20))
        .snapshots(snap -> snap.bufferBytes(1 << 20).memoryBytes(256 << 10))
        .log(log -> log.maxBytes(8 << 20).bufferBytes(512 << 10).segmentBytes(512 << 10));
  }

  /** Creates the tables that all operations use. */
  static void prepare(Database db, int workers) {
    RowTable t = db.table(ACCOUNT);
    db.run(
        tx -> {
          Row row = t.row();
          for (int i = 0; i < ACCOUNTS; i++) {
            t.insert(tx, t.key().set(i), account(row, i, START));
          }
        });
    db.table(BYTES);
    for (int w = 0; w < workers; w++) {
      RowTable own = db.table(indexed(w));
      db.run(tx -> fill(tx, own, INDEXED));
    }
  }

  void run(Activity activity) throws Exception {
    switch (activity) {
      case TRANSFERS -> transfers(r, 50);
      case SUMS -> sums();
      case BATCHES -> batches();
      case TABLES -> tables();
      case INDEXES -> indexes();
      case CURSORS -> cursors();
      case LONG_VALUES -> longValues(3, LONG_MAX);
      case WIDE_TRANSACTION -> wideTransaction();
      case VIRTUAL_THREADS -> inThreads(Thread.ofVirtual().factory(), 64);
      case PLATFORM_THREADS -> inThreads(Thread.ofPlatform().factory(), 16);
      case FAILURES -> failures();
      case CHECKPOINT -> db.checkpoint();
      case BACKUP -> backup();
      case SLOW_BACKUP -> slowBackup();
      case SNAPSHOT -> snapshot();
      case RANGE -> range();
      case DATABASE -> database();
      case MEMORY_DATABASE -> memoryDatabase();
    }
  }

  // ------------------------------------------------------------------------------------- accounts

  private static Row account(Row row, int i, long balance) {
    return row.clear()
        .setLong(BALANCE, balance)
        .setInt(OWNER, i % 37)
        .setText(NOTE, "account " + i);
  }

  private void transfers(Random random, int n) {
    Key key = accounts.key();
    Row from = accounts.row();
    Row to = accounts.row();
    for (int i = 0; i < n; i++) {
      int a = random.nextInt(ACCOUNTS);
      int b = (a + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
      long amount = random.nextInt(400);
      boolean all = random.nextInt(10) == 0;
      db.run(
          tx -> {
            if (!accounts.get(tx, key.set(a), from)) {
              return;
            }
            long moved = all ? from.getLong(BALANCE) : amount;
            if (all) {
              accounts.delete(tx, key.set(a));
            } else {
              accounts.update(tx, from.setLong(BALANCE, from.getLong(BALANCE) - moved));
            }
            if (accounts.get(tx, key.set(b), to)) {
              accounts.update(tx, to.setLong(BALANCE, to.getLong(BALANCE) + moved));
            } else {
              accounts.insert(tx, key.set(b), account(to, b, moved));
            }
          });
    }
  }

  /** Reopens all closed accounts. */
  static void settle(Database db) {
    RowTable t = db.table(ACCOUNT);
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            if (!t.get(tx, t.key().set(i), row)) {
              t.insert(tx, t.key().set(i), account(row, i, 0));
            }
          }
        });
  }

  private static long sum(RowCursor cursor) {
    long sum = 0;
    try (cursor) {
      while (cursor.next()) {
        sum += cursor.row().getLong(BALANCE);
      }
    }
    return sum;
  }

  private void sums() {
    ScanOrder order = r.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
    is(ACCOUNTS * START, db.read(tx -> sum(accounts.scan(tx, Range.all(), order))), "by table");
    String name = r.nextBoolean() ? "by_owner" : "by_note";
    RowIndex index = accounts.index(name);
    is(ACCOUNTS * START, db.read(tx -> sum(index.scan(tx, Range.all(), order))), name);
  }

  private void batches() {
    Batch batch = accounts.batch(200);
    int first = r.nextInt(ACCOUNTS);
    db.read(
        tx -> {
          batch.clear();
          for (int i = 0; i < batch.capacity(); i++) {
            batch.add().set((first + i * 7) % ACCOUNTS);
          }
          accounts.getAll(tx, batch);
          for (int i = 0; i < batch.size(); i++) {
            if (batch.found(i)) {
              String note = "account " + (first + i * 7) % ACCOUNTS;
              is(true, batch.row(i).textEquals(NOTE, note), note);
            }
          }
          return null;
        });
  }

  private void inThreads(ThreadFactory factory, int n) throws Exception {
    List<FutureTask<Void>> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Random own = new Random(r.nextLong());
      FutureTask<Void> task = new FutureTask<>(() -> transfers(own, 5), null);
      all.add(task);
      factory.newThread(task).start();
    }
    for (FutureTask<Void> task : all) {
      task.get();
    }
  }

  // --------------------------------------------------------------------------------------- schema

  private static TableSpec indexed(int worker) {
    return TableSpec.of("indexed" + worker, NUMBER, LAYOUT);
  }

  private static void fill(Transaction tx, RowTable t, int n) {
    Row row = t.row();
    for (int i = 0; i < n; i++) {
      t.insert(tx, t.key().set(i), account(row, i, i));
    }
  }

  private static long sumTo(int n) {
    return (long) n * (n - 1) / 2;
  }

  private void tables() {
    int n = 200;
    String name = "temporary" + worker;
    TableSpec spec =
        TableSpec.of(name, NUMBER, LAYOUT)
            .with(IndexSpec.on("by_owner", OWNER))
            .with(IndexSpec.unique("by_note", NOTE));
    RowTable t = db.table(spec);
    db.run(tx -> fill(tx, t, n));
    db.run(
        tx -> {
          Row row = t.row();
          RowIndex byNote = t.index("by_note");
          is(true, byNote.get(tx, byNote.key().set("account 7"), row), "by note");
          is(7L, row.getLong(BALANCE), "balance");
          is(true, t.getForUpdate(tx, t.key().set(8), row), "for update");
          t.update(tx, row.setInt(OWNER, 99));
          t.delete(tx, t.key().set(9));
          t.insert(tx, t.key().set(9), account(row, 9, 9));
        });
    is(sumTo(n), db.read(tx -> sum(t.scan(tx, Range.all(), ScanOrder.DESCENDING))), name);
    is(
        sumTo(n),
        db.read(tx -> sum(t.index("by_owner").scan(tx, Range.all(), ScanOrder.ASCENDING))),
        name);
    if (r.nextBoolean()) {
      is(true, db.dropIndex(name, "by_owner"), "drop index");
    }
    is(true, db.dropTable(name), "drop");
  }

  private void indexes() {
    TableSpec spec = indexed(worker).with(IndexSpec.on("by_owner", OWNER));
    RowTable t = db.table(spec);
    long sum = db.read(tx -> sum(t.index("by_owner").scan(tx, Range.all(), ScanOrder.ASCENDING)));
    is(sumTo(INDEXED), sum, "a new index");
    is(true, db.dropIndex("indexed" + worker, "by_owner"), "drop index");
  }

  // --------------------------------------------------------------------- cursors, values, sizes

  private void cursors() {
    db.read(
        tx -> {
          manyCursors(tx);
          return null;
        });
  }

  private void manyCursors(Transaction tx) {
    List<RowCursor> closed = new ArrayList<>();
    for (int i = 0; i < CURSORS; i++) {
      int from = r.nextInt(ACCOUNTS);
      boolean byOwner = i % 3 == 0;
      RowCursor c =
          byOwner
              ? accounts.index("by_owner").scan(tx, Range.all(), ScanOrder.ASCENDING)
              : accounts.scan(tx, Range.atLeast(accounts.key().set(from)), ScanOrder.ASCENDING);
      for (int n = 0; n < 3 && c.next(); n++) {
        is(true, byOwner || c.key().getInt(0) >= from, "order");
        c.row();
      }
      if (i % 4 == 0) {
        closed.add(c);
      }
    }
    closed.forEach(RowCursor::close);
  }

  private byte[] key(int n) {
    return ByteBuffer.allocate(8).putInt(worker).putInt(n).array();
  }

  private static byte[] value(int length, long seed) {
    byte[] value = new byte[length];
    new Random(seed).nextBytes(value);
    return value;
  }

  private void longValues(int n, int max) {
    long seed = r.nextLong();
    int[] length = new int[n];
    for (int i = 0; i < n; i++) {
      length[i] = i == 0 ? max : 1 + r.nextInt(max);
      byte[] value = value(length[i], seed + i);
      byte[] key = key(i);
      db.run(tx -> bytes.put(tx, key, value));
    }
    byte[] prefix = ByteBuffer.allocate(4).putInt(worker).array();
    db.read(
        tx -> {
          int i = 0;
          try (Cursor<byte[], byte[]> c = bytes.scanPrefix(tx, prefix, ScanOrder.ASCENDING)) {
            while (c.next()) {
              byte[] expected = value(length[i], seed + i);
              is(true, Arrays.equals(expected, c.value()), "long value");
              i++;
            }
          }
          is(n, i, "long values");
          return null;
        });
    db.run(
        tx -> {
          for (int i = 0; i < n; i++) {
            is(true, bytes.delete(tx, key(i)), "long value to delete");
          }
        });
  }

  private void wideTransaction() {
    db.run(
        tx -> {
          for (int i = 0; i < WIDE; i++) {
            bytes.insert(tx, key(i), key(i));
          }
        });
    long n =
        db.call(
            tx -> {
              long found = 0;
              for (int i = 0; i < WIDE; i++) {
                found += bytes.delete(tx, key(i)) ? 1 : 0;
              }
              return found;
            });
    is((long) WIDE, n, "records of a wide transaction");
  }

  /**
   * Makes every context do the largest operation of each kind at the same time, so that what
   * contexts keep between transactions is at its maximum.
   */
  static void largest(Database db) throws Exception {
    int n = db.options().transactions().maxActive();
    CyclicBarrier all = new CyclicBarrier(n);
    List<FutureTask<@Nullable Void>> tasks = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Activities one = new Activities(db, Path.of(""), 1_000 + i, i);
      FutureTask<@Nullable Void> task =
          new FutureTask<>(
              () -> {
                try (Transaction tx = db.begin()) {
                  all.await(); // each has its own context
                  for (int k = 0; k < WIDE; k++) {
                    one.bytes.insert(tx, one.key(k), one.key(k));
                  }
                  for (int k = 0; k < WIDE; k++) {
                    one.bytes.delete(tx, one.key(k));
                  }
                  one.bytes.put(tx, one.key(1), value(KEPT, 1));
                  one.bytes.get(tx, one.key(1));
                  one.manyCursors(tx);
                  all.await();
                }
                return null;
              });
      tasks.add(task);
      Thread.ofPlatform().start(task);
    }
    for (FutureTask<@Nullable Void> task : tasks) {
      task.get();
    }
  }

  // ------------------------------------------------------------------------------------- failures

  private static final class OnPurpose extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private void failures() {
    Key key = accounts.key();
    Row row = accounts.row();
    try {
      db.run(
          tx -> {
            bytes.put(tx, key(1), value(10_000, 1));
            throw new OnPurpose();
          });
      throw new AssertionError("nothing was thrown");
    } catch (OnPurpose e) {
      // expected
    }
    db.run(
        tx -> {
          bytes.put(tx, key(1), value(10_000, 1));
          tx.rollback();
        });
    try {
      db.run(
          tx -> {
            bytes.insert(tx, key(1), key(1));
            bytes.insert(tx, key(1), key(1));
          });
      throw new AssertionError("a duplicate was inserted");
    } catch (DuplicateKeyException e) {
      // expected
    }
    try {
      db.run(
          tx -> {
            for (int i = 0; i < 6; i++) {
              bytes.put(tx, key(i), value(LONG_MAX, i));
            }
          });
      throw new AssertionError("an oversized transaction was accepted");
    } catch (TransactionAbortedException e) {
      is(false, e.retryable(), "retryable: " + e);
    }
    try {
      db.run(
          TxOptions.defaults().timeout(Duration.ofMillis(1)),
          tx -> {
            LockSupport.parkNanos(2_000_000);
            for (int i = 0; i < ACCOUNTS; i++) {
              accounts.get(tx, key.set(i), row);
            }
          });
      throw new AssertionError("a transaction exceeded its time limit");
    } catch (TransactionAbortedException e) {
      is(false, e.retryable(), "retryable: " + e);
    }
    try (Transaction tx = db.begin()) {
      bytes.put(tx, key(1), key(1));
      accounts.scan(tx, Range.all(), ScanOrder.ASCENDING).next();
    } catch (TransactionAbortedException e) {
      is(true, e.retryable(), "retryable: " + e);
    }
    Thread.currentThread().interrupt();
    transfers(r, 5);
    is(true, Thread.interrupted(), "the interrupt flag is kept");
    is(null, db.read(tx -> bytes.get(tx, key(1))), "a value that was never committed");
  }

  // -------------------------------------------------------------------------------------- backups

  private void backup() throws IOException {
    Path to = dir.resolve("backup" + worker);
    db.backup(to);
    Path file;
    try (Stream<Path> all = Files.list(to)) {
      file = all.filter(p -> p.toString().endsWith(".fovea")).findFirst().orElseThrow();
    }
    try (Database copy = Database.open(file, options().bufferBytes(4 << 20))) {
      RowTable t = copy.table(ACCOUNT);
      is(
          ACCOUNTS * START,
          copy.read(tx -> sum(t.scan(tx, Range.all(), ScanOrder.ASCENDING))),
          "a backup");
    }
    delete(to);
  }

  /** The stream blocks until more has been written than the log may have. */
  private void slowBackup() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    OutputStream slow =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            hold();
          }

          @Override
          public void write(byte[] b, int off, int len) throws IOException {
            hold();
          }

          private void hold() throws IOException {
            begun.countDown();
            try {
              go.await();
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
          }
        };
    FutureTask<Void> task = new FutureTask<>(() -> db.backup(slow), null);
    Thread.ofPlatform().start(task);
    try {
      begun.await();
      for (int i = 0; i < 6; i++) {
        longValues(3, LONG_MAX);
      }
    } finally {
      go.countDown();
    }
    task.get();
  }

  // ------------------------------------------------------------------------------------ snapshots

  private void snapshot() {
    try (Database then = db.snapshot()) {
      RowTable old = then.table(ACCOUNT);
      List<Long> before = balances(then, old);
      transfers(r, 20);
      longValues(1, LONG_MAX);
      is(before, balances(then, old), "a snapshot");
      is(ACCOUNTS * START, before.stream().mapToLong(Long::longValue).sum(), "a snapshot's sum");
    }
  }

  private static List<Long> balances(Database from, RowTable t) {
    return from.read(
        tx -> {
          List<Long> all = new ArrayList<>();
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.add(c.row().getLong(BALANCE));
            }
          }
          return all;
        });
  }

  private void range() {
    int n = 1 + r.nextInt(500);
    db.run(
        tx -> {
          for (int i = 0; i < n; i++) {
            bytes.put(tx, key(i), key(i));
          }
        });
    is((long) n, db.call(tx -> bytes.deleteRange(tx, key(0), key(n))), "deleted by a range");
  }

  // ------------------------------------------------------------------------------------ databases

  private <E extends Enum<E>> E any(Class<E> kind) {
    E[] all = kind.getEnumConstants();
    return all[r.nextInt(all.length)];
  }

  private Options anyOptions() {
    Translation translation = any(Translation.class);
    boolean all = translation == Translation.DIRECT; // needs memory for the whole file
    return options()
        .bufferBytes((1 + r.nextInt(8)) << 20)
        .experiments(
            exp ->
                exp.protocol(any(Protocol.class))
                    .timestamps(any(TimestampStore.class))
                    .translation(all ? Translation.PREDICTIVE : translation));
  }

  private static void use(Database other, int n) {
    RowTable t = other.table(ACCOUNT);
    other.run(tx -> fill(tx, t, n));
    is(sumTo(n), other.read(tx -> sum(t.scan(tx, Range.all(), ScanOrder.ASCENDING))), "another");
    RowTable two = other.table(indexed(1).with(IndexSpec.on("by_owner", OWNER)));
    other.run(tx -> fill(tx, two, 10));
    other.dropTable("indexed1");
  }

  private void database() throws IOException {
    Path own = dir.resolve("database" + worker);
    Files.createDirectories(own);
    Path file = own.resolve("x.fovea");
    int n = 1 + r.nextInt(2_000);
    Durability durability = any(Durability.class);
    try (Database other =
        Database.open(
            file, anyOptions().device(dev -> dev.io(any(Io.class))).durability(durability))) {
      use(other, n);
    }
    try (Database other =
        Database.open(
            file, anyOptions().device(dev -> dev.io(any(Io.class))).durability(durability))) {
      RowTable t = other.table(ACCOUNT);
      is(
          sumTo(n),
          other.read(tx -> sum(t.index("by_note").scan(tx, Range.all(), ScanOrder.ASCENDING))),
          "reopened");
    }
    delete(own);
  }

  private void memoryDatabase() {
    try (Database other = Database.inMemory(anyOptions())) {
      use(other, 1 + r.nextInt(2_000));
    }
  }

  // -------------------------------------------------------------------------------------- support

  private static void delete(Path tree) throws IOException {
    try (Stream<Path> all = Files.walk(tree)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }

  private static void is(@Nullable Object expected, @Nullable Object found, String what) {
    if (!Objects.equals(expected, found)) {
      throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }
  }
}
