package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafScan;
import io.fovea.btree.TreeWalk;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.HintUse;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.IndexStage;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.EntryHints;
import io.fovea.schema.TableSpec;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Copies the records of a table, under other keys, into a new table that then takes its place,
 * while transactions change the old one.
 *
 * <pre>
 *   deferred trees: new table, tracker, map ─► tracker added to the indexes ─ grace
 *   ─► old table, in key order ─► settled                       transactions ─► tracker
 *   ─► keys in the tracker ─► settled, until few are left       transactions ─► tracker
 *   ─► FROZEN: a quiescent point aborts the users of the old table
 *   ─► keys in the tracker ─► settled, until none is left
 *   ─► catalog: new table in, old one out ─► switched at a quiescent point
 *
 *   tracker   keys of old records that were written since they were last settled
 *   map       key of the old record ─► key of the new one
 * </pre>
 *
 * <p><b>To settle</b> a key, a transaction reads the old record, maps it, makes the new table agree
 * with it by means of the map, and removes the key from the tracker. Only this thread writes the
 * new table and the map, so <i>the new table always has exactly the records of the map</i>. A
 * record whose new key, or entry in a unique index, belongs to another one is left out and stays in
 * the tracker: the other record may have another key by now, and be in the tracker itself. {@link
 * #confirm} finds out.
 *
 * <p><b>Claim: when the tracker is empty, the new table has all records.</b> A record that has
 * changed since it was last settled is in the tracker, because the transaction that changed it put
 * it there. One that has never been settled was not there when the scan of the old table passed its
 * key or determined where to end, and has been inserted since.
 *
 * <p><b>A pass ends</b> at the key that was the tree's last one when the pass began, so ascending
 * inserts can't prolong it. A larger key was inserted after that. The old table's are in the
 * tracker, to which all transactions add their keys since before the pass; the tracker's own are
 * left to the next pass, and the freeze lasts until a pass finds none.
 *
 * <p><b>FROZEN.</b> A statement on the old table is refused with a retryable cause, and a
 * transaction that used it before and decides after the quiescent point is aborted, as if a
 * transaction were dropping the table ({@link io.fovea.txn.TxEngine#dropping}). All others have
 * published what they put into the tracker, so no key is added from there on. The state ends with
 * the switch, a failure or a time limit: a transaction that has locked a record of the old table
 * keeps the lock until it ends, which may take any time. Then an ordinary round waits for it, while
 * others use the table, and the next freeze may take twice as long.
 *
 * <p><b>The switch</b> is that of a load: one catalog record, then a quiescent point. A transaction
 * that has read anything before the point and decides after it is aborted, so none sees only part
 * of the new table, even if it reads the past.
 *
 * <p><b>A crash</b> before the catalog record is durable leaves the old table. The catalog lists
 * the new trees as deferred, so the next opening frees them.
 *
 * <p>Confined to one thread, which holds {@link TableCore#changing} of the old table.
 */
public final class Migration {
  /** Converts records; belongs to the layer above. */
  public interface Records {
    /** Maps a record in stored form; gives at most one record to the sink. */
    void map(byte[] key, byte[] value);

    /** Returns a key of the old table as text. */
    String oldKey(byte[] key);

    /** Returns a key of the new table as text. */
    String newKey(byte[] key);
  }

  /** Prepares the conversion of records. */
  @FunctionalInterface
  public interface Feed {
    /** Runs a migration with records that are given to a sink. */
    void run(TableCore to, LoadFeed.Sink sink, Consumer<Records> work);
  }

  /**
   * The result of a migration.
   *
   * @param records the number of records in the new table
   * @param changes the number of records that were settled again
   * @param nanos the duration
   */
  public record Result(long records, long changes, long nanos) {}

  /** After this many bytes of records a piece ends. */
  private static final long PIECE_BYTES = 1 << 16;

  /** The number of rounds with more than half the keys of the previous one, before the freeze. */
  private static final int SLOW_ROUNDS = 3;

  /** How long to wait for the quiescent point; transactions that use the table wait as well. */
  private static final long FREEZE_NANOS = 10_000_000_000L;

  /** The time limit of the work in the first freeze. */
  private static final long FROZEN_MIN_NANOS = 250_000_000L;

  /** The time limit of the work in the last freeze, after which the migration fails. */
  private static final long FROZEN_MAX_NANOS = 32 * FROZEN_MIN_NANOS;

  private static final int NONE = -1;

  /** A record that could not be added, because {@code taken} is the key of another new record. */
  private record Conflict(byte[] oldKey, byte[] taken, DuplicateKeyException cause) {}

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Expirations expirations;
  private final TableCore core;
  private final TableSpec spec;
  private final HintUse hintUse;
  private final Arena arena = Arena.ofShared();
  private final String what;
  private final IndexBuild waits;
  private final BackgroundThrottle throttle;
  private final LeafScan scan = new LeafScan();
  private final MemorySegment last;
  private final MemorySegment next;
  private final MemorySegment before;
  private final MemorySegment end;
  private int endLength;
  private final MemorySegment entry;
  private final MemorySegment holder;
  private final MemorySegment newKey;
  private int newKeyLength;
  private MemorySegment record;
  private MemorySegment newRecord;
  private int newLength;
  private @Nullable TableCore made;
  private @Nullable IndexCore tracker;
  private @Nullable BTree map;
  private @Nullable Conflict conflict;
  private @Nullable Records records;
  private boolean frozen;
  private long frozenUntil;
  private @Nullable TransactionAbortedException late;
  private long settled;

  Migration(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      Expirations expirations,
      HintUse hintUse,
      TableCore core,
      TableSpec spec,
      String what) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.expirations = expirations;
    this.hintUse = hintUse;
    this.core = core;
    this.spec = spec;
    this.what = what;
    this.waits = new IndexBuild(catalogCallbacks, store, core, what);
    this.throttle = waits.backgroundThrottle();
    int keyMax = Math.max(8, core.tree.maxKeySize()); // the same for all trees of a store
    this.last = arena.allocate(keyMax, 8);
    this.next = arena.allocate(keyMax, 8);
    this.before = arena.allocate(keyMax, 8);
    this.end = arena.allocate(keyMax, 8);
    this.holder = arena.allocate(2L * keyMax, 8);
    this.entry = arena.allocate(2L * keyMax, 8); // a key of the new table and a hint
    this.newKey = arena.allocate(keyMax, 8);
    this.record = arena.allocate(PIECE_BYTES, 8);
    this.newRecord = arena.allocate(PIECE_BYTES, 8);
  }

  /** Creates the trees of the new table. */
  @FunctionalInterface
  interface Make {
    TableCore make(TableSpec spec, CatalogChange change, List<BTree> trees);
  }

  /**
   * Runs the migration.
   *
   * @param publish replaces names, see {@link Schema#publish}
   */
  Result run(
      Map<String, TableCore> tables,
      Make make,
      ObjLongConsumer<Map<String, @Nullable TableCore>> publish,
      Feed feed) {
    long began = System.nanoTime();
    boolean[] done = new boolean[1];
    try (arena) {
      TableCore to = begin(tables, make);
      try {
        feed.run(
            to,
            this::receive,
            r -> {
              records = r;
              copy();
              freeze(
                  () -> {
                    long lsn = changes.locked(what, () -> exchange(tables, to, publish));
                    done[0] = true;
                    store.awaitDurable(lsn);
                  });
            });
      } finally {
        end(to, done[0]);
      }
      expirations.begin();
      return new Result(to.tree.counts().records(), settled, System.nanoTime() - began);
    }
  }

  private static <T> T made(@Nullable T one) {
    if (one == null) {
      throw new IllegalStateException("The migration has not yet reached this step.");
    }
    return one;
  }

  // ---------------------------------------------------------------------------------- the trees

  private TableCore begin(Map<String, TableCore> tables, Make make) {
    changes.locked(
        what,
        () -> {
          requireFree(tables);
          List<BTree> held = new ArrayList<>();
          changes.make(
              (change, trees) -> {
                TableCore to = make.make(spec, change, trees);
                to.expire(null); // until the switch: expired records must not make way for others
                to.prepare();
                made = to;
                map = changes.newTree(trees, change, false);
                held.addAll(trees);
                BTree keys = changes.newTree(trees, change, false);
                tracker =
                    IndexCore.tracker(core.key, keys, new IndexHints(EntryHints.NONE, hintUse));
                for (BTree tree : trees) {
                  change.put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
                }
              },
              () -> {
                held.forEach(changes.drops::hold);
                core.add(made(tracker));
              });
          return true;
        });
    return made(made);
  }

  private void requireFree(Map<String, TableCore> tables) {
    if (!spec.name().equals(core.name) && tables.containsKey(spec.name())) {
      throw Renames.taken(what, "table", spec.name());
    }
  }

  private void end(TableCore to, boolean done) {
    IndexCore keys = made(tracker);
    if (!done) {
      to.markRolledBack();
      Schema.trees(to).forEach(changes.drops::releaseUncommitted);
      core.replace(keys, keys.at(IndexStage.DELETE_ONLY));
    }
    changes.drops.releaseUncommitted(made(map));
    changes.drops.add(keys.tree, () -> core.remove(keys.tree));
    changes.drops.run();
  }

  // ------------------------------------------------------------------------------------ records

  /** Receives the new record; a row is in stored form. */
  private void receive(
      MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    if (newKeyLength != NONE) {
      throw new InvalidUseException("A mapper adds at most one record for each record.");
    }
    TableCore to = made(made);
    Mem.copy(key, off, newKey, 0, len);
    if (to.layout != null && vLen != to.storedBytes) {
      newRecord = atLeast(newRecord, to.recordBytes());
      to.old.upgrade(vLen, value, vOff, newRecord, 0); // unpacks it
      newLength = to.recordBytes();
    } else {
      newRecord = atLeast(newRecord, vLen);
      Mem.copy(value, vOff, newRecord, 0, vLen);
      newLength = vLen;
    }
    newKeyLength = len;
  }

  private MemorySegment atLeast(MemorySegment memory, long bytes) {
    return memory.byteSize() >= bytes
        ? memory
        : arena.allocate(Math.max(bytes, 2 * memory.byteSize()), 8);
  }

  /** Maps a record; returns its length, or {@link #NONE} if it does not exist. */
  private int map(StatementContext sc, Tx t, MemorySegment key, int len) {
    newKeyLength = NONE;
    int n = t.get(core.tree, key, 0, len, record, 0, (int) record.byteSize());
    while (n > record.byteSize()) {
      record = atLeast(record, n);
      n = t.get(core.tree, key, 0, len, record, 0, (int) record.byteSize());
    }
    if (n < 0 || RecordExpiry.isHidden(sc, t, core, key, 0, len)) {
      return NONE;
    }
    made(records).map(Mem.bytes(key, 0, len), Mem.bytes(record, 0, n));
    return n;
  }

  /**
   * Makes the new table agree with the record of a key.
   *
   * @param tracked whether the key may be in the tracker
   * @return the bytes of the old and of the new record
   */
  private long settle(StatementContext sc, Tx t, MemorySegment key, int len, boolean tracked) {
    try {
      long read = Math.max(0, settleRecord(sc, t, key, len, tracked));
      return newKeyLength == NONE ? read : read + newLength;
    } finally {
      sc.shrinkRecord();
    }
  }

  /** Settles a key; returns the length of the old record, or {@link #NONE}. */
  private int settleRecord(StatementContext sc, Tx t, MemorySegment key, int len, boolean tracked) {
    TableCore to = made(made);
    BTree keys = made(tracker).tree;
    BTree mapped = made(map);
    int had = t.get(mapped, key, 0, len, before, 0, (int) before.byteSize());
    int n = map(sc, t, key, len);
    boolean has = newKeyLength != NONE;
    if (had >= 0 && !(has && had == newKeyLength && Mem.equal(before, 0, had, newKey, 0, had))) {
      remove(sc, t, key, len, had);
      had = NONE;
    }
    try {
      if (has && had >= 0) {
        IndexMaintenance.put(
            sc, t, to, to.indexes(), newKey, 0, newKeyLength, newRecord, 0, newLength);
      } else if (has) {
        IndexMaintenance.insert(
            sc, t, to, to.indexes(), newKey, 0, newKeyLength, newRecord, 0, newLength);
        t.put(mapped, key, 0, len, newKey, 0, newKeyLength);
      }
    } catch (DuplicateKeyException e) {
      conflict = new Conflict(Mem.bytes(key, 0, len), taken(t, e), e);
      if (had >= 0) {
        remove(sc, t, key, len, had);
      }
      t.put(keys, key, 0, len, key, 0, len);
      return n;
    }
    if (tracked) {
      t.delete(keys, key, 0, len);
    }
    return n;
  }

  /** Removes the new record of a key, whose new key is in {@link #before}. */
  private void remove(StatementContext sc, Tx t, MemorySegment key, int len, int had) {
    TableCore to = made(made);
    IndexMaintenance.delete(sc, t, to, to.indexes(), before, 0, had);
    t.delete(made(map), key, 0, len);
  }

  /** Returns the primary key of the new record that is in the way. */
  private byte[] taken(Tx t, DuplicateKeyException e) {
    String name = e.index();
    IndexCore index = name == null ? null : made(made).index(name);
    if (index == null) {
      return e.key();
    }
    byte[] key = e.key();
    Mem.putBytes(entry, 0, key, 0, key.length);
    // Not into the memory of the search key, because a search may be repeated.
    int n = t.get(index.tree, entry, 0, key.length, holder, 0, (int) holder.byteSize());
    return Mem.bytes(holder, 0, index.hints.keyLength(n));
  }

  // ------------------------------------------------------------------------------------- passes

  /** Settles all records, then those that change meanwhile, until few are left. */
  private void copy() {
    waits.awaitOthers();
    throttle.begin();
    pass(core.tree, false, true);
    throttle.beginUrgent();
    settleChanged();
  }

  /** Settles the records that change, until few are left. */
  private void settleChanged() {
    long previous = Long.MAX_VALUE;
    for (int slow = 0; previous > IndexBuild.PIECE_RECORDS && slow < SLOW_ROUNDS; ) {
      long n = pass(made(tracker).tree, true, true);
      slow += n > previous / 2 ? 1 : 0;
      previous = n;
      settled += n;
    }
  }

  /**
   * Settles the remaining records in the frozen table. After the first round the map is current, so
   * only conflicts of a later one are duplicates.
   */
  private void settleRest() {
    boolean confirms = false;
    for (long n; (n = pass(made(tracker).tree, true, confirms)) > 0; confirms = true) {
      settled += n;
    }
  }

  /**
   * Settles the keys of a tree up to its present last one, some in each transaction; returns their
   * number.
   *
   * @param confirms whether to search for duplicates
   */
  private long pass(BTree keys, boolean tracked, boolean confirms) {
    if (!findEnd(keys)) {
      return 0;
    }
    long count = 0;
    long conflicts = 0;
    int[] found = {0, NONE};
    while (found[1] != Integer.MIN_VALUE) {
      int from = found[1];
      transact((sc, t, attempt) -> found[1] = piece(sc, t, attempt, keys, tracked, from, found));
      count += found[0];
      throttle.committed();
      if (!frozen) {
        throttle.pause();
      }
      if (found[1] >= 0) {
        Mem.copy(next, 0, last, 0, found[1]);
      }
      Conflict one = conflict;
      // A search for the cause scans the map: after the 1st, 2nd, 4th, 8th, ... in a pass.
      if (confirms && one != null && Long.bitCount(++conflicts) == 1) {
        confirm(one);
      }
    }
    return count;
  }

  /** Copies the last key of a tree to {@link #end}; returns false if there is none. */
  private boolean findEnd(BTree keys) {
    scan.seek(keys, end, 0, NONE, true, true);
    if (!scan.load()) {
      return false;
    }
    endLength = scan.copyKey(scan.to() - 1, end, 0);
    return true;
  }

  /** Runs a piece in a transaction, which is not retried after the time limit of a freeze. */
  private void transact(CatalogCallbacks.Piece piece) {
    long limit = frozen ? Math.max(1, frozenUntil - System.nanoTime()) : 0;
    catalogCallbacks.transact(
        limit,
        (sc, t, attempt) -> {
          waits.check();
          if (frozen && System.nanoTime() - frozenUntil >= 0) {
            throw new TransactionAbortedException(AbortCause.TIMEOUT);
          }
          piece.run(sc, t, attempt);
        });
  }

  /**
   * Settles some keys.
   *
   * @param number receives their number in its first element
   * @return the length of the last key, which is then in {@link #next}; {@code MIN_VALUE} at the
   *     end
   */
  private int piece(
      StatementContext sc, Tx t, int attempt, BTree keys, boolean tracked, int from, int[] number) {
    int left = Math.max(1, IndexBuild.PIECE_RECORDS >> Math.min(30, attempt - 1));
    int length = Integer.MIN_VALUE;
    long bytes = 0;
    number[0] = 0;
    conflict = null;
    scan.seek(keys, last, 0, from, from < 0, false);
    boolean more = true;
    while (more && left > 0 && bytes < PIECE_BYTES && scan.load()) {
      int to = Math.min(scan.to(), scan.upperBound(end, 0, endLength));
      more = to == scan.to();
      for (int slot = scan.from(); slot < to && left > 0 && bytes < PIECE_BYTES; slot++) {
        length = scan.copyKey(slot, next, 0);
        bytes += settle(sc, t, next, length, tracked);
        number[0]++;
        left--;
      }
    }
    return length;
  }

  // --------------------------------------------------------------------------------- duplicates

  /**
   * Finds out whether two records of the old table have the same new key, or only had it at
   * different times: settles both in one transaction.
   *
   * @throws DuplicateKeyException if they have it now
   */
  private void confirm(Conflict one) {
    byte[] other = ownerOf(one.taken);
    if (other == null) {
      return;
    }
    transact(
        (sc, t, attempt) -> {
          int n = toNative(other);
          settle(sc, t, next, n, true);
          boolean still = isMapped(t, n, one.taken);
          conflict = null;
          settle(sc, t, next, toNative(one.oldKey), true);
          Conflict again = conflict;
          if (still && again != null && Arrays.equals(again.taken, one.taken)) {
            throw duplicate(other, again);
          }
        });
    conflict = null;
  }

  private int toNative(byte[] key) {
    Mem.putBytes(next, 0, key, 0, key.length);
    return key.length;
  }

  private boolean isMapped(Tx t, int len, byte[] to) {
    int n = t.get(made(map), next, 0, len, before, 0, (int) before.byteSize());
    return n >= 0 && Arrays.equals(Mem.bytes(before, 0, n), to);
  }

  /** Returns the key of the old record whose new key is the given one; null if there is none. */
  private byte @Nullable [] ownerOf(byte[] key) {
    byte[][] found = new byte[1][];
    TreeWalk.forEach(
        made(map),
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (vLen == key.length && Arrays.equals(Mem.bytes(v, vOff, vLen), key)) {
            found[0] = Mem.bytes(k, kOff, kLen);
          }
        });
    return found[0];
  }

  private DuplicateKeyException duplicate(byte[] one, Conflict other) {
    Records texts = made(records);
    return DuplicateKeyException.ofMigration(
        other.cause,
        core.name,
        spec.name(),
        texts.oldKey(one),
        texts.oldKey(other.oldKey),
        texts.newKey(other.taken));
  }

  // --------------------------------------------------------------------------------- the switch

  /** Freezes the old table to complete the new one, repeatedly if it takes too long. */
  private void freeze(Runnable exchange) {
    long nanos = FROZEN_MIN_NANOS;
    while (!tryFreeze(nanos, exchange)) {
      nanos *= 2;
      if (nanos > FROZEN_MAX_NANOS) {
        throw late();
      }
      settleChanged();
    }
  }

  private TransactionAbortedException late() {
    TransactionAbortedException e =
        new TransactionAbortedException(
            AbortCause.TIMEOUT,
            "Can't "
                + what
                + ": while transactions on table "
                + core.displayName()
                + " were refused, its last changes could not be copied within "
                + FROZEN_MAX_NANOS / 1_000_000
                + " ms, because transactions had locked them or the mapper was slow.");
    if (late != null) {
      e.addSuppressed(late);
    }
    return e;
  }

  /** Returns false if the work in the frozen table took too long; the table is in use again. */
  private boolean tryFreeze(long nanos, Runnable exchange) {
    try {
      changes.locked(
          what,
          () -> {
            core.setCommittingDrop(true);
            store.engine().dropping(core.bit);
            store.engine().atQuiescentPoint(() -> {}, FREEZE_NANOS);
            return true;
          });
      frozenUntil = System.nanoTime() + nanos;
      frozen = true;
      try {
        settleRest();
      } catch (TransactionAbortedException e) {
        if (e.abortCause() != AbortCause.TIMEOUT && e.abortCause() != AbortCause.ADMISSION) {
          throw e;
        }
        late = e;
        return false;
      }
      exchange.run();
      return true;
    } finally {
      frozen = false;
      if (!core.isDropped()) {
        core.setCommittingDrop(false);
      }
    }
  }

  private long exchange(
      Map<String, TableCore> tables,
      TableCore to,
      ObjLongConsumer<Map<String, @Nullable TableCore>> publish) {
    requireFree(tables);
    String from = core.name;
    List<BTree> old = Schema.trees(core);
    List<BTree> fresh = Schema.trees(to);
    CatalogChange change = new CatalogChange(store);
    if (!from.equals(spec.name())) {
      change.delete(CatalogKey.of(from));
    }
    change.unnameTable(core.tree);
    for (BTree tree : old) {
      change.dropTree(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
    }
    expirations.expire(to, spec.expiry());
    SchemaChanges.saveLoaded(to, change);
    fresh.forEach(tree -> change.delete(DeferredDrops.key(tree.treeId())));
    return change.run(
        () -> {
          Map<String, @Nullable TableCore> names = new HashMap<>();
          names.put(from, null);
          names.put(spec.name(), to);
          store
              .engine()
              .exchange(
                  () -> {
                    core.drop(spec.name());
                    to.made();
                    publish.accept(names, 0);
                  });
          old.forEach(tree -> changes.drops.add(tree, null));
          fresh.forEach(changes.drops::keep);
        });
  }
}
