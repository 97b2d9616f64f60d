package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.io.KillPoint;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.recovery.SchemaRecord;
import io.fovea.txn.CommitRecord;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One change of a record of the catalog, as a SCHEMA record of the log and in the tree.
 *
 * <pre>
 *   value to a chain, if it is long ─► SCHEMA record ─► the catalog's tree ─► old chain freed
 *                                      │
 *                before: nothing has happened    after: it has, whatever fails
 * </pre>
 *
 * <p>With the record the trees that it publishes exist, and those that it drops do not. After it
 * nothing may fail: lack of frames or space is waited for, a read that fails is done again,
 * anything else stops the database, and the record is found when it is opened again.
 *
 * <p>Under the lock of the schema.
 */
final class CatalogChange {
  private static final long RETRY_NANOS = 30_000_000_000L;
  private static final long PAUSE_NANOS = 1_000_000;

  /** How often a page of the catalog is read in vain before the database stops. */
  private static final int READS_MAX = 32;

  private final TxEngine engine;
  private final BTree catalog;
  private final LogSession session;
  private final List<BTree> published = new ArrayList<>();
  private final List<BTree> dropped = new ArrayList<>();
  private final LongList adopted = new LongList();
  private final LongList released = new LongList();
  private final Position place = new Position();
  private boolean happened;

  CatalogChange(Store store) {
    this.engine = store.engine();
    this.catalog = store.catalog();
    this.session = store.session();
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

  /** Whether it is in the log: then it counts, even if {@link #put} or {@link #delete} threw. */
  boolean happened() {
    return happened;
  }

  /**
   * Sets a record.
   *
   * @return up to where the log must be durable; 0 without one
   */
  long put(byte[] key, byte[] value) {
    return run(key, value);
  }

  /** Removes a record, likewise. */
  long delete(byte[] key) {
    return run(key, null);
  }

  private long run(byte[] key, byte @Nullable [] value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment k = copy(arena, key);
      MemorySegment v = value == null ? k : copy(arena, value);
      int length = value == null ? -1 : value.length;
      session.begin(0);
      boolean done = false;
      try {
        change(k, key.length, v, length);
        done = true;
      } catch (Throwable t) {
        if (happened) {
          engine.poison(t);
        }
        throw t;
      } finally {
        if (!done && !happened) {
          catalog.freeChain(adopted, session);
        }
        // A change that is in the log and not in the tree holds back the redo point for good.
        if (done || !happened) {
          session.end();
        }
      }
    }
    return session.logging() ? session.recordEnd() : 0;
  }

  private static MemorySegment copy(Arena arena, byte[] bytes) {
    MemorySegment s = arena.allocate(Math.max(8, bytes.length), 8);
    Mem.putBytes(s, 0, bytes, 0, bytes.length);
    return s;
  }

  private void change(MemorySegment key, int keyLen, MemorySegment value, int len) {
    catalog.checkSizes(keyLen, Math.max(0, len));
    if (catalog.mayHoldLong()) {
      catalog.chain(key, 0, keyLen, place, released);
    }
    long first = 0;
    if (len > catalog.inlineMax()) {
      first = catalog.writeChain(value, 0, len, adopted, session);
    }
    if (session.logging()) {
      append(key, keyLen, value, len, first);
    }
    happened = true;
    KillPoint.here("schema.appended");
    install(key, keyLen, value, len, first);
    catalog.freeChain(released, session);
  }

  private void append(MemorySegment key, int keyLen, MemorySegment value, int len, long first) {
    int op =
        len < 0
            ? CommitRecord.deleteBytes(keyLen)
            : first != 0 ? CommitRecord.chainBytes(keyLen) : CommitRecord.putBytes(keyLen, len);
    int bytes =
        SchemaRecord.bytes(published.size(), dropped.size(), op, adopted.size(), released.size());
    int[] ids = published.stream().mapToInt(BTree::treeId).toArray();
    int[] droppedIds = dropped.stream().mapToInt(BTree::treeId).toArray();
    long[] droppedRoots = dropped.stream().mapToLong(BTree::rootPid).toArray();
    session.grant(LogSession.space(bytes));
    long at = session.reserve(RecordType.SCHEMA, bytes);
    MemorySegment to = session.buffer();
    at =
        SchemaRecord.put(to, at, ids, droppedIds, droppedRoots, 1, adopted.size(), released.size());
    int tree = catalog.treeId();
    if (len < 0) {
      at = CommitRecord.delete(to, at, tree, key, 0, keyLen);
    } else if (first != 0) {
      at = CommitRecord.chain(to, at, tree, key, 0, keyLen, first, len);
    } else {
      at = CommitRecord.put(to, at, tree, key, 0, keyLen, value, 0, len);
    }
    at = SchemaRecord.putPids(to, at, adopted);
    SchemaRecord.putPids(to, at, released);
    session.complete();
    session.position(session.recordStart(), session.recordEnd());
  }

  private void install(MemorySegment key, int keyLen, MemorySegment value, int len, long first) {
    long deadline = System.nanoTime() + RETRY_NANOS;
    int reads = 0;
    while (true) {
      try {
        if (len < 0) {
          catalog.remove(key, 0, keyLen, true, place, session);
        } else if (first != 0) {
          catalog.upsertChain(key, 0, keyLen, first, len, place, session);
        } else {
          catalog.upsertInline(key, 0, keyLen, value, 0, len, place, session);
        }
        return;
      } catch (PoolExhaustedException | StorageFullException e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
        Waits.sleep(PAUSE_NANOS);
      } catch (StorageException unread) {
        if (!unread.operation().equals(IoOp.READ.word()) || ++reads == READS_MAX) {
          throw unread;
        }
        Waits.sleep(PAUSE_NANOS);
      }
    }
  }
}
