package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Multi-version timestamp ordering, after Reed and the dissertation (3.3.3): the serial order is
 * the order in which transactions begin, and a transaction that is too old for the newest version
 * reads an older one.
 *
 * <pre>
 *   begin    remember the tail of the versions, then t := the next number of the clock
 *   read     item not locked. wts &lt;= 2t: the tree holds the version; rts := max(rts, 2t)
 *            otherwise the version of the record with begin &lt;= 2t &lt; end, from {@link Versions}
 *   commit   lock the written items and successors; rts &lt;= 2t of each, or abort
 *            append; save the records to be overwritten; install; words := (2t + 1, 2t + 1)
 * </pre>
 *
 * <b>Serializability</b>, in the order of t. As in {@link Sto}, a write makes the newest version or
 * aborts, so the versions of an item are in the order of their writers. Let T read item i, and U
 * write it.
 *
 * <ul>
 *   <li>u &lt; t. If T finds wts &lt;= 2t, it raises rts, so U can't commit later; if U committed
 *       before, T reads its version or a later one below t. If T finds wts &gt; 2t, U can't commit
 *       later either, because rts &gt;= wts &gt; 2u. So an older version needs no rts.
 *   <li>u &gt; t. T does not see U's version: its wts is 2u + 1.
 * </ul>
 *
 * <b>Versions.</b> A commit saves, for each item that it locks, the record with begin = the wts
 * under the lock and end = 2u + 1; the content did not change in between, because every change
 * publishes. If no version covers a record (a wts raised without a write, two keys with one hash, a
 * ring that has wrapped), the reader aborts.
 *
 * <p><b>Scans.</b> At t, the interval contains the keys in the trees, those with wts &lt;= 2t as
 * they are and the others according to their versions (absent if inserted later), and the keys
 * deleted since, which only the versions contain. A transaction that deletes x publishes the item
 * of the first key above x, and by induction every later first key above x has a wts above 2t. So a
 * batch without such an item has missed nothing; a descending one rereads the item above it, to
 * which the gap before its first key belongs. A delete installed before the batch's leaf was copied
 * has saved its version before; one installed after the leaf's version was rechecked left the key
 * in the copy.
 *
 * <p><b>Differences from the dissertation.</b> Items are locked by the commit, not by the write.
 * Older versions are in a ring in memory, not in the tree. A write that belongs before the newest
 * version always aborts, because the tree can't hold it.
 */
final class Mvto {
  /** Result of a read: the newest version is too new. The wts is 0, as in all results here. */
  static final long OLD = 1L << TidWord.WTS_BITS;

  private static final String VERSION_GONE =
      "the version of a record that the transaction needs no longer exists";

  private final TxLife life;
  private final ConcurrencyControl concurrencyControl;
  private final Versions versions;
  private long start;

  // the records that this commit will overwrite
  private final Blocks memory;
  private MemorySegment staging = Blocks.NONE;
  private long staged;

  Mvto(ConcurrencyControl concurrencyControl, Versions versions) {
    this.life = concurrencyControl.life;
    this.concurrencyControl = concurrencyControl;
    this.versions = versions;
    this.memory = life.shared.memory;
  }

  /** Called before the transaction's number is drawn. */
  void begin() {
    start = versions.tail();
  }

  /** Returns 0, {@link #OLD}, or a locked word: wait, and read again. */
  static long readWord(ConcurrencyControl c, int slot) {
    Timestamps timestamps = c.timestamps;
    long word = timestamps.word(slot);
    if (TidWord.isLocked(word)) {
      return word;
    }
    if (TidWord.wts(word) > c.timestamp) {
      return OLD;
    }
    return timestamps.extend(slot, word, c.timestamp, false) ? 0 : TidWord.LOCK;
  }

  private RuntimeException missingVersion() {
    return versions.retains(start)
        ? life.abort(AbortCause.ORDER, VERSION_GONE)
        : life.abort(AbortCause.HISTORY, VERSION_GONE);
  }

