package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.btree.TreeCounts;
import io.fovea.btree.TreeWalk;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.store.Store;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The counts of trees in the catalog of a closed file. All numbers are big-endian.
 *
 * <pre>
 *   "c"             version (1) · number (8)                   of the close that wrote the counts
 *   "c" · tree id   version (1) · records (8) · bytes (8)
 * </pre>
 *
 * <p>The counts are valid if the superblock contains the same number: a close writes the changed
 * counts, then the number, then the superblock. If it cannot write them for lack of space, the
 * number in the superblock is 0. While the database is open these counts are stale, and the log
 * contains newer ones ({@link io.fovea.recovery.CountsRecord}). Requires the schema lock.
 */
final class StoredCounts {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final byte KEY = 'c';
  private static final byte VERSION = 1;
  private static final int NUMBER_BYTES = 9;
  private static final int COUNTS_BYTES = 17;

  /** The maximum number of catalog records in one change. */
  private static final int PIECE = 64;

  private final @Nullable TxEngine engine;
  private final BTree catalog;
  private final LogSession session;

  /** Pending changes; a null value deletes. */
  private final TreeMap<byte[], byte @Nullable []> todo = new TreeMap<>(Arrays::compare);

  /** Whether a change is in the log but incomplete in the catalog. */
  private boolean halfway;

  private StoredCounts(@Nullable TxEngine engine, BTree catalog, LogSession session) {
    this.engine = engine;
    this.catalog = catalog;
    this.session = session;
  }

  // -------------------------------------------------------------------------------------- reading

  /** Visits the counts in a catalog, the number first. */
  static void forEach(BTree catalog, Recovery.TreeVisitor visitor) {
    long[] number = {0};
    TreeMap<Integer, RecoveredRowCounts.Counts> trees = new TreeMap<>();
    TreeWalk.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen != 1 && kLen != 5 || Mem.getByte(k, kOff) != KEY) {
            return;
          }
          int expected = kLen == 1 ? NUMBER_BYTES : COUNTS_BYTES;
          if (vLen != expected || Mem.getByte(v, vOff) != VERSION) {
            throw new CorruptionException("the catalog's record of counts", -1, -1, expected, vLen);
          }
          ByteBuffer value = ByteBuffer.wrap(Mem.bytes(v, vOff + 1, vLen - 1));
          if (kLen == 1) {
            number[0] = value.getLong();
          } else {
            int id = ByteBuffer.wrap(Mem.bytes(k, kOff + 1, 4)).getInt();
            trees.put(id, new RecoveredRowCounts.Counts(value.getLong(), value.getLong()));
          }
        });
    visitor.counted(number[0]);
    trees.forEach((id, c) -> visitor.counted(id, c.records(), c.bytes()));
  }

  /** The counts in a catalog, valid or not. */
  private static final class Found implements Recovery.TreeVisitor {
    private final Map<Integer, RecoveredRowCounts.Counts> trees = new TreeMap<>();
    private long number;

    static Found in(BTree catalog) {
      Found found = new Found();
      forEach(catalog, found);
      return found;
    }

    @Override
    public void tree(int treeId, long rootPid) {}

    @Override
    public void counted(long n) {
      number = n;
    }

    @Override
    public void counted(int treeId, long records, long bytes) {
      trees.put(treeId, new RecoveredRowCounts.Counts(records, bytes));
    }
  }

  /** Returns the known counts of an open store. */
  static RecoveredRowCounts of(Store store) {
    RecoveredRowCounts known = store.recoveredRowCounts();
    if (known != null) {
      return known;
    }
    known = new RecoveredRowCounts();
    Found found = Found.in(store.catalog());
    if (found.number != 0 && found.number == store.countsNumber()) {
      for (Map.Entry<Integer, RecoveredRowCounts.Counts> e : found.trees.entrySet()) {
        known.put(e.getKey(), e.getValue().records(), e.getValue().bytes());
      }
    }
    return known;
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Writes the counts while they do not change.
   *
   * @return the number for the superblock; 0 if they could not be written
   */
  static long save(Store store, List<BTree> trees) {
    RecoveredRowCounts known = new RecoveredRowCounts();
    for (BTree tree : trees) {
      TreeCounts c = tree.counts();
      if (c.isKnown()) {
        known.put(tree.treeId(), c.records(), c.bytes());
      }
    }
    StoredCounts s = new StoredCounts(store.engine(), store.catalog(), store.session());
    return s.trySave(trees.stream().map(BTree::treeId).toList(), known, store.countsNumber());
  }

  /** Writes the counts of a file that is closed immediately after recovery. */
  static long save(BTree catalog, LogSession session, long number, RecoveredRowCounts known) {
    List<Integer> trees = new ArrayList<>();
    Schema.trees(catalog, (id, root) -> trees.add(id));
    return new StoredCounts(null, catalog, session).trySave(trees, known, number);
  }

  private long trySave(List<Integer> trees, RecoveredRowCounts known, long before) {
    try {
      return save(trees, known, before);
    } catch (FoveaException | OutOfMemoryError e) {
      if (halfway) {
        throw e; // only recovery can complete the change
      }
      LOG.log(
          Level.DEBUG,
          "The counts of tables could not be written. The records will be counted again.",
          e);
      return 0;
    }
  }

  private long save(List<Integer> trees, RecoveredRowCounts known, long before) {
    Found found = Found.in(catalog);
    for (int id : trees) {
      RecoveredRowCounts.Counts now = known.get(id);
      if (now != null && !now.equals(found.trees.remove(id))) {
        put(key(id), value(now));
      }
    }
    for (int gone : found.trees.keySet()) {
      put(key(gone), null);
    }
    flush();
    long number = Math.max(found.number, before) + 1;
    put(new byte[] {KEY}, ByteBuffer.allocate(NUMBER_BYTES).put(VERSION).putLong(number).array());
    flush();
    return number;
  }

  private static byte[] key(int treeId) {
    return ByteBuffer.allocate(5).put(KEY).putInt(treeId).array();
  }

  private static byte[] value(RecoveredRowCounts.Counts c) {
    return ByteBuffer.allocate(COUNTS_BYTES)
        .put(VERSION)
        .putLong(c.records())
        .putLong(c.bytes())
        .array();
  }

  private void put(byte[] key, byte @Nullable [] value) {
    todo.put(key, value);
    if (todo.size() == PIECE) {
      flush();
    }
  }

  private void flush() {
    if (todo.isEmpty()) {
      return;
    }
    if (session.isLogging()) {
      CatalogChange change = new CatalogChange(engine, catalog, session);
      todo.forEach(
          (k, v) -> {
            if (v == null) {
              change.delete(k);
            } else {
              change.put(k, v);
            }
          });
      try {
        change.run();
      } finally {
        halfway = change.logged && !change.complete;
      }
    } else {
      // Each write is atomic, and no count is valid before the superblock is written.
      try (Arena arena = Arena.ofConfined()) {
        Position position = new Position();
        todo.forEach((k, v) -> write(arena, k, v, position));
      }
    }
    todo.clear();
  }

  private void write(Arena arena, byte[] key, byte @Nullable [] value, Position position) {
    MemorySegment k = Mem.copyOf(key, arena);
    if (value == null) {
      catalog.remove(k, 0, key.length, true, position, LogSession.NONE);
    } else {
      MemorySegment v = Mem.copyOf(value, arena);
      catalog.upsertInline(k, 0, key.length, v, 0, value.length, position, LogSession.NONE);
    }
  }
}
