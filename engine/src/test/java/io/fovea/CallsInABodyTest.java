package io.fovea;

import static io.fovea.CallsInABodyTest.Answer.REFUSED;
import static io.fovea.CallsInABodyTest.Answer.WORKS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Makes every call of a database and of a table in the body of a transaction, while a load runs for
 * just as long. Each call works or is refused immediately; a call that waited for its own thread or
 * for the load would never return.
 */
@Timeout(300)
class CallsInABodyTest {
  /** The expected outcome of a call. */
  enum Answer {
    WORKS,
    REFUSED
  }

  private interface Call {
    @Nullable Object on(Database db, RowTable t, Table<byte[], byte[]> b) throws Exception;
  }

  /**
   * A call and its expected outcomes.
   *
   * @param managed the outcome in a body
   * @param explicit the outcome while the thread has an explicit transaction
   */
  private record Case(String method, Answer managed, Answer explicit, Call call) {
    static Case of(String method, Answer both, Call call) {
      return new Case(method, both, both, call);
    }
  }

  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field A = LAYOUT.int64("a");
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT32), LAYOUT.build());

  record Item(long size) {}

  private static final ObjectSpec<Long, Item> OBJECTS =
      ObjectSpec.of("objects", Long.class, Item.class);
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 20);
  private static final TableSpec LOADED = TableSpec.bytes("loaded", 20);

  @TempDir Path folder;

  private List<Case> cases() {
    List<Case> all = new ArrayList<>();
    for (String m : List.of("name", "id", "options", "isOpen", "stats", "placement", "toString")) {
      all.add(Case.of("Database." + m, WORKS, (db, t, b) -> call(db, m)));
    }
    for (String m : List.of("tables", "sequences", "tableSizes")) {
      all.add(Case.of("Catalog." + m, WORKS, (db, t, b) -> call(db, m)));
    }
    all.add(new Case("Database.snapshot", REFUSED, WORKS, (db, t, b) -> db.snapshot()));
    all.add(Case.of("Database.changesPosition", REFUSED, (db, t, b) -> db.changesPosition()));
    all.add(
        Case.of(
            "Database.changes", WORKS, (db, t, b) -> db.changes(Objects.requireNonNull(position))));
    all.add(Case.of("Database.checkpoint", WORKS, (db, t, b) -> none(db::checkpoint)));
    all.add(
        Case.of("Database.compact", REFUSED, (db, t, b) -> db.compact(CompactOptions.defaults())));
    all.add(Case.of("Database.verify", REFUSED, (db, t, b) -> db.verify()));
    OutputStream out = OutputStream.nullOutputStream();
    BackupOptions how = BackupOptions.defaults();
    all.add(Case.of("Database.backup", WORKS, (db, t, b) -> db.backup(out)));
    all.add(Case.of("Database.backup", WORKS, (db, t, b) -> db.backup(out, how)));
    all.add(Case.of("Database.backup", WORKS, (db, t, b) -> db.backup(next())));
    all.add(Case.of("Database.backup", WORKS, (db, t, b) -> db.backup(next(), how)));
    all.add(Case.of("Database.onClose", WORKS, (db, t, b) -> none(() -> db.onClose(() -> {}))));
    all.add(new Case("Database.close", REFUSED, REFUSED, (db, t, b) -> closed(db)));
    all.add(Case.of("Catalog.table", WORKS, (db, t, b) -> db.table(BYTES)));
    all.add(Case.of("Catalog.table", WORKS, (db, t, b) -> db.table(TableSpec.bytes("new", 20))));
    TableSpec indexed = ROWS.with(IndexSpec.on("by_a", A));
    all.add(Case.of("Catalog.table", REFUSED, (db, t, b) -> db.table(indexed)));
    all.add(Case.of("Catalog.describe", WORKS, (db, t, b) -> db.describe("rows")));
    all.add(Case.of("Catalog.dropTable", REFUSED, (db, t, b) -> db.dropTable("bytes")));
    all.add(Case.of("Catalog.dropTable", REFUSED, (db, t, b) -> db.dropTable("loaded")));
    all.add(Case.of("Catalog.dropTable", WORKS, (db, t, b) -> db.dropTable("none")));
    all.add(Case.of("Catalog.dropIndex", REFUSED, (db, t, b) -> db.dropIndex("old", "by_b")));
    all.add(Case.of("Catalog.dropExpiry", WORKS, (db, t, b) -> db.dropExpiry("rows")));
    all.add(Case.of("Catalog.finishEvolution", REFUSED, (db, t, b) -> db.finishEvolution("bytes")));
    all.add(
        Case.of(
            "Catalog.finishEvolution",
            REFUSED,
            (db, t, b) -> db.finishEvolution(OBJECTS, p -> {})));
    all.add(Case.of("Catalog.sweepExpired", REFUSED, (db, t, b) -> db.sweepExpired()));
    all.add(Case.of("Catalog.renameTable", REFUSED, (db, t, b) -> db.renameTable("bytes", "x")));
    all.add(
        Case.of("Catalog.renameIndex", REFUSED, (db, t, b) -> db.renameIndex("old", "by_b", "x")));
    TableSpec moved = TableSpec.bytes("moved", 20);
    all.add(
        Case.of(
            "Catalog.migrate",
            REFUSED,
            (db, t, b) ->
                db.migrate(b, moved, RowTable::bytes, (key, value, to) -> to.add(key, value))));
    all.add(Case.of("Catalog.sequence", WORKS, (db, t, b) -> db.sequence("s").next()));
    all.add(
        Case.of(
            "Catalog.sequence", WORKS, (db, t, b) -> db.sequence(SequenceSpec.of("s2")).next()));
    all.add(Case.of("Catalog.describeSequence", WORKS, (db, t, b) -> db.describeSequence("s")));
    all.add(
        Case.of(
            "Catalog.alterSequence", WORKS, (db, t, b) -> db.alterSequence(SequenceSpec.of("s"))));
    all.add(Case.of("Catalog.renameSequence", WORKS, (db, t, b) -> db.renameSequence("s", "r")));
    all.add(Case.of("Catalog.dropSequence", WORKS, (db, t, b) -> db.dropSequence("r")));
    transactions(all);
    for (String m : List.of("name", "spec", "key", "count", "dataBytes", "bytes", "toString")) {
      all.add(
          Case.of(
              "RowTable." + m, WORKS, (db, t, b) -> call(m.equals("bytes") ? b.table() : t, m)));
    }
    all.add(Case.of("RowTable.row", WORKS, (db, t, b) -> t.row()));
    all.add(Case.of("RowTable.batch", WORKS, (db, t, b) -> t.batch(10)));
    all.add(Case.of("RowTable.load", REFUSED, (db, t, b) -> t.load(into -> {})));
    all.add(
        Case.of(
            "RowTable.load", REFUSED, (db, t, b) -> t.load(LoadOptions.defaults(), into -> {})));
    all.add(Case.of("Table.load", REFUSED, (db, t, b) -> b.load(into -> {})));
    all.add(
        Case.of("Table.load", REFUSED, (db, t, b) -> b.load(LoadOptions.defaults(), into -> {})));
    for (String m : List.of("table", "count", "dataBytes", "asMap", "toString")) {
      all.add(Case.of("Table." + m, WORKS, (db, t, b) -> call(b, m)));
    }
    return all;
  }

  /** Calls that take part in a body's transaction, and begin another next to an explicit one. */
  private static void transactions(List<Case> all) {
    TxOptions how = TxOptions.defaults();
    String of = "TransactionRunner.";
    all.add(new Case(of + "run", REFUSED, WORKS, (db, t, b) -> none(() -> db.run(tx -> {}))));
    all.add(new Case(of + "run", REFUSED, WORKS, (db, t, b) -> none(() -> db.run(how, tx -> {}))));
    all.add(new Case(of + "runPipelined", REFUSED, WORKS, (db, t, b) -> db.runPipelined(tx -> {})));
    all.add(
        new Case(
            of + "runPipelined", REFUSED, WORKS, (db, t, b) -> db.runPipelined(how, tx -> {})));
    all.add(new Case(of + "call", REFUSED, WORKS, (db, t, b) -> db.call(tx -> 1)));
    all.add(new Case(of + "call", REFUSED, WORKS, (db, t, b) -> db.call(how, tx -> 1)));
    all.add(new Case(of + "read", REFUSED, WORKS, (db, t, b) -> db.read(tx -> 1)));
    all.add(Case.of(of + "submit", WORKS, (db, t, b) -> db.submit(tx -> 1)));
    all.add(Case.of(of + "submit", WORKS, (db, t, b) -> db.submit(how, tx -> 1)));
    all.add(
        Case.of(
            of + "submit",
            WORKS,
            (db, t, b) -> db.submit(how, Thread::startVirtualThread, tx -> 1)));
    all.add(new Case(of + "begin", REFUSED, WORKS, (db, t, b) -> db.begin()));
    all.add(new Case(of + "begin", REFUSED, WORKS, (db, t, b) -> db.begin(how)));
  }

  private @Nullable ChangePosition position;
  private int copies;

  private Path next() {
    return folder.resolve("copy" + copies++);
  }

  private static @Nullable Object none(Runnable call) {
    call.run();
    return null;
  }

  private static @Nullable Object call(Object on, String method) throws Exception {
    return on.getClass().getMethod(method).invoke(on);
  }

  /** Skips close in an explicit transaction: it would abort what the test still needs. */
  private static @Nullable Object closed(Database db) {
    if (!db.source.isInBody()) {
      throw new InvalidUseException("untested calls");
    }
    db.close();
    return null;
  }

  @Test
  void allCallsAreTried() {
    Set<String> tried = new TreeSet<>();
    cases().forEach(c -> tried.add(c.method));
    Set<String> there = new TreeSet<>();
    for (Class<?> c : List.of(Database.class, Catalog.class, TransactionRunner.class)) {
      Stream.of(c.getDeclaredMethods()).filter(m -> isCall(m)).forEach(m -> there.add(name(m)));
    }
    for (Class<?> c : List.of(RowTable.class, Table.class)) {
      Stream.of(c.getDeclaredMethods())
          .filter(m -> isCall(m) && !List.of(m.getParameterTypes()).contains(Transaction.class))
          .forEach(m -> there.add(name(m)));
    }
    // Outside of a transaction these only create another handle.
    there.removeAll(Set.of("RowTable.as", "RowTable.index", "Table.as", "Table.index"));
    there.removeAll(tried);
    assertEquals(Set.of(), there);
  }

  private static boolean isCall(Method m) {
    return Modifier.isPublic(m.getModifiers())
        && !Modifier.isStatic(m.getModifiers())
        && !m.isSynthetic();
  }

  private static String name(Method m) {
    return m.getDeclaringClass().getSimpleName() + "." + m.getName();
  }

  @Test
  void inABodyDuringALoad() throws Exception {
    duringALoad(
        (db, t, b) -> {
          for (Case c : cases()) {
            db.run(tx -> expect(c.managed, c, db, t, b));
          }
        });
  }

  @Test
  void duringAnExplicitTransactionAndALoad() throws Exception {
    duringALoad(
        (db, t, b) -> {
          for (Case c : cases()) {
            try (Transaction tx = db.begin()) {
              expect(c.explicit, c, db, t, b);
              tx.rollback();
            }
          }
        });
  }

  /** A close on another thread ends the transaction, so no call may blame it. */
  @Test
  void afterACloseThatHasEndedATransaction() throws Exception {
    Options options =
        Options.defaults()
            .durability(Durability.ASYNC)
            .transactions(txs -> txs.closeTimeout(Duration.ZERO))
            .log(l -> l.changeRetentionBytes(1 << 20));
    Database db = Database.open(folder.resolve("d"), options);
    RowTable t = db.table(ROWS);
    Table<byte[], byte[]> b = db.table(BYTES).bytes();
    position = db.changesPosition();
    Transaction tx = db.begin();
    Thread close = Thread.ofPlatform().start(db::close);
    close.join();
    tx.close();
    List<String> others = new ArrayList<>();
    for (Case c : cases()) {
      if (c.method.equals("Database.close")) {
        continue;
      }
      try {
        c.call.on(db, t, b);
      } catch (Throwable e) {
        Throwable thrown = e instanceof InvocationTargetException i ? i.getCause() : e;
        if (!(thrown instanceof DatabaseClosedException)) {
          others.add(c.method + ": " + thrown);
        }
      }
    }
    assertEquals(List.of(), others);
  }

  private static void expect(
      Answer answer, Case c, Database db, RowTable t, Table<byte[], byte[]> b) throws Exception {
    if (answer == REFUSED) {
      assertThrows(InvalidUseException.class, () -> c.call.on(db, t, b), c.method);
      return;
    }
    Object made;
    try {
      made = c.call.on(db, t, b);
    } catch (Throwable e) {
      throw new AssertionError(c.method, e);
    }
    if (made instanceof CompletionStage<?>) {
      return; // transactions of another thread: a body must not wait for them
    }
    if (made instanceof AutoCloseable it) {
      it.close();
    }
  }

  private interface Body {
    void run(Database db, RowTable t, Table<byte[], byte[]> b) throws Exception;
  }

  private void duringALoad(Body body) throws Exception {
    Options options =
        Options.defaults()
            .bufferBytes(16 << 20)
            .durability(Durability.ASYNC)
            .log(l -> l.changeRetentionBytes(1 << 20));
    try (Database db = Database.open(folder.resolve("d"), options)) {
      RowTable t = db.table(ROWS);
      Table<byte[], byte[]> b = db.table(BYTES).bytes();
      Layout.Definition old = Layout.define();
      Field f = old.int64("b");
      KeySpec key = KeySpec.of(FieldType.INT32);
      db.table(TableSpec.of("old", key, old.build()).with(IndexSpec.on("by_b", f)));
      Table<byte[], byte[]> loaded = db.table(LOADED).bytes();
      position = db.changesPosition();
      CountDownLatch loads = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      Thread load =
          Thread.ofPlatform()
              .start(
                  () ->
                      loaded.load(
                          LoadOptions.defaults().ascending(true),
                          into -> {
                            into.add(new byte[] {1}, new byte[10]);
                            loads.countDown();
                            try {
                              end.await();
                            } catch (InterruptedException e) {
                              throw new IllegalStateException(e);
                            }
                          }));
      try {
        loads.await();
        body.run(db, t, b);
      } finally {
        end.countDown();
        load.join();
      }
      assertEquals(true, db.verify().ok());
    }
  }
}
