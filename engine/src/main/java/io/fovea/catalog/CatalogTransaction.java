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
 * The catalog as seen and changed by one transaction. The changes commit atomically with the
 * transaction's records.
 *
 * <pre>
 *   body     table(spec)        creates trees, durably marked for release ("d") ─► a private table
 *            dropTable, rename  recorded in memory
 *   commit   locks: tables to drop or rename, then the schema; lookups validated
 *            pages reserved, items locked
 *            tables to drop: GOING ─► quiescent point: decides, alone
 *            CATALOG · RANGE* · COMMIT_PART* · COMMIT in the log       committed
 *            records, catalog, tables in memory ─► items published ─► schema locks released
 *   abort    new trees released: their pages are freed
 * </pre>
 *
 * <p><b>Atomicity.</b> The CATALOG record takes effect only if the COMMIT behind it is present. The
 * catalog lists each new tree as deferred as soon as its first page is allocated. The commit turns
 * the trees into tables; after an abort or a crash {@link DeferredDrops} frees them.
 *
 * <p><b>Serializability.</b> A body takes no lock that outlasts a call. It remembers its name
 * lookups, and the commit compares them. Let C be a commit that changes the catalog. It decides at
 * a quiescent point, so under every protocol it lies between transactions A that decided earlier
 * and transactions B that decide later, on new reads ({@link io.fovea.txn.CommitGate}).
 *
 * <ul>
 *   <li><i>Lookups by C</i> are compared under the schema lock, which C holds until everything is
 *       published.
 *   <li><i>Lookups by other writing transactions</i> are compared when those decide, inside the
 *       gate ({@link #catalogReadsValid}). A has seen no effect of C. B either meets {@link
 *       Schema#isChanging}, which is set before the quiescent point and cleared when C is
 *       published, and is aborted, or it finds the tables as C left them.
 *   <li><i>Uses of a table that C drops.</i> If B used it earlier, B is aborted, because the drop
 *       is recorded before the quiescent point. If B uses it later, it either finds GOING, which is
 *       also stored before that point, and is aborted; or it finds the table dropped and fails, or
 *       is aborted if it had already looked the table up.
 *   <li><i>Uses of a table that C creates</i> come after C is published, by B.
 * </ul>
 *
 * <p>A schema change outside a transaction ({@link Schema#dropTable} and the like) excludes C by
 * the schema lock, and lookups are compared with its result.
 *
 * <p><b>Deadlock freedom.</b> The order is log space, table locks ({@link TableCore#changing}), the
 * schema lock, items, the gate. The holder of the schema lock never waits for a context or for log
 * space: a load that holds back the redo point may be waiting for the lock. Under two-phase locking
 * a transaction holds items when it requests the schema lock, whose holder may be a pessimistic
 * commit that waits for these items; so it waits at most one second and then aborts. A table lock
 * may be held for a whole index build, so the wait for it is short. A thread that opens a snapshot
 * holds the schema lock when it closes the gate, and no item. docs/internals/concurrency.md lists
 * the complete order.
 *
 * <p>Confined to the transaction's thread, except {@link #ended}.
 */
public final class CatalogTransaction implements CatalogPart {
  /**
   * How long a commit waits for a table lock. An index build gives up when its table is dropped.
   */
  private static final long CHANGING_NANOS = 200_000_000;

  /** The maximum number of times a lookup checks whether another commit has published. */
  private static final int PUBLISH_CHECKS_MAX = 1_000;

  private static final long PUBLISH_CHECK_NANOS = 100_000;

  private final Schema schema;
  private final Store store;
  private final SchemaChanges changes;
  private final Tx tx;

  /** Results of lookups: tables created by others. */
  private final Map<String, @Nullable TableCore> seen = new HashMap<>();

  /** All tables, if the transaction has listed them. */
  private @Nullable Map<String, TableCore> seenAll;

  /** Changes relative to {@link #seen}; a null value marks a dropped name. */
  private final Map<String, @Nullable TableCore> now = new TreeMap<>();

  private final SequenceReads sequences;

  private final List<TableCore> made = new ArrayList<>();
  private final List<TableCore> dropped = new ArrayList<>();

  private final RangeCuts cuts;

  // Set between lock() and the end of the commit.
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

  // -------------------------------------------------------------------------------------- lookups

  private @Nullable TableCore findTable(String name) {
    if (now.containsKey(name)) {
      return now.get(name);
    }
    if (!seen.containsKey(name)) {
      awaitChange();
      seen.put(name, seenAll == null ? schema.core(name) : seenAll.get(name));
      tx.dependsOnLsn(schema.publishedLsn());
    }
    return seen.get(name);
  }

  /** Returns the names of all tables as this transaction sees them. */
  public List<String> names() {
    if (seenAll == null) {
      awaitChange();
      Map<String, TableCore> all = new HashMap<>();
      for (TableCore core : schema.tables()) {
        all.put(core.name, core);
      }
      seenAll = all;
      tx.dependsOnLsn(schema.publishedLsn());
      if (!catalogReadsValid()) {
        throw conflict("tables were created, dropped or renamed concurrently");
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

  /** Waits until no other commit is publishing, so that no half-published change is seen. */
  private void awaitChange() {
    for (int attempt = 0; schema.isChanging(); attempt++) {
      store.engine().checkWaiting();
      if (attempt == PUBLISH_CHECKS_MAX) {
        throw conflict("another transaction that changes the catalog is being committed");
      }
      Waits.sleep(PUBLISH_CHECK_NANOS);
    }
  }

  @Override
  public boolean catalogReadsValid() {
    return !schema.isChanging() && lookupsUnchanged() && cuts.hold();
  }

  @Override
  public boolean lookupsStillValid() {
    return cuts.stillHold();
  }

  /** Returns the exception for a transaction whose lookups are no longer valid. */
  public RuntimeException stale() {
    return conflict("a table that it looked up was created, dropped or renamed");
  }

  private boolean lookupsUnchanged() {
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
    return sequences.lookupsUnchanged();
  }

  private RuntimeException conflict(String why) {
    return tx.abort(AbortCause.CATALOG, why);
  }

  // -------------------------------------------------------------------------------------- changes

  /** Opens a table, creating it if it does not exist. */
  public TableCore table(TableSpec spec) {
    TableCore core = findTable(spec.name());
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
          if (!lookupsUnchanged()) {
            throw stale();
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

  /** Drops a table; returns false if there is none. */
  public boolean dropTable(String name) {
    TableCore core = findTable(name);
    if (core == null) {
      return false;
    }
    tx.requireWritable();
    now.put(name, null);
    if (made.contains(core)) {
      core.drop(); // its trees are released at the end
    } else {
      dropped.add(core);
      cuts.dropped(core);
      tx.addDropped(core.bit);
    }
    return true;
  }

  /** Renames a table; returns false if there is none. */
  public boolean renameTable(String from, String to) {
    TableSpec.requireName(to);
    TableCore core = findTable(from);
    if (core == null) {
      return false;
    }
    tx.requireWritable();
    if (from.equals(to)) {
      return true;
    }
    if (findTable(to) != null) {
      throw Renames.taken("rename table " + NameText.of(from), "table", to);
    }
    now.put(from, null);
    now.put(to, core);
    return true;
  }

  /** Opens a sequence, creating it if it does not exist. */
  public SequenceCore sequence(SequenceSpec spec) {
    SequenceCore core = findSequence(spec.name());
    if (core != null) {
      schema.sequences().adopt(core, spec);
      return core;
    }
    tx.requireWritable();
    return sequences.make(schema.sequences().fresh(spec));
  }

  /** Drops a sequence; returns false if there is none. */
  public boolean dropSequence(String name) {
    if (findSequence(name) == null) {
      return false;
    }
    tx.requireWritable();
    sequences.drop(name);
    return true;
  }

  /** Renames a sequence; returns false if there is none. */
  public boolean renameSequence(String from, String to) {
    TableSpec.requireName(to);
    if (findSequence(from) == null) {
      return false;
    }
    tx.requireWritable();
    if (from.equals(to)) {
      return true;
    }
    if (findSequence(to) != null) {
      throw Renames.taken("rename sequence " + NameText.of(from), "sequence", to);
    }
    sequences.rename(from, to);
    return true;
  }

  /** Alters a sequence; returns null if there is none. */
  public @Nullable SequenceCore alterSequence(SequenceSpec spec) {
    SequenceCore core = findSequence(spec.name());
    if (core == null) {
      return null;
    }
    tx.requireWritable();
    return sequences.alter(core, schema.sequences().fresh(spec));
  }

  private @Nullable SequenceCore findSequence(String name) {
    if (!sequences.knows(name)) {
      awaitChange();
      sequences.addLookup(name);
      tx.dependsOnLsn(schema.publishedLsn());
    }
    return sequences.core(name);
  }

  /** Returns whether this transaction drops the table. */
  public boolean drops(TableCore core) {
    return dropped.contains(core);
  }

  @Override
  public boolean changes() {
    return !now.isEmpty() || sequences.changes() || !cuts.isEmpty();
  }

  /**
   * Visits the changes of table names, and the tables that the transaction creates.
   *
   * @param name receives each changed name, in order, and whether a table now has that name
   * @param made receives each created table
   */
  public void forEachChange(BiConsumer<String, Boolean> name, Consumer<TableCore> made) {
    now.forEach((n, core) -> name.accept(n, core != null));
    this.made.forEach(made);
  }

  // --------------------------------------------------------------------------------------- ranges

  /**
   * Makes the commit cut a range out of a table, see {@link RangeCuts}. Later statements of this
   * transaction on the table must check {@link #cuts}.
   *
   * @param range not changed afterwards
   * @param records the number of records in the range
   */
  public void cut(TableCore core, KeyRange range, long records) {
    cuts.add(core, range, records);
    tx.addDropped(core.bit);
  }

  /** Returns whether a range of the table is to be cut. */
  public boolean cuts(TableCore core) {
    return cuts.has(core);
  }

  /** Returns the range to be cut out of the table. */
  public KeyRange range(TableCore core) {
    return cuts.range(core);
  }

  /** Cancels a table's cut; returns the number of records counted in it. */
  public long cancelCut(TableCore core) {
    return cuts.remove(core);
  }

  /** Returns the exception for a range that no longer matches its count. */
  public RuntimeException changed(TableCore core) {
    return conflict(
        "records in a range that it deletes from table " + core.displayName() + " have changed");
  }

  // --------------------------------------------------------------------------------------- commit

  /**
   * Takes the locks and validates all lookups. {@link #unlock} must follow, even after a failure.
   *
   * @throws io.fovea.error.TransactionAbortedException if a lookup is invalid or a lock is not
   *     available
   */
  public void lock() {
    if (!changes()) {
      return;
    }
    String what = "commit changes of the catalog";
    store.willWrite();
    // Before the locks: the thread that holds back the redo point may need them.
    store.engine().awaitLogSpace();
    for (TableCore core : touched()) {
      lock(core, what);
    }
    changes.lockIn(tx, what);
    schemaLocked = true;
    for (TableCore core : locked) {
      if (core.isDropped()) {
        throw conflict("table " + core.displayName() + " was dropped concurrently");
      }
    }
    if (!lookupsUnchanged()) {
      throw stale();
    }
    TableCore other = cuts.changed();
    if (other != null) {
      throw conflict(
          "table " + other.displayName() + " was loaded, or an index was added, concurrently");
    }
    change = change();
  }

  /** Returns the existing tables that are dropped, are renamed or lose a range. */
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
    boolean owned = false;
    locked.add(core); // lockedCount counts it once locked: nothing can fail in between
    try {
      owned = core.changing.tryLock(what);
      if (!owned) {
        core.setDropPending(drops);
        owned = core.changing.tryLock(what, CHANGING_NANOS);
      }
      lockedCount += owned ? 1 : 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OperationInterruptedException(what);
    } finally {
      core.setDropPending(false);
    }
    if (!owned) {
      throw conflict("an index of table " + core.displayName() + " is being built or dropped");
    }
  }

  /** Releases the locks, after the commit or a failure. */
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
      c.unnameTable(core.tree);
      Schema.trees(core).forEach(c::dropLater);
    }
    for (TableCore core : made) {
      if (now.containsValue(core)) {
        Schema.trees(core).forEach(t -> c.delete(DeferredDrops.key(t.treeId())));
      }
    }
    sequences.addTo(c);
    return c;
  }

  private CatalogChange requireChange() {
    CatalogChange c = change;
    if (c == null) {
      throw new IllegalStateException("The catalog locks are not held.");
    }
    return c;
  }

  @Override
  public int inserts() {
    return requireChange().inserts();
  }

  @Override
  public long bytes() {
    return requireChange().bytes();
  }

  @Override
  public PageReservations pageReservations() {
    return store.pool().pageReservations();
  }

  /** Stores the flags that others check, before the number of the quiescent point is stored. */
  @Override
  public void deciding() {
    deciding = true;
    schema.changing(true);
    long bits = 0;
    for (TableCore core : dropped) {
      core.setCommittingDrop(true);
      bits |= core.bit;
    }
    for (TableCore core : cuts.losing()) {
      core.setCommittingDrop(true);
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
    requireChange().stage(session, memory);
  }

  @Override
  public long append(LogSession session, int maxBytes) {
    CatalogChange c = requireChange();
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
    requireChange().install();
    cuts.install(session);
    List<TableCore> stay = made.stream().filter(now::containsValue).toList();
    stay.forEach(TableCore::made); // before other threads can find the tables
    long lsn = session.isLogging() ? session.recordEnd() : 0;
    schema.publish(now, lsn);
    sequences.publish(lsn);
    for (TableCore core : dropped) {
      core.drop();
      Schema.trees(core).forEach(t -> changes.drops.add(t, null));
    }
    // Last, because a count of records checks the deferred trees first, then the tables.
    stay.forEach(core -> Schema.trees(core).forEach(changes.drops::keep));
    cuts.losing().forEach(core -> core.setCommittingDrop(false));
    installed = true;
    schema.changing(false);
  }

  @Override
  public void release(LogSession session) {
    requireChange().release();
  }

  @Override
  public void undo(LogSession session) {
    if (arena != null) {
      requireChange().undo();
    }
  }

  @Override
  public void ended() {
    if (deciding && !installed && store.engine().poison() == null) {
      dropped.forEach(core -> core.setCommittingDrop(false));
      cuts.losing().forEach(core -> core.setCommittingDrop(false));
      schema.changing(false);
    }
    sequences.ended(installed);
    for (TableCore core : made) {
      if (!installed || !now.containsValue(core)) {
        if (!core.isDropped()) {
          core.markRolledBack();
        }
        Schema.trees(core).forEach(changes.drops::releaseUncommitted);
      }
    }
    Arena memory = arena;
    arena = null;
    if (memory != null) {
      memory.close();
    }
  }

  /** Returns whether this transaction leaves pages to be freed. */
  public boolean leavesPages() {
    return !made.isEmpty() || !dropped.isEmpty();
  }
}
