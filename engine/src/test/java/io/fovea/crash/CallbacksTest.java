package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.CompactOptions;
import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Application callbacks throw, at each of their invocations. The operation throws the same error,
 * or one with it as its cause; the database stays intact and usable, and closes.
 */
class CallbacksTest {
  public record Thing(@Id long id, String name) {}

  private static final ObjectSpec<Long, Thing> THINGS =
      ObjectSpec.of("things", Long.class, Thing.class);

  private static final List<Supplier<Throwable>> KINDS =
      List.of(
          () -> new IllegalStateException("on purpose"),
          () -> new IOException("on purpose"), // a checked exception that no signature declares
          () -> new AssertionError("on purpose"),
          () -> new StackOverflowError("on purpose"),
          () -> new OutOfMemoryError("on purpose"));

  @TempDir Path dir;

  /** Throws at the n-th call of application code. */
  private static final class Thrower {
    private final Throwable thrown;
    private final int at;
    private int calls;

    Thrower(Throwable thrown, int at) {
      this.thrown = thrown;
      this.at = at;
    }

    void call() {
      if (calls++ == at) {
        throw CallbacksTest.<RuntimeException>sneaky(thrown);
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
    throw (T) thrown;
  }

  private interface Use {
    void run(Database db, Table<byte[], byte[]> bytes, Thrower t) throws Exception;
  }

  private static final Map<String, Use> USES = new LinkedHashMap<>();

  static {
    USES.put("load", (db, b, t) -> b.load(into -> records(into::add, t)));
    USES.put(
        "load ascending",
        (db, b, t) -> b.load(LoadOptions.defaults().ascending(true), i -> records(i::add, t)));
    USES.put(
        "progress of a load",
        (db, b, t) ->
            b.load(
                LoadOptions.defaults().progress(p -> t.call()),
                into -> records(into::add, new Thrower(t.thrown, -1))));
    USES.put(
        "objects of a load",
        (db, b, t) -> db.table(THINGS).load(LoadOptions.defaults(), things(t)));
    USES.put("extractor of a new index", (db, b, t) -> db.table(extracted(t)));
    USES.put(
        "extractor of a put",
        (db, b, t) -> {
          // Do not count calls for existing records.
          Thrower later = new Thrower(t.thrown, 40 + t.at);
          Table<byte[], byte[]> with = db.table(extracted(later)).bytes();
          db.run(
              tx -> {
                for (int i = 0; i < 20; i++) {
                  with.put(tx, ApiCalls.key(1_000 + i), new byte[9]);
                }
              });
        });
    USES.put(
        "progress of a compaction",
        (db, b, t) -> {
          db.run(tx -> b.deleteRange(tx, ApiCalls.key(0), ApiCalls.key(35)));
          db.compact(CompactOptions.defaults().progress(r -> t.call()));
        });
    USES.put(
        "stream of a backup",
        (db, b, t) ->
            db.backup(
                new OutputStream() {
                  @Override
                  public void write(int one) {
                    t.call();
                  }

                  @Override
                  public void write(byte[] some, int off, int len) {
                    t.call();
                  }

                  @Override
                  public void flush() {
                    t.call();
                  }
                }));
    USES.put("executor", (db, b, t) -> db.submit(TxOptions.defaults(), r -> t.call(), tx -> 1));
    USES.put(
        "body of submit",
        (db, b, t) -> {
          try {
            db.submit(
                    tx -> {
                      b.put(tx, ApiCalls.key(1), new byte[3]);
                      t.call();
                      return 1;
                    })
                .toCompletableFuture()
                .join();
          } catch (java.util.concurrent.CompletionException e) {
            throw CallbacksTest.<RuntimeException>sneaky(e.getCause());
          }
        });
    USES.put(
        "body",
        (db, b, t) ->
            db.run(
                tx -> {
                  for (int i = 0; i < 5; i++) {
                    b.put(tx, ApiCalls.key(i), new byte[9_000]);
                    t.call();
                  }
                }));
    USES.put(
        "visitor",
        (db, b, t) ->
            db.run(
                tx -> {
                  Table<Long, Thing> things = db.table(THINGS);
                  things.put(tx, new Thing(77, "x"));
                  things.scan(
                      tx,
                      null,
                      null,
                      ScanOrder.ASCENDING,
                      (k, v) -> {
                        t.call();
                        return true;
                      });
                }));
    USES.put(
        "stream",
        (db, b, t) ->
            db.read(
                tx -> {
                  try (Stream<Map.Entry<Long, Thing>> all =
                      db.table(THINGS).stream(tx, null, null, ScanOrder.ASCENDING)) {
                    return all.peek(e -> t.call()).onClose(t::call).toList();
                  }
                }));
    USES.put(
        "update",
        (db, b, t) ->
            db.run(
                tx ->
                    db.table(THINGS)
                        .update(
                            tx,
                            1L,
                            v -> {
                              t.call();
                              return null;
                            })));
    USES.put(
        "map",
        (db, b, t) ->
            db.table(THINGS)
                .asMap()
                .replaceAll(
                    (k, v) -> {
                      t.call();
                      return new Thing(k, "replaced");
                    }));
  }

  private interface Adder {
    void add(byte[] key, byte[] value);
  }

  private static void records(Adder into, Thrower t) {
    for (int i = 0; i < 300; i++) {
      into.add(ApiCalls.key(5_000 + i), new byte[100]);
      t.call();
    }
  }

  private static Iterator<Map.Entry<Long, Thing>> things(Thrower t) {
    return new Iterator<>() {
      private long n = 100;

      @Override
      public boolean hasNext() {
        t.call();
        return n < 120;
      }

      @Override
      public Map.Entry<Long, Thing> next() {
        t.call();
        return Map.entry(n, new Thing(n++, "loaded"));
      }
    };
  }

  private static TableSpec extracted(Thrower t) {
    return TableSpec.bytes("bytes", 16)
        .with(
            IndexSpec.bytes(
                "by_length",
                KeySpec.of(FieldType.INT32),
                false,
                (key, value, entry) -> {
                  t.call();
                  entry.int32(value.length);
                  return true;
                }));
  }

  private Database open(Durability durability, String name) {
    return Database.open(dir.resolve(name), ApiCalls.small(durability));
  }

  private static Table<byte[], byte[]> fill(Database db) {
    Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 16)).bytes();
    Table<Long, Thing> things = db.table(THINGS);
    db.run(
        tx -> {
          for (int i = 0; i < 40; i++) {
            bytes.put(tx, ApiCalls.key(i), new byte[i % 10 == 0 ? 9_000 : 50]);
            things.put(tx, new Thing(i, "t" + i));
          }
        });
    return bytes;
  }

