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
 * Timestamps in pages: a tree from item to {@link TidWord}, in a separate pool and file.
 *
 * <pre>
 *   key     item, 8 bytes big-endian: a hash, so neighbours in a page have nothing in common
 *   value   the unlocked word, 8 bytes; overwritten where it is
 *   absent  (0, 0)
 * </pre>
 *
 * <p><b>What it costs</b> is what timestamps in the records cost (the dissertation's <i>Disk</i>):
 * each access of timestamps is an access of a page, a read where the page is not in the pool, and a
 * dirty page to write where they have moved, a validated read's too. The pool is cut from the
 * buffer's budget by the share that timestamps would take of the records' pages. Two things differ.
 * A record that is read brings no timestamps along, so that a reader pays a page access more; in
 * return no record is longer. And a blind write pays one page access, as there; with the timestamps
 * in the leaf of a B-tree it would pay none, for the leaf is read anyway.
 *
 * <p><b>Nothing is logged</b>, and nothing is kept: timestamps order transactions that run together
 * or one after another in one process, and none of them survives it. The file is made anew when the
 * database is opened, so no page of it can leak, and neither recovery nor backups know it.
 *
 * <p><b>A full disk</b> must not keep anybody from reading, and who reads an item may have to put
 * another one away. A word that finds no page raises one bound that every {@link #get} is at or
 * above: of all items, for good. That keeps {@link ColdTimestamps}'s promise, and costs aborts: of
 * who began before and meets an item that seems younger than it is.
 *
 * <p>Calls for one item exclude each other (the column's lock); others run side by side. May wait
 * for the device.
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

  /** The larger of all words, field by field, that found no page; 0 where all did. */
  private volatile long bound;

  /** A context's scratch. */
  private static final class Access {
    final Position position = new Position();
    final MemorySegment memory = Arena.ofAuto().allocate(BYTES, 8);
  }

  /**
   * An empty store.
   *
   * @param pool over an empty device; stays the caller's, who closes it afterwards
   * @param maxContexts contexts are numbered from 0 below this
   */
  public TimestampPages(BufferPool pool, int maxContexts) {
    this.pool = pool;
    this.tree = BTree.create(pool, TREE_ID, LogSession.NONE).valuesUpTo(Long.BYTES);
    this.contexts = new Access[maxContexts];
    for (int i = 0; i < maxContexts; i++) {
      contexts[i] = new Access();
    }
  }

  /** Brings an item's page into the pool, as far as it stays there: so that a lock waits less. */
  void fetch(int ctx, long item) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    tree.find(a.memory, KEY, Long.BYTES, a.position);
  }

  /** The word of an item that has no entry in the exact table. */
  long get(int ctx, long item) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    long word = look(a);
    // After the look, or before: a put of this item has ended before this get began.
    long least = bound;
    return least == 0 ? word : TidWord.max(word, least);
  }

  private long look(Access a) {
    Position p = a.position;
    while (true) {
      tree.locate(a.memory, KEY, Long.BYTES, p);
      boolean there = p.found && tree.copyValue(p, a.memory, WORD, Long.BYTES) == Long.BYTES;
      boolean absent = !p.found;
      if ((there || absent) && tree.valid(p)) {
        return there ? Mem.getLong(a.memory, WORD) : 0;
      }
      Thread.onSpinWait();
    }
  }

  /**
   * Keeps an item's word, which is not below the one that is there. A page stays clean if equal.
   */
  void put(int ctx, long item, long word) {
    Access a = contexts[ctx];
    Mem.putLongBE(a.memory, KEY, item);
    long unlocked = TidWord.withoutLock(word);
    if (look(a) == unlocked) {
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

  /** Pages that were read because they were not in the pool. */
  long reads() {
    return pool.stats().misses();
  }

  /** Pages that were written. */
  long writes() {
    return pool.stats().pagesWritten();
  }

  /** Native memory in use. */
  long bytes() {
    return pool.stats().bytes();
  }
}
