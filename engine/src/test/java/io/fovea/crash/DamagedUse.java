package io.fovea.crash;

import io.fovea.Batch;
import io.fovea.Database;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.VerifyReport;
import io.fovea.crash.State.Contents;
import io.fovea.crash.State.Kind;
import io.fovea.crash.State.Pk;
import io.fovea.crash.State.Value;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.support.SimDisk;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Uses a database with damaged pages in every way: verify, scans in both directions, gets, batches
 * and index lookups; then writes that change lengths, split and merge; then verify, backup, close.
 *
 * <p>Each step may throw a {@link FoveaException}. A wrong answer is accepted only if verify
 * reports damage, since some damage is not visible on a single page.
 */
final class DamagedUse {
  private final SimDisk disk;
  private final State state;
  private final long seed;
  private final Hostile.Outcomes outcomes;
  private final List<String> wrong = new ArrayList<>();

  DamagedUse(SimDisk disk, State state, long seed, Hostile.Outcomes outcomes) {
    this.disk = disk;
    this.state = state;
    this.seed = seed;
    this.outcomes = outcomes;
  }

  /** Returns the wrong answers if verify found nothing; otherwise null. */
  @Nullable String run() {
    // The timeout is long, so that an endless retry shows up as a round that does not end.
    Session s =
        new Session(
            disk,
            Session.small(Session.mostlyDefault(seed))
                .transactions(txs -> txs.timeout(Duration.ofMinutes(10))),
            false,
            state);
    try {
      s.open();
      Database db = s.db();
      boolean[] ok = {false};
      attempt(
          () -> {
            VerifyReport report = db.verify();
            ok[0] = report.ok();
            for (String p : report.problems()) {
              if (p.contains("segment") || p.contains("out of bounds")) {
                throw new IllegalStateException("verify says: " + p);
              }
            }
          });
      outcomes.add(ok[0] ? "verify finds nothing" : "verify finds it");
      read(db);
      if (!wrong.isEmpty()) {
        outcomes.add(ok[0] ? "wrong answers, verify finds nothing" : "wrong answers");
      }
      write(s);
      attempt(db::verify);
      attempt(() -> db.backup(OutputStream.nullOutputStream()));
      if (s.db != null) {
        attempt(s::close);
      }
      return ok[0] && !wrong.isEmpty() ? wrong.toString() : null;
    } catch (CorruptionException e) {
      note(e);
      return null;
    } finally {
      s.abandon();
    }
  }

  private void note(FoveaException e) {
    boolean nowhere = e instanceof CorruptionException c && (c.pid() < 0 || c.fileOffset() < 0);
    outcomes.add(e.getClass().getSimpleName() + (nowhere ? " without a page" : ""));
    if (nowhere && Boolean.getBoolean("crash.nowhere")) {
      e.printStackTrace(System.out);
    }
  }

  private void attempt(Runnable step) {
    Hostile.attempt(
        () -> {
          try {
            step.run();
          } catch (FoveaException e) {
            note(e);
            throw e;
          }
        });
  }

  private void wrong(String what, @Nullable Object expected, @Nullable Object found) {
    if (!Objects.equals(expected, found)) {
      wrong.add(what + ": " + found + " instead of " + expected);
    }
  }

  // ----------------------------------------------------------------------------------- reading

  private void read(Database db) {
    try {
      attempt(
          () -> {
            State found = State.read(db, state, state.trees());
            if (!state.equals(found)) {
              wrong.add(found == null ? "other tables" : State.difference(state, found));
            }
          });
    } catch (AssertionError e) {
      wrong.add(String.valueOf(e.getMessage()));
    }
    for (Map.Entry<String, Contents> e : state.tables.entrySet()) {
      attempt(() -> table(db, e.getKey(), e.getValue()));
    }
  }

  private void table(Database db, String name, Contents c) {
    RowTable t = db.table(c.spec(name));
    List<Pk> keys = new ArrayList<>(c.records().keySet());
    Collections.shuffle(keys, new Random(seed));
    keys = keys.subList(0, Math.min(60, keys.size()));
    for (Pk pk : keys) {
      attempt(() -> get(db, t, c, pk));
    }
    if (c.kind() == Kind.BYTES) {
      return;
    }
    List<Pk> some = keys;
    attempt(() -> batch(db, t, c, some));
    attempt(() -> backwards(db, t, c));
    for (String index : c.indexes()) {
      for (Pk pk : keys) {
        attempt(() -> lookup(db, t, t.index(index), c, pk));
      }
    }
  }