  /** Reads a record whose newest version is too new; returns the same as {@link Tx#get}. */
  int read(
      BTree tree,
      long item,
      MemorySegment key,
      long offset,
      int length,
      MemorySegment out,
      long at,
      int cap) {
    long ts = concurrencyControl.timestamp;
    long prev;
    for (long p = versions.newest(item); p >= start && p > 0; p = prev) {
      prev = versions.prev(p);
      boolean match =
          versions.item(p) == item
              && versions.tree(p) == tree.treeId()
              && versions.keyLength(p) == length
              && versions.begin(p) <= ts
              && versions.end(p) > ts;
      int value = versions.valueLength(p);
      if (!versions.retains(p)) {
        break;
      }
      if (match
          && Mem.equal(versions.segment(), versions.keyOffset(p), length, key, offset, length)) {
        if (value > 0 && cap > 0) {
          Mem.copy(
              versions.segment(), versions.keyOffset(p) + length, out, at, Math.min(value, cap));
        }
        if (versions.retains(p)) {
          return value;
        }
        break;
      }
    }
    throw missingVersion();
  }

  /** Collects the changes since t in the keys that a batch covers. */
  void collect(ScanRange range, BTree tree, OldRecords to) {
    long ts = concurrencyControl.timestamp;
    to.clear();
    long end = versions.tail();
    for (long p = start; p < end; ) {
      if (!versions.retains(p)) {
        throw missingVersion();
      }
      long next = versions.next(p);
      boolean owned = versions.tree(p) == tree.treeId();
      if (!versions.retains(p)) {
        throw missingVersion();
      }
      if (!owned) {
        p = next; // another tree's, or a gap, which contains only these fields
        continue;
      }
      boolean wanted = versions.end(p) > ts;
      int key = versions.keyLength(p);
      int value = versions.valueLength(p);
      long began = versions.begin(p);
      long ended = versions.end(p);
      if (!versions.retains(p)) {
        throw missingVersion();
      }
      if (wanted) {
        int copy = to.stage(versions.segment(), versions.keyOffset(p), key + Math.max(0, value));
        if (!versions.retains(p)) {
          throw missingVersion();
        }
        if (range.covers(to.segment(), copy, key)) {
          to.keep(key, value, began, ended);
        }
      }
      p = next;
    }
  }

  /** Returns whether the transaction sees a collected record; aborts if that is unknown. */
  boolean isVisible(OldRecords old, int i) {
    if (old.begin(i) > concurrencyControl.timestamp) {
      throw missingVersion();
    }
    return old.valueLength(i) >= 0;
  }

  RuntimeException unknown() {
    return missingVersion();
  }

  /** Copies a record whose item is locked, for {@link #save}. */
  void stage(
      BTree tree, long item, int slot, MemorySegment key, long offset, int length, Position p) {
    int value = -1;
    for (int attempt = 0; ; attempt++) {
      if (p.found) {
        int cap = Math.max(0, value);
        ensureCapacity(Versions.size(length, cap));
        value = tree.copyValue(p, staging, staged + Versions.HEADER + length, cap);
        if (value > cap && tree.valid(p)) {
          continue; // retry with enough space
        }
      } else {
        value = -1;
      }
      if (tree.valid(p) && (!p.found || value >= 0)) {
        break;
      }
      value = -1;
      life.pause(attempt);
      tree.find(key, offset, length, p);
    }
    int size = Versions.size(length, value);
    ensureCapacity(size);
    Mem.putInt(staging, staged + Versions.SIZE, size);
    Mem.putInt(staging, staged + Versions.TREE, tree.treeId());
    Mem.putLong(staging, staged + Versions.ITEM, item);
    Mem.putLong(
        staging, staged + Versions.BEGIN, TidWord.wts(concurrencyControl.timestamps.word(slot)));
    Mem.putInt(staging, staged + Versions.KEY_LENGTH, length);
    Mem.putInt(staging, staged + Versions.VALUE_LENGTH, value);
    Mem.copy(key, offset, staging, staged + Versions.HEADER, length);
    staged += size;
  }

  private void ensureCapacity(int size) {
    if (staged + size > staging.byteSize()) {
      MemorySegment old = staging;
      MemorySegment larger = memory.take(Math.max(staged + size, 4 << 10));
      Mem.copy(old, 0, larger, 0, staged);
      staging = larger;
      memory.release(old);
    }
  }

  void save() {
    versions.lock();
    try {
      for (long at = 0; at < staged; at += Mem.getInt(staging, at + Versions.SIZE)) {
        // Not earlier: the pessimistic transaction draws its number when all items are locked.
        Mem.putLong(staging, at + Versions.END, concurrencyControl.timestamp + 1);
        versions.save(staging, at);
      }
    } finally {
      versions.unlock();
    }
    clear();
  }

  void clear() {
    staged = 0;
    if (staging.byteSize() > Scratch.KEEP_BYTES) {
      MemorySegment large = staging;
      staging = Blocks.NONE;
      memory.release(large);
    }
  }
}