  @ParameterizedTest
  @EnumSource(
      value = Durability.class,
      names = {"NONE", "SYNC"})
  void rethrowsWhateverACallbackThrows(Durability durability) {
    int n = 0;
    for (Map.Entry<String, Use> use : USES.entrySet()) {
      int thrown = 0;
      for (int at : new int[] {0, 9}) {
        Throwable one = KINDS.get(n % KINDS.size()).get();
        String about = use.getKey() + ", call " + at + ", " + one;
        String name = "db" + n++;
        Throwable seen = null;
        Database db = open(durability, name);
        Table<byte[], byte[]> bytes = fill(db);
        try {
          use.getValue().run(db, bytes, new Thrower(one, at));
        } catch (Throwable t) {
          seen = t;
        }
        if (seen != null) {
          thrown++;
          Throwable cause = seen;
          while (cause != one && cause.getCause() != null) {
            cause = cause.getCause();
          }
          assertSame(one, cause, about + ": " + seen);
          db.run(tx -> bytes.put(tx, ApiCalls.key(1), new byte[] {1})); // still usable
          assertTrue(db.verify().ok(), () -> about + ": " + db.verify().problems());
        }
        db.close();
        assertFalse(db.isOpen(), about);
        try (Database again = open(durability, name)) {
          assertTrue(again.verify().ok(), () -> about + ": " + again.verify().problems());
        }
      }
      assertTrue(thrown > 0, use.getKey() + " calls no callback");
    }
  }

