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
import io.fovea.checker.Txn.Outcome;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Runs and records one thread's transactions on lists, through the public API. Clients share only
 * the database.
 */
final class ListClient {
  /** Thrown if no single state has all that was seen: the transaction must not commit. */
  static final class Impossible extends RuntimeException {
    private static final long serialVersionUID = 1;

    Impossible(String what) {
      super(what);
    }
  }

  /** The maximum length of a list, beyond which it is only read. */
  static final int LENGTH_MAX = 24;

  private static final Layout.Definition B = Layout.define();
  private static final Field GENERATION = B.int32("generation");
  private static final Field GROUP = B.int32("grp");
  private static final Field NUMBER = B.int32("number");
  private static final Field LIFE = B.int32("life");
  private static final Field ELEMENTS = B.bytes("elements", 8 * LENGTH_MAX);
  private static final Field PAD = B.bytes("pad", 500);
  private static final TableSpec PLAIN =
      TableSpec.of("lists", KeySpec.of(FieldType.INT32), B.build());
  private static final TableSpec LISTS =
      PLAIN
          .with(IndexSpec.on("by_group", GENERATION, GROUP))
          .with(IndexSpec.unique("by_place", GROUP, NUMBER));

  private static final Layout.Definition G = Layout.define();
  private static final Field DELETES = G.bytes("deletes", 8 * LENGTH_MAX);
  private static final TableSpec GRAVES =
      TableSpec.of("graves", KeySpec.of(FieldType.INT32), G.build());

  /** The distance between the numbers of a client's transactions. */
  static final int PROCESSES = 64;

  private final Database db;
  private final int process;
  private final RowTable lists;
  private final RowTable graves;
  private final @Nullable RowIndex byGroup;
  private final @Nullable RowIndex byPlace;
  private final Key listKey;
  private final Key graveKey;
  private final Row listRow;
  private final Row graveRow;
  private final byte[] pad;
  private final List<Txn> done = new ArrayList<>();
  private long next;
  private int appended;
  private final ListTables tables = new ListTables(this);
  private final ListExpiry ending;
  private @Nullable Transaction tx;
  private @Nullable Txn txn;

  private int pessimistic;

  /**
   * Creates a client.
   *
   * @param process its number, below {@link #PROCESSES}
   * @param first the number of its first transaction
   * @param pad bytes added to every list, for more pages
   */
  ListClient(Database db, int process, long first, int pad) {
    this.db = db;
    this.process = process;
    this.next = first;
    this.pad = new byte[pad];
    lists = db.table(lists(db));
    graves = db.table(GRAVES);
    boolean indexed = lists(db) == LISTS;
    byGroup = indexed ? lists.index("by_group") : null;
    byPlace = indexed ? lists.index("by_place") : null;
    ending = new ListExpiry(this, db);
    listKey = lists.key();
    graveKey = graves.key();
    listRow = lists.row();
    graveRow = graves.row();
  }

  /** Creates the tables, before threads start. */
  static void create(Database db) {
    db.table(lists(db));
    db.table(GRAVES);
    ListExpiry.create(db);
  }

  /** Returns lists without indexes for subtree deletes, which tables with indexes never do. */
  private static TableSpec lists(Database db) {
    return db.options().experiments().subtreeDeleteThreshold() == 0 ? PLAIN : LISTS;
  }

  /** Makes one of {@code oneIn} transactions pessimistic from now on; 0: none. */
  void pessimistic(int oneIn) {
    pessimistic = oneIn;
  }

  /** Returns whether subtree deletes of lists are possible. */
  boolean cutsRanges() {
    return byGroup == null;
  }

  ListTables tables() {
    return tables;
  }

  /** Returns the expiring lists. */
  ListExpiry ending() {
    return ending;
  }

  /** Returns the transactions so far. */
  List<Txn> done() {
    return done;
  }

  /** Returns the sequence number of the next transaction. */
  long next() {
    return next;
  }

