package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Index;
import io.fovea.ObjectSpec;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Objects and byte strings that expire by the explorer's clock. A small record says when each one
 * expires. The name of an object is unique, and becomes free when the object expires.
 */
final class Leases {
  private static final int RECORDS = 40;
  private static final int NAMES = 60;

  /** The stored class; public for its codec. */
  public record Lease(int id, String name, Instant end, byte[] pad) {}

  private static final ObjectSpec<Integer, Lease> OBJECTS =
      ObjectSpec.of("leases", Integer.class, Lease.class)
          .unique("by_name", "name")
          .expireAfter("end", Duration.ZERO);

  private static final int OFFSET = 3;

  private static final TableSpec BYTES =
      TableSpec.bytes("tokens", 20).expireAfter(OFFSET, Duration.ZERO);

  private Leases() {}

  /** One of the two tables; {@code named}: with a unique name. */
  private record Form<K, V>(
      Table<K, V> table,
      String prefix,
      boolean named,
      Function<Integer, K> key,
      Maker<V> value,
      ToLongFunction<V> end) {}

  @FunctionalInterface
  private interface Maker<V> {
    V make(int id, int name, long end, int padding);
  }

  private static Form<Integer, Lease> objects(Database db) {
    return new Form<>(
        db.table(OBJECTS),
        "le/",
        true,
        id -> id,
        (id, name, end, n) -> new Lease(id, name(name), Instant.ofEpochMilli(end), new byte[n]),
        lease -> lease.end().toEpochMilli());
  }

  private static Form<byte[], byte[]> bytes(Database db) {
    return new Form<>(
        db.table(BYTES).bytes(),
        "to/",
        false,
        id -> Life.key("k", id),
        (id, name, end, n) ->
            ByteBuffer.allocate(OFFSET + Long.BYTES + n).putLong(OFFSET, end).array(),
        token -> ByteBuffer.wrap(token).getLong(OFFSET));
  }

  private static String name(int n) {
    return "name " + n;
  }

  static void step(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    if (r.nextInt(4) == 0) {
      life.pass(r.nextInt(40));
    }
    if (r.nextInt(8) == 0) {
      life.db.sweepExpired();
    } else if (r.nextBoolean()) {
      step(life, worker, objects(life.db));
    } else {
      step(life, worker, bytes(life.db));
    }
  }

  private static <K, V> void step(Life life, Worker worker, Form<K, V> form) throws Exception {
    Random r = worker.random;
    Table<K, V> t = form.table;
    if (r.nextInt(4) == 0) {
      long before = life.clock.millis();
      life.<@Nullable Void, RuntimeException>readOnly(
          tx -> {
            try (Cursor<K, V> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                long end = form.end.applyAsLong(c.value());
                Violation.unless(
                    end > before, "a lease that ended " + end + " is present at " + before);
              }
            }
            return null;
          });
      return;
    }
    int id = r.nextInt(RECORDS);
    int name = r.nextInt(NAMES);
    int lives = r.nextInt(100);
    int padding = r.nextInt(300);
    boolean deletes = r.nextInt(5) == 0;
    byte[] small = Life.key(form.prefix, id);
    try {
      life.write(
          worker,
          tx -> {
            K key = form.key.apply(id);
            long end = Life.number(life.small.get(tx, small));
            V found = t.get(tx, key);
            if (found != null) {
              Violation.same(end, form.end.applyAsLong(found), "end of lease " + id);
            } else {
              long now = life.clock.millis();
              Violation.unless(
                  end <= now,
                  "lease " + id + " is missing, which lasts until " + end + ", now is " + now);
            }
            long until = deletes ? 0 : life.clock.millis() + lives;
            if (deletes) {
              Violation.unless(t.delete(tx, key) == (found != null), "delete of lease " + id);
            } else {
              // An even name is looked up before, an odd one may be refused.
              if (form.named && name % 2 == 0) {
                Index<String, K, V> names = t.index("by_name", String.class);
                Map.Entry<K, V> owner = names.get(tx, name(name));
                if (owner != null && !owner.getKey().equals(key)) {
                  return;
                }
              }
              t.put(tx, key, form.value.make(id, name, until, padding));
            }
            life.small.put(tx, small, Life.number(until));
          });
    } catch (DuplicateKeyException e) {
      Violation.unless(name % 2 == 1, "a free name was refused: " + e);
    } catch (CompletionException | ExecutionException e) {
      if (!(e.getCause() instanceof DuplicateKeyException)) {
        throw e;
      }
    }
  }
}
