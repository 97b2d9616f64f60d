package io.fovea.explorer;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.FileChanges;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.schema.TableSpec;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Change subscribers. At each position of a snapshot, what they built equals the snapshot. One runs
 * in the process, one reads the files as another process would.
 */
final class Subscribers {
  private static final List<String> TABLES = List.of("small", "lists", "longs", "ranges");
  private static final int BATCHES = 400;

  private static final class Follower {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, TreeMap<byte[], byte[]>> tables = new TreeMap<>();
    private @Nullable AutoCloseable changes;
    private long lsn;
    private @Nullable ChangeBatch ahead;

    void begin(Life life, Database snapshot, ChangePosition now, boolean in) {
      tables.clear();
      ahead = null;
      TABLES.forEach(t -> tables.put(t, content(snapshot, t)));
      changes = in ? life.db.changes(now) : FileChanges.from(requireNonNull(life.file), now);
      lsn = now.lsn();
    }

    void end() throws Exception {
      AutoCloseable c = changes;
      changes = null;
      if (c != null) {
        c.close();
      }
    }

    private @Nullable ChangeBatch poll() {
      return changes instanceof Changes c
          ? c.poll(Duration.ZERO)
          : ((FileChanges) requireNonNull(changes)).poll();
    }

    /** Takes changes up to a durable position; returns false if there are too many for now. */
    boolean reaches(ChangePosition to) {
      for (int i = 0; i < BATCHES; i++) {
        ChangeBatch batch = ahead != null ? ahead : poll();
        ahead = null;
        if (batch == null) {
          return true;
        }
        long next = batch.position().lsn();
        Violation.unless(next > lsn, "a batch ends at " + next + ", the one before at " + lsn);
        if (next > to.lsn()) {
          ahead = batch;
          return true;
        }
        lsn = next;
        batch.changes().forEach(this::apply);
      }
      return false;
    }

    private void apply(Change c) {
      TreeMap<byte[], byte[]> table = tables.get(c.table());
      if (table == null) {
        return;
      }
      switch (c.kind()) {
        case PUT -> table.put(c.keyBytes(), requireNonNull(c.valueBytes()));
        case DELETE -> table.remove(c.keyBytes());
        default -> throw new Violation("a change of " + c.table() + " is " + c.kind());
      }
    }
  }

  private final Follower inside = new Follower();
  private final Follower beside = new Follower();

  static void follow(Life life, Worker worker) throws Exception {
    Subscribers own = life.state(Subscribers.class, Subscribers::new);
    step(life, own.inside, true);
  }

  static void followFile(Life life, Worker worker) throws Exception {
    Subscribers own = life.state(Subscribers.class, Subscribers::new);
    step(life, own.beside, false);
  }

  private static void step(Life life, Follower f, boolean in) throws Exception {
    if (!f.lock.tryLock()) {
      return;
    }
    boolean done = false;
    try (Database snapshot = life.db.snapshot()) {
      ChangePosition now = snapshot.changesPosition();
      if (f.changes == null) {
        f.begin(life, snapshot, now, in);
      } else if (f.reaches(now)) {
        for (String t : TABLES) {
          requireSame(content(snapshot, t), f.tables.get(t), t + (in ? "" : ", from the files"));
        }
      }
      if (!in && life.state == Life.State.RUNNING) {
        FileChanges files = (FileChanges) requireNonNull(f.changes);
        Violation.unless(
            files.tables().keySet().containsAll(TABLES), "tables of a file: " + files.tables());
      }
      done = true;
    } finally {
      if (!done) {
        f.end();
      }
      f.lock.unlock();
    }
  }

  private static void requireSame(
      TreeMap<byte[], byte[]> right, TreeMap<byte[], byte[]> found, String table) {
    Violation.same(right.size(), found.size(), "records built from changes of " + table);
    right.forEach(
        (k, v) ->
            Violation.unless(
                Arrays.equals(v, found.get(k)),
                "changes did not build record " + new String(k, US_ASCII) + " of " + table));
  }

  private static TreeMap<byte[], byte[]> content(Database db, String table) {
    TreeMap<byte[], byte[]> all = new TreeMap<>(Arrays::compareUnsigned);
    Table<byte[], byte[]> t = db.table(TableSpec.bytes(table, 32)).bytes();
    db.read(
        tx -> {
          all.clear();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.put(c.key(), c.value());
            }
          }
          return null;
        });
    return all;
  }
}
