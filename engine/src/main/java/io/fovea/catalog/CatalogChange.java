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
 * A change of records of the catalog, as one SCHEMA record of the log and in the tree.
 *
 * <pre>
 *   long values to chains ─► SCHEMA record ─► the catalog's tree ─► old chains freed
 *                            │
 *      before: nothing has happened    after: it has, whatever fails
 * </pre>
 *
 * <p>With the record the trees that it publishes exist, and those that it drops do not. After it
 * nothing may fail: pages for splits were promised before, lack of frames is waited for, a read
 * that fails is done again, anything else stops the database, and the record is found when it is
 * opened again.
 *
 * <p>It may also be a part of the commit of a transaction ({@link CatalogTransaction}), which then
 * takes the steps one by one, with its own session: {@link #stage}, {@link #append}, {@link
 * #install}, {@link #release}; or {@link #undo}.
 *
 * <p>Under the lock of the schema.
 */
public final class CatalogChange {
  private static final long PAUSE_NANOS = 1_000_000;

  /** How often a page of the catalog is read in vain before the database stops. */
  private static final int READS_MAX = 32;

  /** Null while a file is recovered: then nothing is waited for. */
  private final @Nullable TxEngine engine;

  private final BTree catalog;
  private LogSession session;
  private final List<BTree> published = new ArrayList<>();
  private final List<BTree> dropped = new ArrayList<>();
  private final List<Operation> operations = new ArrayList<>();

  /** What becomes of tables, for who follows changes: nothing of it is in the tree. */
  private final List<Fate> fates = new ArrayList<>();

  private record Fate(int treeId, byte[] name, int how) {}

  /** The root that moves with it. */
  private @Nullable RootMove root;

  private final LongList adopted = new LongList();
  private final LongList released = new LongList();
  private final Position place = new Position();

  /** Whether it is in the log: then it counts, even if {@link #run} threw. */
  boolean happened;

  /**
   * Whether it is in the tree and in memory too. One that happened and is not whole has stopped the
   * engine, and sessions that hold back the redo point go on doing so.
   */
  boolean whole;

  CatalogChange(Store store) {
    this(store.engine(), store.catalog(), store.session());
  }

  CatalogChange(@Nullable TxEngine engine, BTree catalog, LogSession session) {
    this.engine = engine;
    this.catalog = catalog;
    this.session = session;
  }

  /** A tree that the catalog knows from here on. */
  CatalogChange publishes(BTree tree) {
    published.add(tree);
    return this;
  }

  /** A tree that the catalog knows no longer. */
  CatalogChange drops(BTree tree) {
    dropped.add(tree);
    return this;
  }

  /** Sets a record. */
  CatalogChange put(byte[] key, byte[] value) {
    operations.add(new Operation(key, value));
    return this;
  }

  /**
   * The root of a tree moves with the record, at the same moment. If that is not possible any more
   * when it comes to it, nothing is changed at all: {@link #happened} says so.
   */
  CatalogChange moves(RootMove move) {
    root = move;
    return this;
  }

  /** The tree is a table with this name from here on, or has been before. */
  CatalogChange isTable(BTree tree, String name) {
    return fate(tree, name, CommitRecord.IS);
  }

  /** The same, with records that no commit has put there. */
  CatalogChange isLoaded(BTree tree, String name) {
    return fate(tree, name, CommitRecord.LOADED);
  }

  /** The tree is no table any more. */
  CatalogChange isGone(BTree tree) {
    return fate(tree, "", CommitRecord.GONE);
  }

  private CatalogChange fate(BTree tree, String name, int how) {
    fates.add(new Fate(tree.treeId(), name.getBytes(StandardCharsets.UTF_8), how));
    return this;
  }

  /** Removes a record, where there is one. */
  CatalogChange delete(byte[] key) {
    operations.add(new Operation(key, null));
    return this;
  }

  /**
   * Makes the change, as a whole or not at all.
   *
   * @return up to where the log must be durable; 0 without one
   */
  long run() {
    return run(() -> {});
  }

  /**
   * Makes the change, as a whole or not at all.
   *
   * @param follows what follows in memory. If it fails, memory says something else than the
   *     catalog, so the database stops
   * @return up to where the log must be durable; 0 without one
   * @throws io.fovea.error.DatabaseClosedException if an earlier failure stopped the database
   */
  long run(Runnable follows) {
    if (engine != null) {
      engine.checkUsable(false); // the change before this one may have ended halfway
    }
    try (Arena arena = Arena.ofConfined()) {
      operations.forEach(o -> o.copy(arena));
      session.begin(0);
      try {
        if (!change()) {
          return 0;
        }
        follows.run();
        whole = true;
      } catch (Throwable t) {
        if (happened && engine != null) {
          engine.poison(t);
        }
        throw t;
      } finally {
        try {
          if (root != null) {
            root.giveUp(); // whatever failed: nobody waits for its latch
          }
        } finally {
          try {
            if (!happened) {
              catalog.freeChain(adopted, session);
            }
          } finally {
            // Halfway it holds back the redo point for good.
            if (whole || !happened) {
              session.end();
              catalog.pool().promises().release(session, 0);
            }
          }
        }
      }
    }
    return session.logging() ? session.recordEnd() : 0;
  }

  private boolean change() {
    stageAll();
    if (session.logging()) {
      promisePages();
      if (!appendSchema()) {
        return false;
      }
    } else if (root != null && !root.latch()) {
      return false;
    }
    happened = true; // without a log, here
    if (root != null) {
      root.happened(session);
    }
    operations.forEach(this::install);
    catalog.freeChain(released, session);
    return true;
  }

  private void stageAll() {
    for (Operation o : operations) {
      catalog.checkSizes(o.keyLen, Math.max(0, o.len));
    }
    for (Operation o : operations) {
      if (catalog.mayHoldLong()) {
        catalog.chain(o.key, 0, o.keyLen, place, released);
      }
      if (o.len > catalog.inlineMax()) {
        o.first = catalog.writeChain(o.value, 0, o.len, adopted, session);
      }
    }
  }

  // ------------------------------------------------------------------------ as a part of a commit

  /** Writes long values with a session that is under way, and goes on with it. */
  void stage(LogSession own, Arena arena) {
    session = own;
    operations.forEach(o -> o.copy(arena));
    stageAll();
  }

  /** How long its record is. */
  int recordBytes() {
    int opBytes =
        operations.stream().mapToInt(Operation::bytes).sum()
            + fates.stream().mapToInt(f -> CommitRecord.tableBytes(f.name.length)).sum();
    return SchemaRecord.bytes(
        published.size(), dropped.size(), opBytes, adopted.size(), releasedSize());
  }

  private int releasedSize() {
    return released.size() + (root == null ? 0 : 1);
  }

  /** How many operations it has. */
  int size() {
    return operations.size() + fates.size();
  }

  /** Appends the record as a part of a commit; returns where it begins. */
  long append() {
    append(RecordType.CATALOG, false);
    return session.recordStart();
  }

  /** The commit is in the log, and the session stands at it. */
  void install() {
    operations.forEach(this::install);
  }

  /** Frees long values that the catalog had. */
  void release() {
    catalog.freeChain(released, session);
  }

  /** The commit is not in the log. */
  void undo() {
    catalog.freeChain(adopted, session);
  }

  // ------------------------------------------------------------------------------------- its steps

  /** How many records it adds, or makes longer, at most. */
  int inserts() {
    return (int) operations.stream().filter(o -> o.len >= 0).count();
  }

  /** How many bytes these have. */
  long bytes() {
    return operations.stream().filter(o -> o.len >= 0).mapToLong(o -> o.keyLen + o.len).sum();
  }

  /** What the changes may split is promised before they are in the log. */
  private void promisePages() {
    PageReservations promises = catalog.pool().promises();
    promises.promise(session, promises.pagesFor(inserts(), bytes()));
  }

  private boolean appendSchema() {
    if (!append(RecordType.SCHEMA, true)) {
      return false;
    }
    session.position(session.recordStart(), session.recordEnd());
    return true;
  }

  /** False where the root can't move: nothing has happened. */
  private boolean append(int type, boolean counts) {
    int bytes = recordBytes();
    int[] ids = published.stream().mapToInt(BTree::treeId).toArray();
    int[] droppedIds = dropped.stream().mapToInt(BTree::treeId).toArray();
    long[] droppedRoots = dropped.stream().mapToLong(BTree::rootPid).toArray();
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
          move.giveUp();
        }
      }
    }
    happened = counts; // before the log knows: whatever fails from here on comes too late
    session.complete();
    return true;
  }

  private void put(MemorySegment to, long body, int[] ids, int[] droppedIds, long[] droppedRoots) {
    long at =
        SchemaRecord.put(
            to, body, ids, droppedIds, droppedRoots, size(), adopted.size(), releasedSize());
    for (Operation o : operations) {
      at = o.put(to, at, catalog.treeId());
    }
    for (Fate f : fates) {
      at = CommitRecord.table(to, at, f.treeId, f.name, f.how);
    }
    at = SchemaRecord.putPids(to, at, adopted);
    at = SchemaRecord.putPids(to, at, released);
    if (root != null) {
      Mem.putLong(to, at, root.from());
    }
  }

  private void install(Operation o) {
    int reads = 0;
    while (true) {
      try {
        if (o.len < 0) {
          catalog.remove(o.key, 0, o.keyLen, true, place, session);
        } else if (o.first != 0) {
          catalog.upsertChain(o.key, 0, o.keyLen, o.first, o.len, place, session);
        } else {
          catalog.upsertInline(o.key, 0, o.keyLen, o.value, 0, o.len, place, session);
        }
        return;
      } catch (PoolExhaustedException | StorageFullException e) {
        requireWaits(e);
        Waits.sleep(PAUSE_NANOS);
      } catch (StorageException unread) {
        if (!unread.operation().equals(IoOp.READ.word()) || ++reads == READS_MAX) {
          throw unread;
        }
        Waits.sleep(PAUSE_NANOS);
      }
    }
  }

  private void requireWaits(RuntimeException lacking) {
    if (engine == null) {
      throw lacking;
    }
    engine.requireWaits(lacking);
  }

  /** One record of the catalog, set or removed. */
  private static final class Operation {
    private final byte[] keyBytes;
    private final byte @Nullable [] valueBytes;
    final int keyLen;

    /** Below 0: removed. */
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
      key = copy(arena, keyBytes);
      value = valueBytes == null ? key : copy(arena, valueBytes);
    }

    private static MemorySegment copy(Arena arena, byte[] bytes) {
      MemorySegment s = arena.allocate(Math.max(8, bytes.length), 8);
      Mem.putBytes(s, 0, bytes, 0, bytes.length);
      return s;
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