  Transaction tx() {
    Transaction t = tx;
    if (t == null) {
      throw new IllegalStateException("no transaction");
    }
    return t;
  }

  Txn txn() {
    Txn t = txn;
    if (t == null) {
      throw new IllegalStateException("no transaction");
    }
    return t;
  }

  // ----------------------------------------------------------------------------- begin and end

  Txn begin(boolean readOnly) {
    ending.begin();
    return begin(readOnly, System.nanoTime());
  }

  /**
   * Begins in a snapshot.
   *
   * @param opened a time before the snapshot was opened
   * @param since the same by the expiry clock
   * @param until a time after the snapshot was opened, by the expiry clock
   */
  Txn beginInSnapshot(long opened, long since, long until) {
    ending.begin(since, until);
    return begin(true, opened);
  }

  private Txn begin(boolean readOnly, long invoked) {
    Txn t = new Txn(next++ * PROCESSES + process, process);
    t.readOnly = readOnly;
    t.invoked = invoked;
    TxOptions how = readOnly ? TxOptions.forReading() : TxOptions.defaults();
    if (pessimistic > 0 && next % pessimistic == 0) {
      how = how.pessimisticAfterAborts(0);
    }
    tx = db.begin(how);
    txn = t;
    appended = 0;
    return t;
  }

  /** Commits, unless the transaction has failed before; returns the outcome. */
  Outcome commit() {
    Txn t = txn();
    try {
      tx().commit();
      return end(Outcome.OK);
    } catch (DurabilityLostException e) {
      return end(e.mayHaveCommitted() ? Outcome.INFO : Outcome.FAIL);
    } catch (FoveaException e) {
      return end(Outcome.FAIL);
    } finally {
      if (txn == t) {
        end(Outcome.INFO);
      }
    }
  }

  /** Rolls back and discards the transaction, if any. */
  void rollback() {
    if (txn == null) {
      return;
    }
    try {
      tx().close();
    } finally {
      end(Outcome.FAIL);
    }
  }

  private Outcome end(Outcome outcome) {
    Txn t = txn();
    t.outcome = outcome;
    t.completed = System.nanoTime();
    done.add(t);
    tx = null;
    txn = null;
    return outcome;
  }

  // -------------------------------------------------------------------------------------- steps

  State read(long key) {
    return read(key, false);
  }

  private State read(long key, boolean forUpdate) {
    State s = get(key, forUpdate);
    txn().ops.add(new Op.Read(key, s));
    return s;
  }

  private State get(long key, boolean forUpdate) {
    if (Keys.isGrave(key)) {
      return graves.get(tx(), graveKey.set(Keys.number(key)), graveRow)
          ? grave(graveRow)
          : State.ABSENT;
    }
    Key k = listKey.set(Keys.number(key));
    boolean there = forUpdate ? lists.getForUpdate(tx(), k, listRow) : lists.get(tx(), k, listRow);
    return there ? list(listRow) : State.ABSENT;
  }

  private static State list(Row row) {
    return new State(row.getInt(LIFE), longs(row.getBytes(ELEMENTS)));
  }

  private static State grave(Row row) {
    return new State(1, longs(row.getBytes(DELETES)));
  }

  private static long[] longs(byte[] bytes) {
    long[] a = new long[bytes.length / 8];
    ByteBuffer.wrap(bytes).asLongBuffer().get(a);
    return a;
  }

  private static byte[] bytes(State s) {
    byte[] b = new byte[8 * s.list().length];
    ByteBuffer.wrap(b).asLongBuffer().put(s.list());
    return b;
  }

  /** Appends to a list, or begins one; only reads a full one. Half of them are read for update. */
  State append(long key) {
    return append(key, true);
  }

