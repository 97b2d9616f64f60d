package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.btree.RootMove;
import io.fovea.buffer.PageReservations;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.recovery.SchemaRecord;
import io.fovea.store.Store;
import io.fovea.txn.CommitRecord;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A change of catalog records, as one SCHEMA record in the log and in the catalog's tree.
 *
 * <pre>
 *   long values to chains ─► SCHEMA record ─► the catalog's tree ─► old chains freed
 *                            │
 *      before: no effect    after: in effect, whatever fails
 * </pre>
 *
 * <p>Nothing may fail once the record is appended: pages for splits are reserved in advance, the
 * change waits for free frames, and failed reads are retried. Any other failure stops the database,
 * and recovery applies the record.
 *
 * <p>As part of a commit ({@link CatalogTransaction}), the steps are called one by one: {@link
 * #stage}, {@link #append}, {@link #install}, {@link #release}; or {@link #undo}.
 *
 * <p>All methods require the schema lock.
 */
public final class CatalogChange {
  private static final long PAUSE_NANOS = 1_000_000;

  /** The number of failed reads of a page after which the database stops. */
  private static final int READS_MAX = 32;

  /** Null during recovery, when nothing waits. */
  private final @Nullable TxEngine engine;

  private final BTree catalog;
  private LogSession session;
  private final List<BTree> published = new ArrayList<>();
  private final List<BTree> dropped = new ArrayList<>();
  private final List<Operation> operations = new ArrayList<>();

  /** Changes of table names, for change subscribers; they are not stored in the catalog's tree. */
  private final List<TableEvent> tableEvents = new ArrayList<>();

  private record TableEvent(int treeId, byte[] name, int kind) {}

  private @Nullable RootMove root;

  private final LongList adopted = new LongList();
  private final LongList released = new LongList();
  private final Position position = new Position();

  /** Whether the change is in the log; it then takes effect even if {@link #run} threw. */
  boolean logged;

  /**
   * Whether the change is complete, including in memory. If not, its session holds back the redo
   * point permanently.
   */
  boolean complete;

  CatalogChange(Store store) {
    this(store.engine(), store.catalog(), store.session());
  }

  CatalogChange(@Nullable TxEngine engine, BTree catalog, LogSession session) {
    this.engine = engine;
    this.catalog = catalog;
    this.session = session;
  }

  /** Adds a tree to the catalog. */
  CatalogChange publishTree(BTree tree) {
    published.add(tree);
    return this;
  }

  /** Removes a tree from the catalog. */
  CatalogChange dropTree(BTree tree) {
    dropped.add(tree);
    return this;
  }

  /** Removes a tree from the catalog, whose pages are freed later. */
  CatalogChange dropLater(BTree tree) {
    return dropTree(tree).put(DeferredDrops.key(tree.treeId()), DeferredDrops.value(tree));
  }

  CatalogChange put(byte[] key, byte[] value) {
    operations.add(new Operation(key, value));
    return this;
  }

  /**
   * Moves a tree's root atomically with the record. If it cannot move, {@link #logged} stays false.
   */
  CatalogChange moveRoot(RootMove move) {
    root = move;
    return this;
  }

  /** Names the tree as a table, or confirms its name. */
  CatalogChange nameTable(BTree tree, String name) {
    return addTableEvent(tree, name, CommitRecord.IS);
  }

  /** Names the tree as a table whose records were loaded rather than committed. */
  CatalogChange nameLoadedTable(BTree tree, String name) {
    return addTableEvent(tree, name, CommitRecord.LOADED);
  }

  /** Marks the tree as no longer a table. */
  CatalogChange unnameTable(BTree tree) {
    return addTableEvent(tree, "", CommitRecord.DROPPED);
  }

  private CatalogChange addTableEvent(BTree tree, String name, int kind) {
    tableEvents.add(new TableEvent(tree.treeId(), name.getBytes(StandardCharsets.UTF_8), kind));
    return this;
  }

  CatalogChange delete(byte[] key) {
    operations.add(new Operation(key, null));
    return this;
  }

  long run() {
    return run(() -> {});
  }

  /**
   * Applies the change atomically.
   *
   * @param follows the in-memory update; if it fails, memory and catalog differ, so the database
   *     stops
   * @return the LSN up to which the log must be durable; 0 without a log
   * @throws io.fovea.error.DatabaseClosedException if an earlier failure stopped the database
   */
  long run(Runnable follows) {
    if (engine != null) {
      engine.checkUsable(false); // the previous change may be incomplete
    }
    try (Arena arena = Arena.ofConfined()) {
      copy(arena);
      session.begin(0);
      try {
        if (!change()) {
          return 0;
        }
        follows.run();
        complete = true;
      } catch (Throwable t) {
        if (logged && engine != null) {
          engine.poison(t);
        }
        throw t;
      } finally {
        try {
          if (root != null) {
            root.cancel(); // releases its latch, whatever failed
          }
        } finally {
          try {
            if (!logged) {
              catalog.freeChain(adopted, session);
            }
          } finally {
            // An incomplete change holds back the redo point permanently.
            if (complete || !logged) {
              session.end();
              catalog.pool().pageReservations().release(session, 0);
            } else {
              session.abandon();
            }
          }
        }
      }
    }
    return session.isLogging() ? session.recordEnd() : 0;
  }

  private boolean change() {
    stageAll();
    if (session.isLogging()) {
      reservePages();
      if (!appendSchema()) {
        return false;
      }
    } else if (root != null && !root.latch()) {
      return false;
    }
    logged = true; // without a log, here
    if (root != null) {
      root.publish(session);
    }
    install();
    catalog.freeChain(released, session);
    return true;
  }

  private void stageAll() {
    for (Operation o : operations) {
      catalog.checkSizes(o.keyLen, Math.max(0, o.len));
    }
    for (Operation o : operations) {
      if (catalog.mayHaveLongValues()) {
        catalog.chain(o.key, 0, o.keyLen, position, released);
      }
      if (o.len > catalog.inlineMax()) {
        o.first = catalog.writeChain(o.value, 0, o.len, adopted, session);
      }
    }
  }

  // ------------------------------------------------------------------------ as a part of a commit

  /** Writes long values with the commit's session, which the later steps also use. */
  void stage(LogSession own, Arena arena) {
    session = own;
    copy(arena);
    stageAll();
  }

  private void copy(Arena arena) {
    for (Operation o : operations) {
      o.copy(arena);
    }
  }

  int recordBytes() {
    int opBytes = 0;
    for (Operation o : operations) {
      opBytes += o.bytes();
    }
    for (TableEvent f : tableEvents) {
      opBytes += CommitRecord.tableBytes(f.name.length);
    }
    return SchemaRecord.bytes(
        published.size(), dropped.size(), opBytes, adopted.size(), releasedSize());
  }

  private int releasedSize() {
    return released.size() + (root == null ? 0 : 1);
  }

  int size() {
    return operations.size() + tableEvents.size();
  }

  /** Appends the record as part of a commit; returns its LSN. */
  long append() {
    append(RecordType.CATALOG, false);
    return session.recordStart();
  }

  /**
   * Installs the records. The commit is in the log, and the session is positioned at its record.
   */
  void install() {
    for (Operation o : operations) {
      install(o);
    }
  }

  /** Frees the long values that were replaced. */
  void release() {
    catalog.freeChain(released, session);
  }

  /** Frees the new long values, because the commit is not in the log. */
  void undo() {
    catalog.freeChain(adopted, session);
  }

  // ------------------------------------------------------------------------------------- its steps

  /** Returns an upper bound on the number of records that are added or grow. */
  int inserts() {
    int n = 0;
    for (Operation o : operations) {
      n += o.len >= 0 ? 1 : 0;
    }
    return n;
  }

  /** Returns the size in bytes of the records that {@link #inserts} counts. */
  long bytes() {
    long sum = 0;
    for (Operation o : operations) {
      sum += o.len >= 0 ? o.keyLen + o.len : 0;
    }
    return sum;
  }

  private void reservePages() {
    PageReservations reservations = catalog.pool().pageReservations();
    reservations.reserve(session, reservations.pagesFor(inserts(), bytes()));
  }

  private boolean appendSchema() {
    if (!append(RecordType.SCHEMA, true)) {
      return false;
    }
    session.position(session.recordStart(), session.recordEnd());
    return true;
  }

  /** Appends the record; returns false, with nothing changed, if the root cannot move. */
  private boolean append(int type, boolean counts) {
    int bytes = recordBytes();
    int[] ids = treeIds(published);
    int[] droppedIds = treeIds(dropped);
    long[] droppedRoots = new long[dropped.size()];
    for (int i = 0; i < droppedRoots.length; i++) {
      droppedRoots[i] = dropped.get(i).rootPid();
    }
    RootMove move = root;
    session.grant(LogSession.space(bytes) + (move == null ? 0 : RootMove.SPACE));
    if (move != null && !move.latch()) {
      return false;
    }
    boolean put = false;
    try {
      long at = session.reserve(type, bytes);
      put(session.buffer(), at, ids, droppedIds, droppedRoots);
      put = true;
    } finally {
      if (!put) {
        session.cancel();
        if (move != null) {
          move.cancel();
        }
      }
    }
    logged = counts; // before complete(): a later failure does not undo the record
    session.complete();
    return true;
  }

  private static int[] treeIds(List<BTree> trees) {
    int[] ids = new int[trees.size()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = trees.get(i).treeId();
    }
    return ids;
  }

  private void put(MemorySegment to, long body, int[] ids, int[] droppedIds, long[] droppedRoots) {
    long at =
        SchemaRecord.put(
            to, body, ids, droppedIds, droppedRoots, size(), adopted.size(), releasedSize());
    for (Operation o : operations) {
      at = o.put(to, at, catalog.treeId());
    }
    for (TableEvent f : tableEvents) {
      at = CommitRecord.table(to, at, f.treeId, f.name, f.kind);
    }
    at = SchemaRecord.putPids(to, at, adopted);
    at = SchemaRecord.putPids(to, at, released);
    if (root != null) {
      Mem.putLong(to, at, root.from());
    }
  }

  private void install(Operation o) {
    install(
        engine,
        PAUSE_NANOS,
        () -> {
          if (o.len < 0) {
            catalog.remove(o.key, 0, o.keyLen, true, position, session);
          } else if (o.first != 0) {
            catalog.upsertChain(o.key, 0, o.keyLen, o.first, o.len, position, session);
          } else {
            catalog.upsertInline(o.key, 0, o.keyLen, o.value, 0, o.len, position, session);
          }
        });
  }

  /**
   * Runs a step of a commit that is in the log: it waits for frames and space, and repeats failed
   * reads.
   *
   * @param engine null during recovery, when nothing waits
   */
  static void install(@Nullable TxEngine engine, long pauseNanos, Runnable step) {
    for (int reads = 0; ; ) {
      try {
        step.run();
        return;
      } catch (PoolExhaustedException | StorageFullException e) {
        if (engine == null) {
          throw e;
        }
        engine.requireWaits(e);
      } catch (StorageException unread) {
        if (!unread.operation().equals(IoOp.READ.word()) || ++reads == READS_MAX) {
          throw unread;
        }
      }
      Waits.sleep(pauseNanos);
    }
  }

  private static final class Operation {
    private final byte[] keyBytes;
    private final byte @Nullable [] valueBytes;
    final int keyLen;

    /** The length of the value, or -1 to remove the record. */
    final int len;

    MemorySegment key = MemorySegment.NULL;
    MemorySegment value = MemorySegment.NULL;

    /** The first page of a long value, or 0. */
    long first;

    Operation(byte[] key, byte @Nullable [] value) {
      this.keyBytes = key;
      this.valueBytes = value;
      this.keyLen = key.length;
      this.len = value == null ? -1 : value.length;
    }

    void copy(Arena arena) {
      key = Mem.copyOf(keyBytes, arena);
      value = valueBytes == null ? key : Mem.copyOf(valueBytes, arena);
    }

    int bytes() {
      return len < 0
          ? CommitRecord.deleteBytes(keyLen)
          : first != 0 ? CommitRecord.chainBytes(keyLen) : CommitRecord.putBytes(keyLen, len);
    }

    long put(MemorySegment to, long at, int tree) {
      return len < 0
          ? CommitRecord.delete(to, at, tree, key, 0, keyLen)
          : first != 0
              ? CommitRecord.chain(to, at, tree, key, 0, keyLen, first, len)
              : CommitRecord.put(to, at, tree, key, 0, keyLen, value, 0, len);
    }
  }
}