  /** All listeners run and the file is closed; what a listener throws does not reach the caller. */
  @ParameterizedTest
  @EnumSource(Durability.class)
  void closesWhateverListenersThrow(Durability durability) {
    List<Throwable> told = new ArrayList<>();
    Database db = open(durability, "listeners");
    fill(db);
    for (Supplier<Throwable> kind : KINDS) {
      db.onClose(
          () -> {
            Throwable t = kind.get();
            told.add(t);
            throw CallbacksTest.<RuntimeException>sneaky(t);
          });
    }
    Database snapshot = db.snapshot();
    snapshot.onClose(
        () -> {
          throw new AssertionError("of a snapshot");
        });
    db.close();
    assertEquals(KINDS.size(), told.size());
    assertFalse(db.isOpen());
    assertFalse(snapshot.isOpen());
    try (Database again = open(durability, "listeners")) {
      assertTrue(again.verify().ok());
    }
  }

  /** A listener added while the others run is rejected. */
  @Test
  void rejectsAListenerAddedDuringClose() {
    List<String> told = new ArrayList<>();
    Database db = open(Durability.NONE, "late");
    db.onClose(
        () -> {
          assertThrows(DatabaseClosedException.class, () -> db.onClose(() -> told.add("late")));
          told.add("first");
        });
    db.close();
    assertEquals(List.of("first"), told);
  }

  /** A failing clock stops neither the sweeper nor the close. */
  @Test
  void closesWhateverTheClockThrows() {
    Thrower t = new Thrower(new AssertionError("no time"), 3);
    InstantSource clock =
        () -> {
          t.call();
          return Instant.ofEpochMilli(1_000_000);
        };
    Options options =
        ApiCalls.small(Durability.NONE)
            .expiry(expiry -> expiry.clock(clock).sweepInterval(Duration.ofMillis(1)));
    Path file = dir.resolve("clock");
    try (Database db = Database.open(file, options)) {
      ApiCalls calls = new ApiCalls(db, dir);
      assertNotNull(calls);
    } catch (AssertionError e) {
      assertSame(t.thrown, e);
    }
    try (Database db = Database.open(file, ApiCalls.small(Durability.NONE))) {
      assertTrue(db.verify().ok());
    }
  }

  /**
   * The stream of a backup closes the database, at each of its writes, while the log is copied and
   * trimmed. The backup must not report damage.
   */
  @Test
  void closeDuringABackupIsNotReportedAsDamage() throws Exception {
    boolean done = false;
    int closed = 0;
    for (int n = 0; !done; n++) {
      Database db = open(Durability.SYNC, "backup" + n);
      fill(db);
      Closer closer = new Closer(db, n);
      try {
        db.backup(closer);
        done = closer.writes <= n;
      } catch (DatabaseClosedException e) {
        closed++;
      }
      closer.join();
      assertFalse(db.isOpen() && !done);
      db.close();
    }
    assertTrue(closed > 3, closed + " backups were interrupted");
  }

  private static final class Closer extends OutputStream {
    private final Thread close;
    private final int at;
    private int writes;

    Closer(Database db, int at) {
      this.at = at;
      this.close = Thread.ofPlatform().unstarted(db::close);
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[1], 0, 1);
    }

    @Override
    public void write(byte @Nullable [] b, int off, int len) throws IOException {
      if (writes++ == at) {
        close.start();
        try {
          join();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }

    void join() throws InterruptedException {
      close.join();
    }
  }
}
