package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.buffer.BufferPool;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Timestamps in pages: a tree from item to {@link TidWord}, in a separate pool and file. The key is
 * the item, 8 bytes big-endian; the value is the unlocked word, 8 bytes, overwritten in place; an
 * absent item is (0, 0).
 *
 * <p><b>The cost</b> equals that of timestamps in the records (the dissertation's <i>Disk</i>):
 * each use of timestamps is a page access, a device read if the page is not in the pool, and a page
 * write if they change, even for a validated read. The pool gets the share of the buffer that
 * timestamps in records would take.
 *
 * <p><b>Nothing is logged or kept</b>: timestamps do not survive the process. The file is recreated
 * when the database is opened; neither recovery nor backups know of it.
 *
 * <p><b>A full disk</b> must not prevent reads, which may have to store another item's timestamps.
 * A word that finds no page raises a bound of all items for good. That preserves the invariant of
 * {@link ColdTimestamps}, and may abort transactions that began before.
 *
 * <p>Calls for one item exclude each other by the column's lock. They may wait for the device.
 */
public final class TimestampPages {
  private static final int TREE_ID = 1;
  private static final int KEY = 0;
  private static final int WORD = 8;
  private static final int BYTES = 16;

  private static final VarHandle BOUND;

  static {
    try {
      BOUND = MethodHandles.lookup().findVarHandle(TimestampPages.class, "bound", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final BufferPool pool;
  private final BTree tree;
  private final Access[] contexts;

  /** The field-wise maximum of all words that found no page; 0 if there are none. */
  private volatile long bound;

  private static final class Access {
    final Position position = new Position();
    final MemorySegment memory = Arena.ofAuto().allocate(BYTES, 8);
  }

  /** Creates an empty store in a pool over an empty device; the caller closes the pool. */
  public TimestampPages(BufferPool pool, int maxContexts) {
    this.pool = pool;
    this.tree = BTree.create(pool, TREE_ID, LogSession.NONE).declareMaxValueSize(Long.BYTES);
    this.contexts = new Access[maxContexts];
    for (int i = 0; i < maxContexts; i++) {
      contexts[i] = new Access();
    }
  }

  /** Loads an item's page into the pool, to shorten the time under a lock. */
  void fetch(int ctx, long item) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    tree.find(a.memory, KEY, Long.BYTES, a.position);
  }

  /** Returns the word of an item that has no entry in the exact table. */
  long get(int ctx, long item) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    long word = read(a);
    // In any order: a put of this item has ended before this get began.
    long min = bound;
    return min == 0 ? word : TidWord.max(word, min);
  }

  private long read(Access a) {
    Position p = a.position;
    while (true) {
      tree.locate(a.memory, KEY, Long.BYTES, p);
      boolean stored = p.found && tree.copyValue(p, a.memory, WORD, Long.BYTES) == Long.BYTES;
      boolean absent = !p.found;
      if ((stored || absent) && tree.valid(p)) {
        return stored ? Mem.getLong(a.memory, WORD) : 0;
      }
      Thread.onSpinWait();
    }
  }

  /** Stores a word, not below the current one. An equal word does not dirty the page. */
  void put(int ctx, long item, long word) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    long unlocked = TidWord.withoutLock(word);
    if (read(a) == unlocked) {
      return;
    }
    Mem.putLong(a.memory, WORD, unlocked);
    try {
      tree.upsertInline(
          a.memory, KEY, Long.BYTES, a.memory, WORD, Long.BYTES, a.position, LogSession.NONE);
    } catch (StorageFullException | PoolExhaustedException lacking) {
      raise(unlocked);
    }
  }

  private void raise(long word) {
    for (long old = bound; !BOUND.compareAndSet(this, old, TidWord.max(old, word)); old = bound) {
      Thread.onSpinWait();
    }
  }

  long reads() {
    return pool.stats().misses();
  }

  long writes() {
    return pool.stats().pagesWritten();
  }

  long bytes() {
    return pool.stats().bytes();
  }
}