  /**
   * Appends to a list, or begins one.
   *
   * @param update whether an existing record is updated; otherwise it is put as a whole
   */
  State append(long key, boolean update) {
    State before = read(key, (Keys.number(key) & 1) != 0);
    long element = element(before);
    if (element < 0) {
      return before;
    }
    State after = before.present() ? before.append(element) : State.of(life(key), element);
    if (!before.present()) {
      (Keys.isGrave(key) ? graveRow : listRow).clear();
    }
    if (Keys.isGrave(key)) {
      graveRow.setBytes(DELETES, bytes(after));
      if (before.present()) {
        graves.update(tx(), graveRow);
      } else {
        graves.insert(tx(), graveKey, graveRow);
      }
    } else {
      listRow
          .setInt(GENERATION, Keys.generation(key))
          .setInt(GROUP, Keys.group(element))
          .setInt(NUMBER, Keys.number(key))
          .setInt(LIFE, after.life())
          .setBytes(ELEMENTS, bytes(after))
          .setBytes(PAD, pad);
      if (!before.present()) {
        lists.insert(tx(), listKey, listRow);
      } else if (update) {
        lists.update(tx(), listRow);
      } else {
        lists.put(tx(), listKey, listRow);
      }
    }
    txn().ops.add(new Op.Append(key, after));
    return after;
  }

  /** Begins the list of an unused grave, without reading it. */
  State beginList(long key) {
    State after = State.of(1, element(State.ABSENT));
    graves.put(
        tx(), graveKey.set(Keys.number(key)), graveRow.clear().setBytes(DELETES, bytes(after)));
    txn().ops.add(new Op.Append(key, after));
    return after;
  }

  /** Returns this transaction's next element; -1 if the list or the transaction takes no more. */
  long element(State before) {
    return before.list().length == LENGTH_MAX || appended + 1 >= Elements.PER_TXN
        ? -1
        : Elements.of(txn().id, appended++);
  }

  /** Returns the life that a new list under an absent key begins. */
  private int life(long key) {
    return Keys.isImmortal(key) ? 1 : read(Keys.grave(key)).list().length + 1;
  }

  /**
   * Deletes a list and records it in its grave; returns false if it is absent or its grave is full.
   */
  boolean delete(long key) {
    State before = read(key);
    if (!before.present() || read(Keys.grave(key)).list().length == LENGTH_MAX) {
      return false;
    }
    if (!lists.delete(tx(), listKey.set(Keys.number(key)))) {
      throw new Impossible("read " + before + ", but could not delete it");
    }
    txn().ops.add(new Op.Delete(key, before));
    append(Keys.grave(key));
    return true;
  }

  /**
   * Deletes two neighboring lists, if present, by one range delete, and records it in their graves.
   *
   * @param low the first; neither is immortal
   */
  void deleteRange(long low) {
    List<Op.Delete> deletes = new ArrayList<>();
    for (long key = low; key <= low + 1; key++) {
      State before = read(key);
      if (before.present()) {
        if (read(Keys.grave(key)).list().length == LENGTH_MAX) {
          return;
        }
        deletes.add(new Op.Delete(key, before));
      }
    }
    Range range =
        Range.between(lists.key().set(Keys.number(low)), lists.key().set(Keys.number(low + 1)));
    long gone = lists.deleteRange(tx(), range);
    if (gone != deletes.size()) {
      throw new Impossible("deleted " + gone + " in a range where there were " + deletes);
    }
    for (Op.Delete d : deletes) {
      txn().ops.add(d);
      append(Keys.grave(d.key()));
    }
    if (cutsRanges()) {
      return; // retries delete key by key
    }
    scan(low, low + 1, ScanOrder.ASCENDING);
  }

  /** Reads all keys of an interval, of lists or of graves. */
  Map<Long, State> scan(long low, long high, ScanOrder order) {
    return scan(low, high, order, -1, () -> {});
  }

