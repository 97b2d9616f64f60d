package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyRange;
import io.fovea.buffer.PageReservations;
import io.fovea.error.AbortCause;
import io.fovea.error.OperationInterruptedException;
import io.fovea.index.TableCore;
import io.fovea.memory.Waits;
import io.fovea.schema.NameText;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import io.fovea.txn.CatalogPart;
import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The catalog as one transaction sees it, and what the transaction changes in it: with its records,
 * in one commit.
 *
 * <pre>
 *   body     table(spec)        trees made, durably to be freed ("d") ─► a table that only it uses
 *            dropTable, rename  notes
 *   commit   locks: the tables' that it drops or renames, the schema's; all that it saw still so?
 *            pages promised, items locked
 *            tables that it drops: GOING ─► moment: decides, alone
 *            CATALOG · RANGE* · COMMIT_PART* · COMMIT in the log       it has happened
 *            records, catalog, tables in memory ─► items published ─► locks of the schema given back
 *   else     trees let go: their pages are freed
 * </pre>
 *
 * <p><b>Atomic.</b> The changes of the catalog are a record of the log that counts if the COMMIT
 * behind it is there. So replay, and a backup, has both or neither. New trees are in the catalog as
 * trees that are to be freed, from their first page on; the commit makes a table of them, and what
 * does not commit, or dies, leaves what drops leave: {@link DeferredDrops} goes on with it.
 *
 * <p><b>Optimistic.</b> A body takes no lock that outlasts a call. It remembers what it was told of
 * each name, and the commit compares that under the lock of the schema. Of two transactions that
 * make a table of one name, the first commits; the other is aborted (CATALOG), its body runs again,
 * and finds the table.
 *
 * <p><b>Why it is serializable.</b> A transaction depends on the catalog in two ways: by
 * <i>looking</i> for names, which only the methods here do, and by <i>using</i> a table, which is
 * possible while the table is there. Let C be a commit that changes the catalog. It decides at a
 * moment, so there are A, which has decided before it, and B, which decides later and anew; C is
 * between them, under every protocol ({@link io.fovea.txn.CommitGate}).
 *
 * <ul>
 *   <li><i>Looks of C itself</i> are compared under the lock of the schema, which it keeps until
 *       all is published. Nothing else changes the catalog meanwhile.
 *   <li><i>Looks of others</i> are compared when these decide ({@link #catalogReadsValid}), if they
 *       write, inside the gate. One of A has decided before C's moment and has seen nothing of C.
 *       One of B either meets {@link Schema#isChanging}, which is stored before the moment and
 *       cleared when C is published, and is aborted, or finds the tables of after C.
 *   <li><i>Uses of a table that C drops.</i> One of B that has used it before is aborted, for the
 *       table is noted as gone before the moment. One that comes to it later finds it GOING, which
 *       is stored before the moment too, and is aborted; or dropped, and is told so, unless it has
 *       looked for the table: then it is aborted, for its looks don't hold.
 *   <li><i>Uses of a table that C makes</i> come after C is published, by transactions of B.
 * </ul>
 *
 * <p>Changes outside of transactions ({@link Schema#dropTable} and its like) are each a transaction
 * of its own. They exclude C by the lock, and looks are compared with what they have left.
 *
 * <p><b>No deadlock.</b> Room in the log comes first, then the locks of the tables ({@link
 * TableCore#changing}), the lock of the schema, the items, the gate. The holder of the schema's
 * lock never waits for a context or for room: a load that holds back the redo point may be waiting
 * for the lock. Under two-phase locking a transaction has items when it comes to the lock of the
 * schema, whose holder may be a pessimistic commit that waits for these items. So a transaction
 * waits for that lock for a second and then gives way. The locks of tables may be held for as long
 * as an index is built, so they are only tried for a while. Whoever opens a snapshot has the lock
 * of the schema when it closes the gate, and no item. docs/internals/concurrency.md has the whole
 * order.
 *
 * <p>Of the transaction's thread; {@link #ended} of whoever ends it.
 *
 * <p>The file has more than 600 lines because all that a transaction does to the catalog is decided
 * at one moment, and the argument for that is one.
 */
public final class CatalogTransaction implements CatalogPart {
  /** How long a table's lock is waited for: who builds an index gives up, where it is dropped. */
  private static final long CHANGING_NANOS = 200_000_000;

  /** How long a look waits for a commit that changes the catalog. */
  private static final int LOOKS_MAX = 1_000;

  private static final long LOOK_NANOS = 100_000;

  private final Schema schema;
  private final Store store;
  private final SchemaChanges changes;
  private final Tx tx;

  /** What it was told: the tables that others have made. */
  private final Map<String, @Nullable TableCore> seen = new HashMap<>();

  /** All tables, where it has asked for all. */
  private @Nullable Map<String, TableCore> seenAll;

  /** What it has made of that; names that are not here are as it saw them. */
  private final Map<String, @Nullable TableCore> now = new TreeMap<>();

  /** The same of sequences. */
  private final SequenceReads sequences;

  private final List<TableCore> made = new ArrayList<>();
  private final List<TableCore> dropped = new ArrayList<>();

  /** The ranges that it takes out of tables. */
  private final RangeCuts cuts;

  // From the locks of the commit to their end.
  private final List<TableCore> locked = new ArrayList<>();
  private int lockedCount;
  private boolean schemaLocked;
  private @Nullable CatalogChange change;
  private @Nullable Arena arena;
  private boolean deciding;
  private boolean installed;

  CatalogTransaction(Schema schema, Store store, SchemaChanges changes, Tx tx) {
    this.schema = schema;
    this.store = store;
    this.changes = changes;
    this.tx = tx;
    this.sequences = new SequenceReads(schema.sequences());
    this.cuts = new RangeCuts(store);
  }

  // ---------------------------------------------------------------------------------------- looks

  private @Nullable TableCore look(String name) {
    if (now.containsKey(name)) {
      return now.get(name);
    }
    if (!seen.containsKey(name)) {
      awaitChange();
      seen.put(name, seenAll == null ? schema.core(name) : seenAll.get(name));
      tx.sawLsn(schema.publishedLsn());
    }
    return seen.get(name);
  }

  /** The names of the tables. */
  public List<String> names() {
    if (seenAll == null) {
      awaitChange();
      Map<String, TableCore> all = new HashMap<>();
      for (TableCore core : schema.tables()) {
        all.put(core.name, core);
      }
      seenAll = all;
      tx.sawLsn(schema.publishedLsn());
      if (!catalogReadsValid()) {
        throw conflict("tables were created, dropped or renamed meanwhile");
      }
    }
    Set<String> names = new TreeSet<>(seenAll.keySet());
    now.forEach(
        (name, core) -> {
          if (core == null) {
            names.remove(name);
          } else {
            names.add(name);
          }
        });
    return List.copyOf(names);
  }

  /** What others are about to publish is not looked at halfway. */
  private void awaitChange() {
    for (int attempt = 0; schema.isChanging(); attempt++) {
      store.engine().checkWaiting();
      if (attempt == LOOKS_MAX) {
        throw conflict("another transaction that changes the catalog is being committed");
      }
      Waits.sleep(LOOK_NANOS);
    }
  }

  @Override
  public boolean catalogReadsValid() {
    return !schema.isChanging() && areAsSeen() && cuts.hold();
  }

  @Override
  public boolean stillHolds() {
    return cuts.stillHold();
  }

  /** What ends a transaction that has looked for tables which are others now. */
  public RuntimeException stale() {
    return conflict("a table that it has looked for was created, dropped or renamed");
  }

  private boolean areAsSeen() {
    Map<String, TableCore> all = seenAll;
    if (all != null) {
      Collection<TableCore> are = schema.tables();
      int n = 0;
      for (TableCore core : are) {
        if (all.get(core.name) != core) {
          return false;
        }
        n++;
      }
      if (n != all.size()) {
        return false;
      }
    }
    for (Map.Entry<String, @Nullable TableCore> e : seen.entrySet()) {
      if (schema.core(e.getKey()) != e.getValue()) {
        return false;
      }
    }
    return sequences.areAsSeen();
  }

  private RuntimeException conflict(String why) {
    return tx.abort(AbortCause.CATALOG, why);
  }

  // -------------------------------------------------------------------------------------- changes

  /** Opens a table, and makes it where there is none. */
  public TableCore table(TableSpec spec) {
    TableCore core = look(spec.name());
    if (core == null) {
      core = create(spec);
    } else {
      schema.adaptIn(tx, core, spec);
    }
    return core;
  }

  private TableCore create(TableSpec spec) {
    tx.requireWritable();
    SpecCheck.checkSizes(store.catalog(), spec);
    store.willWrite();
    String what = "create table " + NameText.of(spec.name());
    return changes.lockedIn(
        tx,
        what,
        () -> {
          if (!areAsSeen()) {
            throw conflict("a table that it has looked for was created, dropped or renamed");
          }
          List<BTree> trees = new ArrayList<>();
          TableCore[] core = new TableCore[1];
          changes.make(
              (c, list) -> {
                core[0] = schema.make(spec, c, list);
                for (BTree tree : list) {
                  c.put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
                }
                trees.addAll(list);
              },
              () -> {
                core[0].madeBy(tx);
                made.add(core[0]);
                trees.forEach(changes.drops::hold);
                now.put(spec.name(), core[0]);
              });
          return core[0];
        });
  }

  /** Drops a table; false where there is none. */
  public boolean dropTable(String name) {
    TableCore core = look(name);
    if (core == null) {
      return false;
    }
    tx.requireWritable();
    now.put(name, null);
    if (made.contains(core)) {
      core.drop(); // its trees are let go at the end
    } else {
      dropped.add(core);
      cuts.dropped(core);
      tx.drops(core.bit);
    }
    return true;
  }

  /** Renames a table; false where there is none. */
  public boolean renameTable(String from, String to) {
    TableSpec.requireName(to);
    TableCore core = look(from);
    if (core == null) {
      return false;
    }
    tx.requireWritable();
    if (from.equals(to)) {
      return true;
    }
    if (look(to) != null) {
      throw Renames.taken("rename table " + NameText.of(from), "table", to);
    }
    now.put(from, null);
    now.put(to, core);
    return true;
  }

  /** Opens a sequence, and makes it where there is none. */
  public SequenceCore sequence(SequenceSpec spec) {
    SequenceCore core = lookSequence(spec.name());
    if (core != null) {
      schema.sequences().adopt(core, spec);
      return core;
    }
    tx.requireWritable();
    return sequences.make(schema.sequences().fresh(spec));
  }

  /** Drops a sequence; false where there is none. */
  public boolean dropSequence(String name) {
    if (lookSequence(name) == null) {
      return false;
    }
    tx.requireWritable();
    sequences.drop(name);
    return true;
  }

  /** Renames a sequence; false where there is none. */
  public boolean renameSequence(String from, String to) {
    TableSpec.requireName(to);
    if (lookSequence(from) == null) {
      return false;
    }
    tx.requireWritable();
    if (from.equals(to)) {
      return true;
    }
    if (lookSequence(to) != null) {
      throw Renames.taken("rename sequence " + NameText.of(from), "sequence", to);
    }
    sequences.rename(from, to);
    return true;
  }

  /** Lets a sequence give other values; null where there is none. */
  public @Nullable SequenceCore alterSequence(SequenceSpec spec) {
    SequenceCore core = lookSequence(spec.name());
    if (core == null) {
      return null;
    }
    tx.requireWritable();
    return sequences.alter(core, schema.sequences().fresh(spec));
  }

  private @Nullable SequenceCore lookSequence(String name) {
    if (!sequences.knows(name)) {
      awaitChange();
      sequences.see(name);
      tx.sawLsn(schema.publishedLsn());
    }
    return sequences.core(name);
  }

  /** Whether it drops a table. */
  public boolean drops(TableCore core) {
    return dropped.contains(core);
  }

  @Override
  public boolean changes() {
    return !now.isEmpty() || sequences.changes() || !cuts.isEmpty();
  }

  /**
   * What it changes of the tables' names, and which trees are those of tables that it makes.
   *
   * @param name takes each name that changes, in their order, and whether there is such a table now
   * @param made takes each table that it makes
   */
  public void forEachChange(BiConsumer<String, Boolean> name, Consumer<TableCore> made) {
    now.forEach((n, core) -> name.accept(n, core != null));
    this.made.forEach(made);
  }

  // --------------------------------------------------------------------------------------- ranges

  /**
   * The commit takes a range out of a table, which nothing was noted of: see {@link RangeCuts}. The
   * next statement of this transaction on the table asks {@link #cuts}.
   *
   * @param range in memory of its own
   * @param records how many records it was found to have
   */
  public void cut(TableCore core, KeyRange range, long records) {
    cuts.add(core, range, records);
    tx.drops(core.bit);
  }

  /** Whether a range of a table was noted. */
  public boolean cuts(TableCore core) {
    return cuts.has(core);
  }

  /** The range of a table that was noted. */
  public KeyRange range(TableCore core) {
    return cuts.range(core);
  }

  /** The range goes another way; returns how many records it was found to have. */
  public long forgetCut(TableCore core) {
    return cuts.forget(core);
  }

  /** Of a range there is something else than this transaction was told. */
  public RuntimeException changed(TableCore core) {
    return conflict(
        "records of table " + core.shown() + " in a range that it deletes have changed");
  }

  // --------------------------------------------------------------------------------------- commit

  /**
   * Before the commit: takes the locks, and looks whether all is as it was told. {@link #unlock}
   * follows in any case.
   *
   * @throws io.fovea.error.TransactionAbortedException if it is not, or somebody else has the locks
   */
  public void lock() {
    if (!changes()) {
      return;
    }
    String what = "commit changes of the catalog";
    store.willWrite();
    store.engine().awaitRoom(); // before the locks: who holds the redo point back may want them
    for (TableCore core : touched()) {
      lock(core, what);
    }
    changes.lockIn(tx, what);
    schemaLocked = true;
    for (TableCore core : locked) {
      if (core.isDropped()) {
        throw conflict("table " + core.shown() + " was dropped meanwhile");
      }
    }
    if (!areAsSeen()) {
      throw conflict("a table that it has looked for was created, dropped or renamed");
    }
    TableCore other = cuts.changed();
    if (other != null) {
      throw conflict("table " + other.shown() + " has got an index, or was loaded, meanwhile");
    }
    change = change();
  }

  /** Tables of others that it drops, renames or takes a range out of. */
  private Set<TableCore> touched() {
    Set<TableCore> all = Collections.newSetFromMap(new IdentityHashMap<>());
    all.addAll(dropped);
    all.addAll(cuts.tables());
    for (TableCore core : now.values()) {
      if (core != null && !made.contains(core)) {
        all.add(core);
      }
    }
    return all;
  }

  private void lock(TableCore core, String what) {
    boolean drops = dropped.contains(core);
    boolean mine = false;
    locked.add(core); // counted when it is: nothing can fail between the lock and that
    try {
      mine = core.changing.tryLock(what);
      if (!mine) {
        core.leaving(drops);
        mine = core.changing.tryLock(what, CHANGING_NANOS);
      }
      lockedCount += mine ? 1 : 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OperationInterruptedException(what);
    } finally {
      core.leaving(false);
    }
    if (!mine) {
      throw conflict("an index of table " + core.shown() + " is being built or dropped");
    }
  }

  /** After the commit, or instead of it. */
  public void unlock() {
    if (schemaLocked) {
      schemaLocked = false;
      changes.unlock();
    }
    for (; lockedCount > 0; lockedCount--) {
      locked.get(lockedCount - 1).changing.unlock();
    }
    locked.clear();
  }

  private CatalogChange change() {
    CatalogChange c = new CatalogChange(store);
    now.forEach(
        (name, core) -> {
          if (core != null) {
            SchemaChanges.save(core, name, core.readable(), c);
          } else if (seen.get(name) != null) {
            c.delete(CatalogKey.of(name));
          }
        });
    for (TableCore core : dropped) {
      c.isGone(core.tree);
      for (BTree tree : Schema.trees(core)) {
        c.drops(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
      }
    }
    for (TableCore core : made) {
      if (now.containsValue(core)) {
        Schema.trees(core).forEach(t -> c.delete(DeferredDrops.key(t.treeId())));
      }
    }
    sequences.into(c);
    return c;
  }

  /** As {@link #lock} has made it. */
  private CatalogChange mine() {
    CatalogChange c = change;
    if (c == null) {
      throw new IllegalStateException("The locks of the catalog were not taken.");
    }
    return c;
  }

  @Override
  public int inserts() {
    return mine().inserts();
  }

  @Override
  public long bytes() {
    return mine().bytes();
  }

  @Override
  public PageReservations promises() {
    return store.pool().promises();
  }

  /** Order: the notes that others look for are stored before the number of the moment. */
  @Override
  public void deciding() {
    deciding = true;
    schema.changing(true);
    long bits = 0;
    for (TableCore core : dropped) {
      core.going(true);
      bits |= core.bit;
    }
    for (TableCore core : cuts.losing()) {
      core.going(true);
      bits |= core.bit;
    }
    store.engine().dropping(bits);
  }

  @Override
  public void decided() {
    TableCore other = cuts.count();
    if (other != null) {
      throw changed(other);
    }
  }

  @Override
  public void count(Counts counts) {
    cuts.count(counts);
  }

  @Override
  public void stage(LogSession session) {
    Arena memory = Arena.ofShared();
    arena = memory;
    mine().stage(session, memory);
  }

  @Override
  public long append(LogSession session, int maxBytes) {
    CatalogChange c = mine();
    int bytes = c.recordBytes();
    if (bytes > maxBytes || c.size() > Short.MAX_VALUE) {
      throw tx.abort(
          AbortCause.TOO_LARGE,
          "the transaction creates, drops and renames too many tables: the change of the catalog has"
              + " "
              + bytes
              + " bytes, the limit is "
              + maxBytes);
    }
    cuts.claim(session);
    session.grant(LogSession.space(bytes));
    long id = c.append();
    cuts.append(session, id);
    return id;
  }

  @Override
  public void install(LogSession session) {
    mine().install();
    cuts.install(session);
    List<TableCore> stay = made.stream().filter(now::containsValue).toList();
    stay.forEach(TableCore::made); // before anybody finds it
    long lsn = session.logging() ? session.recordEnd() : 0;
    schema.publish(now, lsn);
    sequences.publish(lsn);
    for (TableCore core : dropped) {
      core.drop();
      Schema.trees(core).forEach(t -> changes.drops.add(t, null));
    }
    // Last, for who counts records looks there first, and then at the tables.
    stay.forEach(core -> Schema.trees(core).forEach(changes.drops::keep));
    cuts.losing().forEach(core -> core.going(false));
    installed = true;
    schema.changing(false);
  }

  @Override
  public void release(LogSession session) {
    mine().release();
  }

  @Override
  public void undo(LogSession session) {
    if (arena != null) {
      mine().undo();
    }
  }

  @Override
  public void ended() {
    if (deciding && !installed && store.engine().poison() == null) {
      dropped.forEach(core -> core.going(false));
      cuts.losing().forEach(core -> core.going(false));
      schema.changing(false);
    }
    sequences.ended(installed);
    for (TableCore core : made) {
      if (!installed || !now.containsValue(core)) {
        if (!core.isDropped()) {
          core.markRolledBack();
        }
        Schema.trees(core).forEach(changes.drops::letGo);
      }
    }
    Arena memory = arena;
    arena = null;
    if (memory != null) {
      memory.close();
    }
  }

  /** Whether it has left pages to be freed. */
  public boolean leavesPages() {
    return !made.isEmpty() || !dropped.isEmpty();
  }
}