  private void get(Database db, RowTable t, Contents c, Pk pk) {
    Value expected = c.records().get(pk);
    if (c.kind() == Kind.BYTES) {
      byte[] found = db.read(tx -> t.bytes().get(tx, pk.bytes()));
      wrong(t.name() + " get " + pk, expected.pad(), found == null ? null : State.Blob.of(found));
      return;
    }
    Value found =
        db.read(
            tx -> {
              Row row = t.row();
              return t.get(tx, pk.key(t), row) ? Value.of(row, c.shape()) : null;
            });
    wrong(t.name() + " get " + pk, expected, found);
  }

  private void batch(Database db, RowTable t, Contents c, List<Pk> keys) {
    if (keys.isEmpty()) {
      return;
    }
    Batch batch = t.batch(keys.size());
    List<@Nullable Value> found =
        db.read(
            tx -> {
              batch.clear();
              keys.forEach(pk -> batch.add(pk.key(t)));
              t.getAll(tx, batch);
              List<@Nullable Value> values = new ArrayList<>();
              for (int i = 0; i < batch.size(); i++) {
                values.add(batch.found(i) ? Value.of(batch.row(i), c.shape()) : null);
              }
              return values;
            });
    for (int i = 0; i < keys.size(); i++) {
      wrong(t.name() + " getAll " + keys.get(i), c.records().get(keys.get(i)), found.get(i));
    }
  }

  private void backwards(Database db, RowTable t, Contents c) {
    List<Pk> found =
        db.read(
            tx -> {
              List<Pk> keys = new ArrayList<>();
              try (RowCursor cursor = t.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
                while (cursor.next()) {
                  keys.add(Pk.of(cursor.key()));
                  cursor.row();
                }
              }
              return keys;
            });
    wrong(t.name() + " backwards", List.copyOf(c.records().descendingKeySet()), found);
  }

  private void lookup(Database db, RowTable t, RowIndex index, Contents c, Pk pk) {
    Value v = c.records().get(pk);
    boolean unique = index.name().equals("by_unique");
    Value found =
        db.read(
            tx -> {
              Row row = t.row();
              boolean there =
                  index.get(
                      tx,
                      switch (index.name()) {
                        case "by_text" -> index.key().text(v.text());
                        case "by_a" -> index.key().int32(v.a());
                        default -> index.key().int64(v.unique());
                      },
                      row);
              return there ? Value.of(row, c.shape()) : null;
            });
    if (unique || found == null) {
      wrong(t.name() + " lookup " + pk, v, found);
    }
  }

  // ----------------------------------------------------------------------------------- writing

  private void write(Session s) {
    Random r = new Random(seed);
    Contents c = state.tables.get("bytes");
    RowTable[] table = new RowTable[1];
    attempt(() -> table[0] = s.db().table(c.spec("bytes")));
    if (table[0] != null) {
      Table<byte[], byte[]> t = table[0].bytes();
      for (int i = 0; i < 60; i++) {
        byte[] key = DeepTreeFixture.key(r.nextInt(220)).bytes();
        int kind = r.nextInt(6);
        int length = r.nextInt(8) == 0 ? 1100 + r.nextInt(9000) : r.nextInt(1000);
        attempt(
            () ->
                s.db()
                    .run(
                        tx -> {
                          if (kind < 2) {
                            t.delete(tx, key);
                          } else {
                            t.put(tx, kind < 4 ? key : more(key, kind), new byte[length]);
                          }
                        }));
      }
    }
    Generator g = new Generator(seed, true, true);
    for (int i = 0; i < 8 && s.db != null; i++) {
      attempt(() -> s.step(g.next(s.state())));
    }
    if (s.db == null) {
      attempt(s::open);
    }
  }

  private static byte[] more(byte[] key, int i) {
    byte[] longer = java.util.Arrays.copyOf(key, key.length + 1);
    longer[key.length] = (byte) ('0' + i);
    return longer;
  }
}
