package io.fovea.checker;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.Set;

/**
 * Lists that expire: each append sets the expiry time. No transaction deletes one. A transaction
 * that finds it absent begins the next life, and records it in the list's grave, which here counts
 * lives.
 *
 * <p>A read is recorded with two bounds of its transaction's time, or of an earlier sweep: what is
 * present expires after the first, and what is absent has expired by the second.
 */
final class ListExpiry {
  /** A clock that gives the database a wrong time, with the true clock. */
  interface SkewedClock extends InstantSource {
    SetClock truth();
  }

  /** The maximum lifetime of a list after an append. */
  private static final int LONGEST = 12;

  private static final Layout.Definition B = Layout.define();
  private static final Field END = B.int64("end");
  private static final Field LIFE = B.int32("life");
  private static final Field ELEMENTS = B.bytes("elements", 8 * ListClient.LENGTH_MAX);
  private static final TableSpec SPEC =
      TableSpec.of("ending", KeySpec.of(FieldType.INT32), B.build())
          .expireAfter(END, Duration.ZERO);

  private final ListClient client;
  private SetClock clock;
  private final RowTable table;
  private final Key key;
  private final Row row;
  private long began;

  /** Whether expiring lists are disabled, for setups without a sweep. */
  private final boolean off;

  ListExpiry(ListClient client, Database db) {
    this.client = client;
    this.clock = clock(db);
    this.off = db.options().expiry().sweepInterval().isZero();
    this.table = db.table(SPEC);
    this.key = table.key();
    this.row = table.row();
  }

  static void create(Database db) {
    db.table(SPEC);
  }

  /** Returns the clock; in a snapshot, the time of the snapshot. */
  static SetClock clock(Database db) {
    InstantSource clock = db.options().expiry().clock();
    if (clock instanceof SkewedClock l) {
      return l.truth();
    }
    return clock instanceof SetClock set ? set : new SetClock(clock.millis());
  }

  /** Advances the clock. */
  void pass(long millis) {
    clock.pass(millis);
  }

  void begin() {
    began = clock.millis();
  }

  /** Begins in a snapshot that was opened between two times. */
  void begin(long since, long until) {
    began = since;
    clock = new SetClock(until);
  }

  State read(long list) {
    if (off) {
      return State.ABSENT;
    }
    State s = State.ABSENT;
    if (table.get(client.tx(), key.set(Keys.number(list)), row)) {
      s = state();
    }
    saw(list, s);
    return s;
  }

  private State state() {
    ByteBuffer b = ByteBuffer.wrap(row.getBytes(ELEMENTS));
    long[] list = new long[b.capacity() / 8];
    b.asLongBuffer().get(list);
    return State.of(row.getInt(LIFE), list);
  }

  private void saw(long list, State s) {
    client.txn().ops.add(new Op.Timed(list, s, began, clock.millis()));
  }

  /** Reads a list and its number of lives, which tells the life that has expired. */
  State readLives(long list) {
    if (off) {
      return State.ABSENT;
    }
    State s = read(list);
    client.read(Keys.grave(list));
    return s;
  }

  /** Appends to a list, or begins one, and sets its expiry; only reads a full one. */
  void append(long list) {
    if (off) {
      return;
    }
    State before = readLives(list);
    int lives = client.read(Keys.grave(list)).list().length;
    if (!before.present() && lives == ListClient.LENGTH_MAX) {
      return;
    }
    long element = client.element(before);
    if (element < 0) {
      return;
    }
    State after = before.present() ? before.append(element) : State.of(lives + 1, element);
    long end = clock.millis() + 1 + Math.floorMod(element * 31, LONGEST);
    byte[] bytes = new byte[8 * after.list().length];
    ByteBuffer.wrap(bytes).asLongBuffer().put(after.list());
    if (!before.present()) {
      row.clear();
    }
    row.setLong(END, end).setInt(LIFE, after.life()).setBytes(ELEMENTS, bytes);
    if (before.present()) {
      table.put(client.tx(), key.set(Keys.number(list)), row);
    } else {
      table.insert(client.tx(), key.set(Keys.number(list)), row);
    }
    client.txn().ops.add(new Op.Ends(list, element, end));
    client.txn().ops.add(new Op.Append(list, after));
    if (!before.present()) {
      client.append(Keys.grave(list));
    }
  }

  /** Reads all lists of a generation. */
  void scan(int generation) {
    if (off) {
      return;
    }
    Set<Long> found = new HashSet<>();
    long low = Keys.ending(generation, 0);
    long high = Keys.ending(generation, Keys.ENDING - 1);
    Range range =
        Range.between(table.key().set(Keys.number(low)), table.key().set(Keys.number(high)));
    try (RowCursor c = table.scan(client.tx(), range, ScanOrder.ASCENDING)) {
      while (c.next()) {
        look(c, found);
      }
    }
    for (long list = low; list <= high; list++) {
      if (found.add(list)) {
        saw(list, State.ABSENT);
      }
    }
  }

  private void look(RowCursor c, Set<Long> found) {
    long list = Keys.ending(c.key().getInt(0));
    ByteBuffer b = ByteBuffer.wrap(c.row().getBytes(ELEMENTS));
    long[] elements = new long[b.capacity() / 8];
    b.asLongBuffer().get(elements);
    saw(list, State.of(c.row().getInt(LIFE), elements));
    found.add(list);
  }

  /** Reads all lists that ever existed, even expired ones, after the graves. */
  void readAll(Set<Long> graves) {
    if (off) {
      return;
    }
    Set<Long> found = new HashSet<>();
    try (RowCursor c = table.scan(client.tx(), Range.all(), ScanOrder.DESCENDING)) {
      while (c.next()) {
        look(c, found);
      }
    }
    for (long grave : graves) {
      long list = Keys.listOf(grave);
      if (Keys.isEnding(list) && found.add(list)) {
        saw(list, State.ABSENT);
      }
    }
  }
}
