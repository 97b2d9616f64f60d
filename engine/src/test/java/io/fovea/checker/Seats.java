package io.fovea.checker;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.checker.SeatTxn.Where;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Rows that exchange a unique value: each has a seat, and some seats are free. Transactions
 * exchange two rows' seats, move a row to a free seat or to one that may be taken, and read seats
 * by the table, by the unique index and by a plain one.
 *
 * <pre>
 *   row     0 to rows - 1, permanent; few of them are hot
 *   seat    unique; below {@link #seats}, or below 0 within an exchange
 *   crowd   seat % CROWDS, by an index that is not unique
 *   version incremented by each write; writer: the transaction
 * </pre>
 *
 * <p>A transaction writes a row only after reading it, and increments its version, so the order of
 * versions is known exactly ({@link SeatChecker}). One object per thread.
 */
final class Seats {
  /**
   * Thrown if no single state has all that was seen: the transaction must not be able to commit.
   */
  private static final class Contradiction extends RuntimeException {
    private static final long serialVersionUID = 1;

    Contradiction(String what) {
      super(what, null, false, false);
    }
  }

  static final int CROWDS = 5;

  /** The number of initially free seats. */
  static final int FREE = 8;

  /** The number of rows that most transactions choose from. */
  static final int HOT = 24;

  private static final Layout.Definition B = Layout.define();
  private static final Field SEAT = B.int32("seat");
  private static final Field CROWD = B.int32("crowd");
  private static final Field VERSION = B.int32("version");
  private static final Field WRITER = B.int64("writer");
  private static final Field PAD = B.bytes("pad", 500);
  private static final TableSpec SPEC =
      TableSpec.of("seats", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.unique("by_seat", SEAT))
          .with(IndexSpec.on("by_crowd", CROWD));

  private final Database db;
  private final int rows;
  private final AtomicLong ids;
  private final SplittableRandom random;
  private final int pessimistic;
  private final RowTable table;
  private final RowIndex bySeat;
  private final RowIndex byCrowd;
  private final Key key;
  private final Row one;
  private final Row two;
  private final List<SeatTxn> done = new ArrayList<>();
  private SeatTxn now;

  /**
   * Creates a client.
   *
   * @param rows the number of rows
   * @param ids numbers for all transactions of the database
   * @param pessimistic one of this many transactions is pessimistic; 0: none
   */
  Seats(Database db, int rows, AtomicLong ids, SplittableRandom random, int pessimistic) {
    this.db = db;
    this.rows = rows;
    this.ids = ids;
    this.random = random;
    this.pessimistic = pessimistic;
    table = db.table(SPEC);
    bySeat = table.index("by_seat");
    byCrowd = table.index("by_crowd");
    key = table.key();
    one = table.row();
    two = table.row();
    now = new SeatTxn(0);
  }

  static int seats(int rows) {
    return rows + FREE;
  }

  /** Creates the table and all rows, before threads start. */
  static void create(Database db, int rows, int pad) {
    RowTable table = db.table(SPEC);
    db.run(
        tx -> {
          for (int row = 0; row < rows; row++) {
            Row r = table.row().clear().setBytes(PAD, new byte[pad]);
            table.insert(tx, table.key().set(row), place(r, row, 0, 0));
          }
        });
  }

  private static Row place(Row row, int seat, int version, long writer) {
    return row.setInt(SEAT, seat)
        .setInt(CROWD, Math.floorMod(seat, CROWDS))
        .setInt(VERSION, version)
        .setLong(WRITER, writer);
  }

  /** Returns the transactions so far. */
  List<SeatTxn> done() {
    return done;
  }

  // ------------------------------------------------------------------------------ transactions

  /** Runs a transaction, explicitly or as a body that is retried until it succeeds. */
  void transaction() {
    if (random.nextInt(3) == 0) {
      managed();
      return;
    }
    boolean readOnly = random.nextInt(4) == 0;
    TxOptions how = readOnly ? TxOptions.forReading() : TxOptions.defaults();
    if (pessimistic > 0 && random.nextInt(pessimistic) == 0) {
      how = how.pessimisticAfterAborts(0);
    }
    begins();
    try (Transaction tx = db.begin(how)) {
      try {
        body(tx, readOnly);
      } catch (Contradiction e) {
        // The commit must fail, since no result has been returned yet.
        now.contradiction = e.getMessage();
      }
      tx.commit();
      now.committed = true;
    } catch (TransactionAbortedException e) {
      now.committed = false;
    }
  }

  /** Runs a body that may throw an exception about what it found, which must then be true. */
  private void managed() {
    boolean reads = random.nextInt(4) == 0;
    try {
      db.run(
          tx -> {
            begins();
            if (random.nextInt(3) == 0) {
              throwWhatWasFound(tx);
            } else {
              body(tx, reads);
            }
          });
      now.committed = true;
    } catch (DuplicateKeyException | Contradiction e) {
      now.committed = true;
      now.told = true;
      if (e instanceof Contradiction) {
        now.contradiction = e.getMessage();
      }
    } catch (TransactionAbortedException e) {
      now.committed = false;
    }
  }

  private void begins() {
    now = new SeatTxn(ids.incrementAndGet());
    done.add(now);
  }

  private void body(Transaction tx, boolean readOnly) {
    for (int n = 1 + random.nextInt(3); n > 0; n--) {
      if (readOnly) {
        look(tx);
        continue;
      }
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> exchange(tx);
        case 3 -> takeFree(tx);
        case 4 -> take(tx);
        case 5 -> insertAgain(tx);
        default -> look(tx);
      }
      if (random.nextInt(4) == 0) {
        Thread.yield();
      }
    }
  }

  private int row() {
    return random.nextInt(8) == 0 ? random.nextInt(rows) : random.nextInt(Math.min(rows, HOT));
  }

  /** Returns a seat of a hot row, or one that was free initially. */
  private int seat() {
    int n = random.nextInt(Math.min(rows, HOT) + FREE);
    return n < FREE ? rows + n : n - FREE;
  }

  // ------------------------------------------------------------------------------------- steps

  private void exchange(Transaction tx) {
    int a = row();
    int b = row();
    if (a == b) {
      return;
    }
    int seatOfA = read(tx, a, one);
    int seatOfB = random.nextBoolean() ? read(tx, b, two) : readBySeat(tx, b);
    int versionOfA = next(a, one);
    int versionOfB = next(b, two);
    try {
      switch (random.nextInt(3)) {
        case 0 -> {
          table.update(tx, place(one, -1 - a, versionOfA, now.id)); // out of the way
          table.update(tx, place(two, seatOfA, versionOfB, now.id));
          table.update(tx, place(one, seatOfB, versionOfA, now.id));
        }
        case 1 -> {
          delete(tx, a);
          delete(tx, b);
          table.insert(tx, key.set(a), place(one, seatOfB, versionOfA, now.id));
          table.insert(tx, key.set(b), place(two, seatOfA, versionOfB, now.id));
        }
        default -> {
          delete(tx, a);
          table.put(tx, key.set(b), place(two, seatOfA, versionOfB, now.id));
          table.put(tx, key.set(a), place(one, seatOfB, versionOfA, now.id));
        }
      }
    } catch (DuplicateKeyException e) {
      throw new Contradiction("rows " + a + " and " + b + " could not exchange seats: " + e);
    }
    now.wrote(a, versionOfA, seatOfB);
    now.wrote(b, versionOfB, seatOfA);
  }

  /** Returns the next version of a row: one more than the transaction found. */
  private int next(int row, Row read) {
    SeatTxn.Wrote own = now.writes.get(row);
    return own != null ? own.version() : read.getInt(VERSION) + 1;
  }

  /** Deletes a row. An abort is reported differently, so an absent row is an anomaly. */
  private void delete(Transaction tx, int row) {
    if (!table.delete(tx, key.set(row))) {
      throw new Contradiction("read row " + row + ", but could not delete it");
    }
  }

  /** Takes a seat after finding it free. */
  private void takeFree(Transaction tx) {
    int seat = seat();
    if (lookup(tx, seat, two) >= 0) {
      return;
    }
    int row = row();
    read(tx, row, one);
    int version = next(row, one);
    try {
      table.update(tx, place(one, seat, version, now.id));
    } catch (DuplicateKeyException e) {
      throw new Contradiction("seat " + seat + " was free, and row " + row + " could not take it");
    }
    now.wrote(row, version, seat);
  }

  /** Takes a seat without checking whether it is free. */
  private void take(Transaction tx) {
    int seat = seat();
    int row = row();
    if (read(tx, row, one) == seat) {
      return;
    }
    int version = next(row, one);
    try {
      table.update(tx, place(one, seat, version, now.id));
      now.wrote(row, version, seat);
    } catch (DuplicateKeyException e) {
      int who = lookup(tx, seat, two); // the transaction continues
      if (who < 0 || who == row) {
        throw new Contradiction("seat " + seat + " is taken, but by no other row: " + who);
      }
    }
  }

  /** Reads a seat, tries to take it, and throws the exception to the caller. */
  private void throwWhatWasFound(Transaction tx) {
    int seat = seat();
    int row = row();
    int who = random.nextBoolean() ? lookup(tx, seat, two) : -2;
    if (read(tx, row, one) == seat) {
      return;
    }
    int version = next(row, one);
    try {
      table.update(tx, place(one, seat, version, now.id));
    } catch (DuplicateKeyException e) {
      if (who == -1) {
        throw new Contradiction("seat " + seat + " was free, and row " + row + " was refused");
      }
      throw e;
    }
    if (who >= 0) {
      throw new Contradiction(
          "seat " + seat + " is row " + who + "'s, and row " + row + " took it");
    }
    now.wrote(row, version, seat);
  }

  /** Inserts an existing row. */
  private void insertAgain(Transaction tx) {
    int row = row();
    boolean looks = random.nextBoolean();
    if (looks) {
      read(tx, row, one);
    }
    Row other = place(two.clear().setBytes(PAD, new byte[0]), -1 - row, 1 << 20, now.id);
    try {
      table.insert(tx, key.set(row), other);
    } catch (DuplicateKeyException e) {
      read(tx, row, one);
      return;
    }
    throw new Contradiction("row " + row + " is permanent, but could be inserted");
  }

  // ------------------------------------------------------------------------------------- reads

  private void look(Transaction tx) {
    ScanOrder order = random.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
    switch (random.nextInt(6)) {
      case 0 -> read(tx, row(), one);
      case 1, 2 -> lookup(tx, seat(), one);
      case 3 -> {
        int low = random.nextInt(Math.min(rows, HOT));
        int high = low + random.nextInt(HOT);
        scan(
            tx,
            bySeat,
            Range.between(bySeat.key().set(low), bySeat.key().set(high)),
            order,
            Where.seats(low, high));
      }
      case 4 -> {
        if (rows <= HOT) {
          int crowd = random.nextInt(CROWDS);
          Range range = Range.prefix(byCrowd.key().set(crowd));
          scan(tx, byCrowd, range, order, Where.crowd(crowd));
        }
      }
      default -> {
        int low = random.nextInt(Math.min(rows, HOT));
        int high = Math.min(rows - 1, low + random.nextInt(HOT));
        Range range = Range.between(table.key().set(low), table.key().set(high));
        int seen = 0;
        try (RowCursor c = table.scan(tx, range, order)) {
          while (c.next()) {
            saw(c.key().getInt(0), c.row());
            seen++;
          }
        }
        if (seen != high - low + 1) {
          throw new Contradiction("of rows " + low + " to " + high + " there were " + seen);
        }
      }
    }
  }

  private void scan(Transaction tx, RowIndex index, Range range, ScanOrder order, Where where) {
    now.looks();
    Set<Integer> found = new HashSet<>();
    try (RowCursor c = index.scan(tx, range, order)) {
      while (c.next()) {
        int row = c.key().getInt(0);
        int seat = c.row().getInt(SEAT);
        if (!where.has(seat) || !found.add(row)) {
          throw new Contradiction("row " + row + " in seat " + seat + " found at " + where);
        }
        saw(row, c.row());
      }
    }
    now.looked(where);
  }

  private int read(Transaction tx, int row, Row into) {
    if (!table.get(tx, key.set(row), into)) {
      throw new Contradiction("row " + row + " is permanent, but was not found");
    }
    saw(row, into);
    return into.getInt(SEAT);
  }

  /** Reads a row into {@link #two} by the seat that it has. */
  private int readBySeat(Transaction tx, int row) {
    int seat = read(tx, row, two);
    int who = lookup(tx, seat, two);
    if (who != row) {
      throw new Contradiction("row " + row + " has seat " + seat + ", the index says " + who);
    }
    return seat;
  }

  /** Returns the row in a seat; -1 if it is free. */
  private int lookup(Transaction tx, int seat, Row into) {
    now.looks();
    if (!bySeat.get(tx, bySeat.key().set(seat), into)) {
      now.looked(Where.seats(seat, seat));
      return -1;
    }
    int row = into.key(table.key()).getInt(0);
    if (into.getInt(SEAT) != seat) {
      throw new Contradiction("seat " + seat + " led to row " + row + " in another seat");
    }
    saw(row, into);
    now.looked(Where.seats(seat, seat));
    return row;
  }

  private void saw(int row, Row r) {
    now.saw(row, r.getInt(VERSION), r.getInt(SEAT), r.getLong(WRITER));
  }

  /** The last transaction, which reads everything. */
  void last() {
    begins();
    try (Transaction tx = db.begin(TxOptions.forReading())) {
      scan(
          tx,
          bySeat,
          Range.all(),
          ScanOrder.ASCENDING,
          Where.seats(Integer.MIN_VALUE, seats(rows)));
      for (int row = 0; row < rows; row++) {
        read(tx, row, one);
      }
      tx.commit();
      now.committed = true;
    }
  }
}
