package io.fovea.crash;

import io.fovea.BackupOptions;
import io.fovea.BackupReport;
import io.fovea.Batch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.CompactOptions;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Every operation of a database, by name, over small tables. A close may interrupt any of them. The
 * invariant: {@link #ACCOUNTS} accounts, each with its index entry, whose balances sum to zero.
 */
final class ApiCalls {
  @FunctionalInterface
  interface Call {
    void run(ApiCalls on) throws Exception;
  }

  /** An object with a component that an index can use. */
  public record Thing(@Id long id, String name) {}

  /** What becomes of it when its table gets another key. */
  public record Named(String name) {}

  static final int ACCOUNTS = 40;
  private static final int RECORDS = 300;

  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Field OWNER = B.text("owner", 20);
  private static final Field UNTIL = B.int64("until");
  private static final Layout LAYOUT = B.build();
  private static final KeySpec NUMBER = KeySpec.of(FieldType.INT32);

  private static final Layout.Definition B2 = Layout.define();

  static {
    B2.int64("balance");
    B2.text("owner", 20);
    B2.int64("until");
    B2.int32("more");
  }

  private static final Layout LAYOUT2 = B2.build();

  private static final TableSpec ACCOUNT =
      TableSpec.of("accounts", NUMBER, LAYOUT).with(IndexSpec.unique("by_owner", OWNER));
  private static final TableSpec ROWS = TableSpec.of("rows", NUMBER, LAYOUT);
  private static final TableSpec EXPIRING =
      TableSpec.of("expiring", NUMBER, LAYOUT).expireAfter(UNTIL, Duration.ZERO);
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 16);
  private static final ObjectSpec<Long, Thing> THINGS =
      ObjectSpec.of("things", Long.class, Thing.class);

  private static final Map<String, Call> CALLS = new LinkedHashMap<>();

  static {
    loads();
    schema();
    records();
    maintenance();
    readers();
  }

  final Database db;
  private final Path dir;
  private final RowTable accounts;
  private final Table<byte[], byte[]> bytes;
  private final ChangePosition from;
  private final Sequence sequence;
  private final @Nullable BackupReport before;

  ApiCalls(Database db, Path dir) {
    this.db = db;
    this.dir = dir;
    accounts = db.table(ACCOUNT);
    RowTable rows = db.table(ROWS);
    RowTable expiring = db.table(EXPIRING);
    bytes = db.table(BYTES).bytes();
    Table<Long, Thing> things = db.table(THINGS);
    sequence = db.sequence(SequenceSpec.of("numbers").cached(4));
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            accounts.insert(
                tx,
                accounts.key().set(i),
                accounts.row().setLong(BALANCE, 0).setText(OWNER, "o" + i));
            expiring.insert(tx, expiring.key().set(i), expiring.row().setLong(UNTIL, 1 + i));
            things.insert(tx, new Thing(i, "t" + i % 7));
          }
          for (int i = 0; i < RECORDS; i++) {
            rows.insert(tx, rows.key().set(i), rows.row().setText(OWNER, "r" + i % 9));
            bytes.insert(tx, key(i), new byte[i % 50 == 0 ? 9_000 : 40]);
          }
        });
    boolean follows = options(db) && db.options().log().changeRetentionBytes() > 0;
    from = follows ? db.changesPosition() : null;
    before = options(db) ? db.backup(dir.resolve("full")) : null;
  }

  /** Whether the database has a log. */
  private static boolean options(Database db) {
    return db.options().durability() != Durability.NONE && !db.name().startsWith("memory");
  }

  static Options small(Durability durability) {
    return Session.small()
        .durability(durability)
        .bufferBytes(2 << 20)
        .expiry(expiry -> expiry.clock(new SetClock(1_000_000)).sweepInterval(Duration.ofDays(1)))
        .snapshots(snap -> snap.bufferBytes(700_000).memoryBytes(256 << 10))
        .log(
            log ->
                log.maxBytes(16 << 20)
                    .bufferBytes(256 << 10)
                    .segmentBytes(512 << 10)
                    .changeRetentionBytes(4 << 20))
        .transactions(txs -> txs.maxActive(4).closeTimeout(Duration.ZERO));
  }

  static List<String> names() {
    return List.copyOf(CALLS.keySet());
  }

  void run(String name) throws Exception {
    CALLS.get(name).run(this);
  }

  /** Checks the invariants that hold after any close. */
  static void check(Database db) {
    RowTable t = db.table(ACCOUNT);
    long[] found = new long[3];
    db.read(
        tx -> {
          found[0] = found[1] = found[2] = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              found[0]++;
              found[1] += c.row().getLong(BALANCE);
            }
          }
          try (RowCursor c = t.index("by_owner").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              found[2]++;
            }
          }
          return null;
        });
    if (found[0] != ACCOUNTS || found[1] != 0 || found[2] != ACCOUNTS) {
      throw new AssertionError(
          found[0] + " accounts with " + found[1] + " in all, and " + found[2] + " entries");
    }
    if (!db.verify().ok()) {
      throw new AssertionError("verify: " + db.verify().problems());
    }
  }

  static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  // --------------------------------------------------------------------------------------- loads

  private static void loads() {
    CALLS.put("load", on -> on.load(LoadOptions.defaults(), 100, 30));
    CALLS.put("load many", on -> on.load(LoadOptions.defaults(), 4_000, 200));
    CALLS.put("load ascending", on -> on.load(LoadOptions.defaults().ascending(true), 3_000, 200));
    CALLS.put(
        "load rows",
        on -> {
          RowTable t = on.db.table(ROWS.with(IndexSpec.on("by_row", OWNER)));
          t.load(
              into -> {
                for (int i = 0; i < 2_000; i++) {
                  into.add(t.key().set(RECORDS + i), t.row().setText(OWNER, "l" + i));
                }
              });
        });
    CALLS.put(
        "load objects",
        on -> {
          List<Map.Entry<Long, Thing>> all = new ArrayList<>();
          for (long i = 0; i < 100; i++) {
            all.add(Map.entry(ACCOUNTS + i, new Thing(ACCOUNTS + i, "x")));
          }
          on.db.table(THINGS).load(LoadOptions.defaults(), all.iterator());
        });
  }

  private void load(LoadOptions how, int n, int length) {
    bytes.load(
        how,
        into -> {
          for (int i = 0; i < n; i++) {
            into.add(key(RECORDS + i), new byte[length]);
          }
        });
  }

  // -------------------------------------------------------------------------------------- schema

  private static void schema() {
    CALLS.put("create table", on -> on.db.table(TableSpec.of("new", NUMBER, LAYOUT)));
    CALLS.put("create objects", on -> on.db.table(ObjectSpec.of("new", Long.class, Thing.class)));
    CALLS.put("drop table", on -> on.db.dropTable("bytes"));
    CALLS.put("rename table", on -> on.db.renameTable("rows", "other"));
    CALLS.put("build index", on -> on.db.table(ROWS.with(IndexSpec.on("by_row", OWNER))));
    CALLS.put(
        "build extracted index",
        on ->
            on.db.table(
                BYTES.with(
                    IndexSpec.bytes(
                        "by_length",
                        NUMBER,
                        false,
                        (key, value, entry) -> {
                          entry.int32(value.length);
                          return true;
                        }))));
    CALLS.put(
        "build object index",
        on -> on.db.table(ObjectSpec.of("things", Long.class, Thing.class).index("n", "name")));
    CALLS.put("drop index", on -> on.db.dropIndex("expiring", "expires"));
    CALLS.put("rename index", on -> on.db.renameIndex("expiring", "expires", "ends"));
    CALLS.put(
        "migrate",
        on ->
            on.db.migrate(
                on.bytes,
                TableSpec.bytes("longer", 32),
                RowTable::bytes,
                (key, value, to) -> to.add(Arrays.copyOf(key, 9), value)));
    CALLS.put(
        "migrate objects",
        on ->
            on.db.migrate(
                on.db.table(THINGS),
                ObjectSpec.of("things", Integer.class, Named.class).index("n", "name"),
                (id, thing, to) -> to.add(id.intValue(), new Named(thing.name()))));
    CALLS.put("drop expiry", on -> on.db.dropExpiry("expiring"));
    CALLS.put(
        "evolve table",
        on ->
            on.db.table(
                TableSpec.builder("rows", NUMBER, LAYOUT2)
                    .version(2, Step.add("more", 7))
                    .build()));
    CALLS.put(
        "schema in a transaction",
        on ->
            on.db.run(
                tx -> {
                  RowTable t = tx.table(TableSpec.of("new", NUMBER, LAYOUT));
                  t.insert(tx, t.key().set(1), t.row().setLong(BALANCE, 1));
                  tx.renameTable("rows", "other");
                  tx.dropTable("bytes");
                  tx.sequence(SequenceSpec.of("new"));
                }));
    CALLS.put("create sequence", on -> on.db.sequence(SequenceSpec.of("new")));
    CALLS.put("alter sequence", on -> on.db.alterSequence(SequenceSpec.of("numbers").cached(9)));
    CALLS.put("rename sequence", on -> on.db.renameSequence("numbers", "others"));
    CALLS.put("drop sequence", on -> on.db.dropSequence("numbers"));
    CALLS.put(
        "sequence",
        on -> {
          for (int i = 0; i < 9; i++) {
            on.sequence.next();
          }
          on.sequence.next(20);
          on.sequence.peek();
          on.sequence.remaining();
          on.sequence.skipTo(1_000);
        });
    CALLS.put(
        "describe",
        on -> {
          on.db.tables();
          on.db.describe("accounts");
          on.db.sequences();
          on.db.describeSequence("numbers");
          on.db.tableSizes();
        });
  }

  // ------------------------------------------------------------------------------------- records

  private static void transfer(RowTable t, Transaction tx, int a, int b) {
    Key key = t.key();
    Row row = t.row();
    t.get(tx, key.set(a), row);
    t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) - 5));
    t.getForUpdate(tx, key.set(b), row);
    t.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) + 5));
  }

  private static void records() {
    CALLS.put("run", on -> on.db.run(tx -> transfer(on.accounts, tx, 1, 2)));
    CALLS.put("run ahead", on -> on.db.runPipelined(tx -> transfer(on.accounts, tx, 1, 2)).await());
    CALLS.put(
        "begin",
        on -> {
          try (Transaction tx = on.db.begin()) {
            transfer(on.accounts, tx, 3, 4);
            tx.commitPipelined().await();
          }
          try (Transaction tx = on.db.begin()) {
            transfer(on.accounts, tx, 3, 4);
            tx.rollback();
          }
          try (Transaction tx = on.db.begin()) {
            transfer(on.accounts, tx, 3, 4);
            tx.commit();
          }
        });
    CALLS.put(
        "submit",
        on -> {
          CompletionStage<Long> stage =
              on.db.submit(
                  tx -> {
                    transfer(on.accounts, tx, 5, 6);
                    return 1L;
                  });
          try {
            stage.toCompletableFuture().join();
          } catch (java.util.concurrent.CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
              throw cause;
            }
            throw e;
          }
        });
    CALLS.put(
        "long values",
        on ->
            on.db.run(
                tx -> {
                  on.bytes.put(tx, key(50), new byte[30_000]);
                  on.bytes.put(tx, key(100), new byte[1]);
                  on.bytes.delete(tx, key(150));
                  on.bytes.get(tx, key(200));
                  on.bytes.getAll(tx, List.of(key(1), key(50), key(9_999)));
                }));
    CALLS.put("delete range", on -> on.db.run(tx -> on.bytes.deleteRange(tx, key(10), key(30))));
    CALLS.put("delete all", on -> on.db.run(tx -> on.bytes.deleteRange(tx, null, null)));
    CALLS.put("sweep", on -> on.db.sweepExpired());
    CALLS.put(
        "map",
        on -> {
          Map<Long, Thing> map = on.db.table(THINGS).asMap();
          map.put(1L, new Thing(1, "put"));
          map.remove(2L);
          map.size();
          map.forEach((k, v) -> {});
        });
  }

  // --------------------------------------------------------------------------------- maintenance

  private static void maintenance() {
    CALLS.put("checkpoint", on -> on.db.checkpoint());
    CALLS.put("compact", on -> on.db.compact(CompactOptions.defaults()));
    CALLS.put("compact holes", on -> on.db.compact(CompactOptions.defaults().movePages(false)));
    CALLS.put("verify", on -> on.db.verify());
    CALLS.put("backup", on -> on.db.backup(on.dir.resolve("backup")));
    CALLS.put("backup to a stream", on -> on.db.backup(OutputStream.nullOutputStream()));
    CALLS.put(
        "incremental backup",
        on -> {
          if (on.before != null) {
            on.db.run(tx -> transfer(on.accounts, tx, 1, 2));
            on.db.backup(
                on.dir.resolve("more"), BackupOptions.defaults().since(on.before.position()));
          }
        });
    CALLS.put(
        "statistics",
        on -> {
          on.db.stats();
          on.db.placement();
          on.accounts.count();
          on.accounts.dataBytes();
        });
    CALLS.put("on close", on -> on.db.onClose(() -> {}));
    CALLS.put("close", on -> on.db.close());
  }

  // ------------------------------------------------------------------------------------- readers

  private static long sum(RowCursor c) {
    long sum = 0;
    try (c) {
      while (c.next()) {
        sum += c.row().getLong(BALANCE);
      }
    }
    return sum;
  }

  private static void readers() {
    CALLS.put(
        "snapshot",
        on -> {
          try (Database then = on.db.snapshot()) {
            RowTable t = then.table(ACCOUNT);
            long sum = then.read(tx -> sum(t.scan(tx, Range.all(), ScanOrder.ASCENDING)));
            if (sum != 0) {
              throw new AssertionError("the sum of a snapshot is " + sum);
            }
            then.verify();
          }
        });
    CALLS.put(
        "scans",
        on -> {
          long sum =
              on.db.read(
                  tx ->
                      sum(on.accounts.scan(tx, Range.all(), ScanOrder.DESCENDING))
                          + sum(
                              on.accounts
                                  .index("by_owner")
                                  .scan(tx, Range.all(), ScanOrder.ASCENDING)));
          if (sum != 0) {
            throw new AssertionError("the sum is " + sum);
          }
        });
    CALLS.put(
        "byte scan",
        on ->
            on.db.read(
                tx -> {
                  try (Cursor<byte[], byte[]> c =
                      on.bytes.scan(tx, null, null, ScanOrder.ASCENDING)) {
                    while (c.next()) {
                      c.value();
                    }
                  }
                  return on.bytes.estimate(tx, key(10), key(200));
                }));
    CALLS.put(
        "streams",
        on ->
            on.db.read(
                tx -> {
                  try (Stream<Thing> all =
                      on.db.table(THINGS).stream(tx, null, null, ScanOrder.ASCENDING)
                          .map(Map.Entry::getValue)) {
                    return all.toList();
                  }
                }));
    CALLS.put(
        "batch",
        on -> {
          Batch batch = on.accounts.batch(20);
          for (int i = 0; i < 20; i++) {
            batch.add().set(2 * i);
          }
          on.db.read(tx -> on.accounts.getAll(tx, batch));
        });
    CALLS.put(
        "changes",
        on -> {
          if (on.from != null) {
            try (Changes changes = on.db.changes(on.from)) {
              on.db.run(tx -> transfer(on.accounts, tx, 1, 2));
              changes.poll(Duration.ofSeconds(10));
              changes.poll(Duration.ZERO);
              changes.position();
              on.db.changesPosition();
            }
          }
        });
    CALLS.put(
        "changes during a close",
        on -> {
          if (on.from != null) {
            try (Changes changes = on.db.changes(on.db.changesPosition())) {
              changes.poll(Duration.ofMillis(20));
            }
          }
        });
  }

  static void delete(Path tree) throws java.io.IOException {
    try (Stream<Path> all = Files.walk(tree)) {
      for (Path p : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }
}
