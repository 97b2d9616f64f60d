package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.IndexBuild;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexStage;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.jspecify.annotations.Nullable;

/**
 * Compares unique indexes, built while values move between records, with a map: in rows, byte
 * strings and objects, under each protocol.
 *
 * <pre>
 *   records ─► T0 begins ─► build: noting │ changes │ T0 ends ─► the table is read, up to a record
 *        │ changes │ the rest is read ─► building │ changes │ T1 ends ─► settled ─► built, or refused
 * </pre>
 *
 * <p>While the table is read no writer is refused. Later a write that takes another record's value
 * is refused, or the build is. So the build is refused if and only if two records have one value
 * when the last change is made.
 */
@net.jqwik.api.Tag("slow")
class UniqueBuildModelTest extends IndexBuilds {
  private static final int KEYS = 300;

  private interface Form {
    void open(Database db);

    void build(Database db);

    /**
     * Sets a record.
     *
     * @param value unique unless negative
     */
    void put(Transaction tx, long key, long value);

    void delete(Transaction tx, long key);

    /** Returns the key that the index has for a value; -1 for none. */
    long find(Transaction tx, long value);
  }

  private static final class Rows implements Form {
    private final Held held = new Held();
    private final TableSpec with;
    private @Nullable RowTable t;

    Rows(int record) {
      with = PLAIN.with(held.spec(record, true));
    }

    RowTable table() {
      RowTable table = t;
      if (table == null) {
        throw new IllegalStateException("The table is not open.");
      }
      return table;
    }

    @Override
    public void open(Database db) {
      t = db.table(PLAIN);
    }

    @Override
    public void build(Database db) {
      held.builder = Thread.currentThread();
      t = db.table(with);
    }

    @Override
    public void put(Transaction tx, long key, long value) {
      // A negative value is made unique by the key.
      long u = value < 0 ? -1 - key : value;
      table().put(tx, table().key().set(key), table().row().setLong(U, u));
    }

    @Override
    public void delete(Transaction tx, long key) {
      table().delete(tx, table().key().set(key));
    }

    @Override
    public long find(Transaction tx, long value) {
      RowIndex i = table().index("computed");
      try (RowCursor c = i.scan(tx, Range.prefix(i.key().set(value)), ScanOrder.ASCENDING)) {
        return c.next() ? c.key().getLong(0) : -1;
      }
    }
  }

  private static final class Bytes implements Form {
    private static final TableSpec STRINGS = TableSpec.bytes("t", 20);
    private final Held held = new Held();
    private final TableSpec with;
    private @Nullable Table<byte[], byte[]> t;
    private int seen;

    Bytes(int record) {
      with =
          STRINGS.with(
              IndexSpec.bytes(
                  "computed",
                  KeySpec.of(FieldType.INT64),
                  true,
                  (key, value, entry) -> {
                    if (Thread.currentThread() == held.builder && ++seen == record) {
                      held.there.countDown();
                      awaitQuietly(held.go);
                    }
                    entry.int64(ByteBuffer.wrap(value).getLong());
                    return value[0] >= 0;
                  }));
    }

    private Table<byte[], byte[]> table() {
      Table<byte[], byte[]> table = t;
      if (table == null) {
        throw new IllegalStateException("The table is not open.");
      }
      return table;
    }

    private static byte[] bytes(long n) {
      return ByteBuffer.allocate(Long.BYTES).putLong(n).array();
    }

    @Override
    public void open(Database db) {
      t = db.table(STRINGS).bytes();
    }

    @Override
    public void build(Database db) {
      held.builder = Thread.currentThread();
      t = db.table(with).bytes();
    }

    @Override
    public void put(Transaction tx, long key, long value) {
      table().put(tx, bytes(key), ByteBuffer.allocate(100).putLong(value).array());
    }

    @Override
    public void delete(Transaction tx, long key) {
      table().delete(tx, bytes(key));
    }

    @Override
    public long find(Transaction tx, long value) {
      Index<Key, byte[], byte[]> i = table().index("computed", Key.class);
      try (IndexCursor<Key, byte[], byte[]> c =
          i.scan(tx, Range.prefix(i.key().set(value)), ScanOrder.ASCENDING)) {
        return c.next() ? ByteBuffer.wrap(c.key()).getLong() : -1;
      }
    }
  }

  record Item(@Id long id, @Nullable Long mark) {}

  private static final class Objects implements Form {
    private static final ObjectSpec<Long, Item> ITEMS = ObjectSpec.of("t", Long.class, Item.class);
    private @Nullable Table<Long, Item> t;

