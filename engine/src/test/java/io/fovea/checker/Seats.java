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
 * Rows that exchange a unique value: each sits in a seat of its own, and some seats are free. Two
 * rows change places in one transaction, one takes a free seat, or tries one that may be taken; and
 * everybody looks who sits where, by the table, by the unique index and by a plain one.
 *
 * <pre>
 *   row     0 to rows - 1, from the beginning and for ever; few of them are hot
 *   seat    unique; below {@link #seats}, or below 0 inside of an exchange
 *   crowd   seat % CROWDS, by an index that is not unique
 *   version how often the row was written; writer: by whom
 * </pre>
 *
 * <p>A row is written by those alone who have read it, and has a version more each time; so what
 * came after what is known without a guess ({@link SeatChecker}).
 *
 * <p>One object for each thread.
 */
final class Seats {
  /** What was seen is of no state: the transaction is not to commit, and must not be able to. */
  private static final class Contradiction extends RuntimeException {
    private static final long serialVersionUID = 1;

    Contradiction(String what) {
      super(what, null, false, false);
    }
  }

  static final int CROWDS = 5;

  /** Seats that nobody has at first. */
  static final int FREE = 8;

  /** Rows of which most transactions take theirs. */
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
   * A client.
   *
   * @param rows how many there are
   * @param ids numbers for all transactions of the database
   * @param pessimistic one in so many transactions is pessimistic; 0: none is
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

  /** How many seats there are for some rows. */
  static int seats(int rows) {
    return rows + FREE;
  }

  /** Makes the table and all rows, before there are threads. */
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

  /** What it has done. */
  List<SeatTxn> done() {
    return done;
  }

  // ------------------------------------------------------------------------------ transactions

  /** One transaction: by itself, or as a body that is done again until it succeeds. */
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
        // Nobody is told before the commit, which has to refuse.
        now.contradiction = e.getMessage();
      }
      tx.commit();
      now.committed = true;
    } catch (TransactionAbortedException e) {
      now.committed = false;
    }
  }

  /** A body may throw what it has found, and then that must have been so. */
  private void managed() {
    boolean reads = random.nextInt(4) == 0;
    try {
      db.run(
          tx -> {
            begins();
            if (random.nextInt(3) == 0) {
              tell(tx);
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

  /** A seat that a hot row may have, or one of those that were free at first. */
  private int seat() {
    int n = random.nextInt(Math.min(rows, HOT) + FREE);
    return n < FREE ? rows + n : n - FREE;
  }

  // ------------------------------------------------------------------------------------- steps

  /** Two rows exchange their seats. */
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
      throw new Contradiction("rows " + a + " and " + b + " could not change places: " + e);
    }
    now.wrote(a, versionOfA, seatOfB);
    now.wrote(b, versionOfB, seatOfA);
  }

  /** The version that a transaction leaves of a row: one more than what it came upon. */
  private int next(int row, Row read) {
    SeatTxn.Wrote own = now.writes.get(row);
    return own != null ? own.version() : read.getInt(VERSION) + 1;
  }

  /**
   * A transaction that was aborted has said so; a row that is not there must be another's fault.
   */
  private void delete(Transaction tx, int row) {
    if (!table.delete(tx, key.set(row))) {
      throw new Contradiction("read row " + row + ", but could not delete it");
    }
  }

  /** Takes a seat that it has found to be free. */
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

  /** Takes a seat without a look whether it is free. */
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
      int who = lookup(tx, seat, two); // the transaction goes on
      if (who < 0 || who == row) {
        throw new Contradiction("seat " + seat + " is taken, but by nobody else: " + who);
      }
    }
  }

  /** Looks at a seat, tries to take it, and lets the exception leave. */
  private void tell(Transaction tx) {
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
        throw new Contradiction("seat " + seat + " was free, and row " + row + " is told it isn't");
      }
      throw e;
    }
    if (who >= 0) {
      throw new Contradiction("seat " + seat + " is row " + who + "'s, and row " + row + " has it");
    }
    now.wrote(row, version, seat);
  }

  /** Inserts a row that is there. */
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
    throw new Contradiction("row " + row + " is always there, and could be inserted");
  }

  // ------------------------------------------------------------------------------------- looks

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
          throw new Contradiction("row " + row + " in seat " + seat + " met at " + where);
        }
        saw(row, c.row());
      }
    }
    now.looked(where);
  }

  private int read(Transaction tx, int row, Row into) {
    if (!table.get(tx, key.set(row), into)) {
      throw new Contradiction("row " + row + " is always there, and was not found");
    }
    saw(row, into);
    return into.getInt(SEAT);
  }

  /** Reads a row into {@link #two} by the seat in which it is found to be. */
  private int readBySeat(Transaction tx, int row) {
    int seat = read(tx, row, two);
    int who = lookup(tx, seat, two);
    if (who != row) {
      throw new Contradiction("row " + row + " has seat " + seat + ", the index says " + who);
    }
    return seat;
  }

  /** Who has a seat; -1 for nobody. */
  private int lookup(Transaction tx, int seat, Row into) {
    now.looks();
    if (!bySeat.get(tx, bySeat.key().set(seat), into)) {
      now.looked(Where.seats(seat, seat));
      return -1;
    }
    int row = into.key(table.key()).getInt(0);
    if (into.getInt(SEAT) != seat) {
      throw new Contradiction("seat " + seat + " led to row " + row + " in another one");
    }
    saw(row, into);
    now.looked(Where.seats(seat, seat));
    return row;
  }

  private void saw(int row, Row r) {
    now.saw(row, r.getInt(VERSION), r.getInt(SEAT), r.getLong(WRITER));
  }

  /** The last transaction: sees all. */
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