  /** Reads an interval; runs {@code between} after {@code passed} records. */
  Map<Long, State> scan(long low, long high, ScanOrder order, int passed, Runnable between) {
    Map<Long, State> found = new TreeMap<>();
    boolean dead = Keys.isGrave(low);
    RowTable table = dead ? graves : lists;
    Range range =
        Range.between(table.key().set(Keys.number(low)), table.key().set(Keys.number(high)));
    try (RowCursor c = table.scan(tx(), range, order)) {
      while (c.next()) {
        long key = c.key().getInt(0);
        found.put(dead ? Keys.graveOf((int) key) : key, dead ? grave(c.row()) : list(c.row()));
        if (found.size() == passed) {
          between.run();
        }
      }
    }
    txn().ops.add(new Op.Scan(low, high, found));
    return found;
  }

  /**
   * Moves a cursor within an interval of lists, and records what each move shows: the next list,
   * and the absence of lists before it.
   */
  void hop(long low, long high, ScanOrder order, SplittableRandom random) {
    boolean up = order == ScanOrder.ASCENDING;
    Key key = lists.key();
    Range range = Range.between(lists.key().set(Keys.number(low)), key.set(Keys.number(high)));
    try (RowCursor c = lists.scan(tx(), range, order)) {
      long at = up ? low - 1 : high + 1;
      for (int n = 1 + random.nextInt(5); n > 0; n--) {
        int move = random.nextInt(7);
        long to = low + random.nextInt((int) (high - low) + 1);
        boolean found =
            switch (move) {
              case 0, 1 -> c.seek(key.set(Keys.number(to)));
              case 2 -> c.first();
              case 3 -> c.last();
              case 4 -> c.previous();
              default -> c.next();
            };
        long is = found ? c.key().getInt(0) : -1;
        boolean upwards = up != (move == 3 || move == 4);
        long from =
            switch (move) {
              case 0, 1 -> to;
              case 2, 3 -> upwards ? low : high;
              default -> upwards ? at + 1 : at - 1;
            };
        long seenTo = found ? is : upwards ? high : low;
        Map<Long, State> seen = new TreeMap<>();
        if (found) {
          seen.put(is, list(c.row()));
        }
        if (upwards ? from <= seenTo : seenTo <= from) {
          txn().ops.add(new Op.Scan(Math.min(from, seenTo), Math.max(from, seenTo), seen));
        } else if (found) {
          throw new Impossible("moved to " + is + " from " + at);
        }
        at = found ? is : upwards ? high + 1 : low - 1;
      }
    }
  }

  /** Reads the first list of an interval in some order. */
  void nearest(long low, long high, ScanOrder order) {
    boolean up = order == ScanOrder.ASCENDING;
    Key key = lists.key().set(Keys.number(up ? low : high));
    boolean found = up ? lists.ceiling(tx(), key, listRow) : lists.floor(tx(), key, listRow);
    long is = found ? listRow.key(lists.key()).getInt(0) : -1;
    Map<Long, State> seen = new TreeMap<>();
    if (found && is >= low && is <= high) {
      seen.put(is, list(listRow));
      txn().ops.add(new Op.Scan(up ? low : is, up ? is : high, seen));
    } else {
      txn().ops.add(new Op.Scan(low, high, seen));
    }
  }

  /** Looks up a list in a group by the unique index; most appends move it to another group. */
  State lookup(long key, int group) {
    RowIndex byPlace = this.byPlace;
    if (byPlace == null) {
      return read(key);
    }
    State s =
        byPlace.get(tx(), byPlace.key().set(group, Keys.number(key)), listRow)
            ? list(listRow)
            : State.ABSENT;
    txn().ops.add(new Op.Lookup(key, group, s));
    return s;
  }

  /** Reads all lists of a group, by the index. */
  Map<Long, State> group(int generation, int group, ScanOrder order) {
    Map<Long, State> found = new TreeMap<>();
    RowIndex byGroup = this.byGroup;
    if (byGroup == null) {
      return found;
    }
    Range range = Range.prefix(byGroup.key().set(generation, group));
    try (RowCursor c = byGroup.scan(tx(), range, order)) {
      while (c.next()) {
        found.put((long) c.key().getInt(0), list(c.row()));
      }
    }
    txn().ops.add(new Op.GroupScan(generation, group, found));
    return found;
  }
}