    private Table<Long, Item> table() {
      Table<Long, Item> table = t;
      if (table == null) {
        throw new IllegalStateException("The table is not open.");
      }
      return table;
    }

    @Override
    public void open(Database db) {
      t = db.table(ITEMS);
    }

    @Override
    public void build(Database db) {
      t = db.table(ITEMS.unique("by_mark", "mark"));
    }

    @Override
    public void put(Transaction tx, long key, long value) {
      table().put(tx, new Item(key, value < 0 ? null : value));
    }

    @Override
    public void delete(Transaction tx, long key) {
      table().delete(tx, key);
    }

    @Override
    public long find(Transaction tx, long value) {
      Index<Long, Long, Item> i = table().index("by_mark", Long.class);
      return i.stream(tx, value, ScanOrder.ASCENDING).findFirst().map(e -> e.getKey()).orElse(-1L);
    }
  }

  /** A transaction in another thread that stays open until ended. */
  private static final class Open {
    private final CountDownLatch go = new CountDownLatch(1);
    private final Builder thread;

    Open(Database db) throws InterruptedException {
      CountDownLatch there = new CountDownLatch(1);
      thread =
          new Builder(
              () -> {
                try (Transaction tx = db.begin()) {
                  there.countDown();
                  awaitQuietly(go);
                  tx.commit();
                }
              });
      thread.start();
      there.await();
    }

    void end() throws Exception {
      go.countDown();
      thread.done();
    }
  }

  private static final class Changes {
    private final Database db;
    private final Form form;
    private final Random r;
    private final int values;
    final TreeMap<Long, Long> model = new TreeMap<>();

    Changes(Database db, Form form, Random r, int values) {
      this.db = db;
      this.form = form;
      this.r = r;
      this.values = values;
    }

    boolean hasDuplicates() {
      Set<Long> seen = new HashSet<>();
      return model.values().stream().anyMatch(v -> v >= 0 && !seen.add(v));
    }

    /** Runs transactions; each refusal must be justified. */
    void some(int n, boolean refuses) {
      for (int i = 0; i < n; i++) {
        boolean moves = r.nextInt(3) > 0;
        int ops = 1 + r.nextInt(4);
        long from = r.nextInt(KEYS);
        long to = r.nextInt(KEYS);
        long seed = r.nextLong();
        TreeMap<Long, Long> after = new TreeMap<>();
        boolean[] twice = {false};
        try {
          db.run(
              tx -> {
                after.clear();
                after.putAll(model);
                Random own = new Random(seed);
                twice[0] = false;
                if (moves) {
                  move(tx, after, from, to);
                } else {
                  for (int k = 0; k < ops; k++) {
                    change(tx, after, own, refuses, twice);
                  }
                }
              });
          model.clear();
          model.putAll(after);
        } catch (DuplicateKeyException e) {
          assertTrue(refuses && twice[0], () -> "refused without a reason: " + e.getMessage());
          assertTrue(e.getMessage().contains("being built"), e::getMessage);
        }
      }
    }

    /** Swaps the values of two records, in an order without duplicates. */
    private void move(Transaction tx, TreeMap<Long, Long> after, long from, long to) {
      Long a = after.get(from);
      Long b = after.get(to);
      if (a == null || b == null || from == to) {
        return;
      }
      form.delete(tx, from);
      form.delete(tx, to);
      boolean free = after.entrySet().stream().noneMatch(e -> taken(e, from, to, a, b));
      if (free) {
        form.put(tx, to, a);
        form.put(tx, from, b);
        after.put(to, a);
        after.put(from, b);
      } else {
        after.remove(from);
        after.remove(to);
      }
    }

    private static boolean taken(Map.Entry<Long, Long> e, long from, long to, long a, long b) {
      boolean other = e.getKey() != from && e.getKey() != to;
      return a >= 0 && a == b
          || other && e.getValue() >= 0 && (e.getValue() == a || e.getValue() == b);
    }

    private void change(
        Transaction tx, TreeMap<Long, Long> after, Random own, boolean refuses, boolean[] twice) {
      long key = own.nextInt(KEYS);
      if (own.nextInt(3) == 0) {
        form.delete(tx, key);
        after.remove(key);
        return;
      }
      long value = own.nextInt(6) == 0 ? -1 : own.nextInt(values);
      boolean taken =
          value >= 0
              && after.entrySet().stream()
                  .anyMatch(e -> e.getKey() != key && e.getValue() == value);
      if (taken && own.nextInt(refuses ? 8 : 20) > 0) {
        return; // rarely, since a remaining duplicate ends the build
      }
      twice[0] |= taken;
      form.put(tx, key, value);
      after.put(key, value);
    }

    /** Changes or deletes one of two records with equal values. */
    void repair() {
      Set<Long> seen = new HashSet<>();
      for (Map.Entry<Long, Long> e : Map.copyOf(model).entrySet()) {
        if (e.getValue() >= 0 && !seen.add(e.getValue())) {
          db.run(tx -> form.delete(tx, e.getKey()));
          model.remove(e.getKey());
        }
      }
    }
  }

  private static IndexStage stage(Database db) {
    IndexCore[] all = coreOf(db).indexes();
    return all.length == 0 ? IndexStage.DROPPING : all[0].stage;
  }

  private static void awaitStage(Database db, Builder builder, IndexStage stage)
      throws InterruptedException {
    while (stage(db) != stage && builder.isAlive()) {
      Thread.sleep(1);
    }
  }

  /** Waits until the build waits for open transactions. */
  private static void awaitGrace(Builder builder) throws InterruptedException {
    while (!(LockSupport.getBlocker(builder) instanceof IndexBuild) && builder.isAlive()) {
      Thread.sleep(1);
    }
  }

  private static boolean build(long seed, Form form, @Nullable Held held, Protocol protocol)
      throws Exception {
    Random r = new Random(seed);
    try (Database db =
        Database.inMemory(
            MEMORY
                .device(dev -> dev.pageSize(4096)) // several leaves, copied at different times
                .experiments(exp -> exp.protocol(protocol))
                .transactions(txs -> txs.maxActive(8)))) {
      form.open(db);
      Changes changes = new Changes(db, form, r, r.nextBoolean() ? KEYS : 4 * KEYS);
      changes.some(KEYS, false);
      if (r.nextBoolean()) {
        changes.repair(); // otherwise there may be duplicates before the build
      }
      Open first = new Open(db);
      Builder builder = new Builder(() -> form.build(db));
      builder.start();
      awaitStage(db, builder, IndexStage.JOURNALING);
      changes.some(r.nextInt(20), false);
      Open second;
      if (held == null) {
        awaitGrace(builder); // does not wait for the second transaction
        second = new Open(db);
        first.end();
      } else {
        first.end();
        held.there.await();
        changes.some(r.nextInt(80), false);
        second = new Open(db);
        changes.some(r.nextInt(10), false);
        held.go.countDown();
      }
      awaitStage(db, builder, IndexStage.BUILDING);
      changes.some(r.nextInt(80), true);
      if (r.nextInt(3) > 0) {
        changes.repair();
      }
      boolean refused = changes.hasDuplicates();
      second.end();
      builder.join();
      Throwable failure = builder.failure.get();
      if (refused) {
        assertTrue(failure instanceof DuplicateKeyException, () -> "built: " + failure);
        assertNull(coreOf(db).index("computed"));
      } else if (failure != null) {
        throw new AssertionError("not built", failure);
      } else {
        look(db, changes);
      }
      verify(db);
      awaitNoDrops(db);
      return !refused;
    }
  }

  private static void look(Database db, Changes changes) {
    assertEquals(1, coreOf(db).readable().size());
    db.run(
        tx -> {
          for (Map.Entry<Long, Long> e : changes.model.entrySet()) {
            if (e.getValue() >= 0) {
              assertEquals((long) e.getKey(), changes.form.find(tx, e.getValue()));
            }
          }
          for (long v = 0; v < changes.values; v++) {
            if (!changes.model.containsValue(v)) {
              assertEquals(-1, changes.form.find(tx, v));
            }
          }
        });
  }

  private static Protocol protocol(long seed) {
    return Protocol.values()[Math.floorMod(seed, Protocol.values().length)];
  }

  @Property(tries = 60, shrinking = ShrinkingMode.OFF)
  void ofRows(@ForAll long seed) throws Exception {
    Rows rows = new Rows(1 + new Random(seed).nextInt(60));
    build(seed, rows, rows.held, protocol(seed));
  }

  @Property(tries = 60, shrinking = ShrinkingMode.OFF)
  void ofByteStrings(@ForAll long seed) throws Exception {
    Bytes bytes = new Bytes(1 + new Random(seed).nextInt(60));
    build(seed, bytes, bytes.held, protocol(seed));
  }

  @Property(tries = 60, shrinking = ShrinkingMode.OFF)
  void ofObjects(@ForAll long seed) throws Exception {
    build(seed, new Objects(), null, protocol(seed));
  }
}
