package io.fovea.txn;

import io.fovea.btree.LeafScan;
import io.fovea.btree.Position;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The installed keys of a scan's interval, in batches, each of which is a read.
 *
 * <p><b>Atomicity.</b> A batch is a copy of keys from a leaf copy. The items' words are read and
 * found unlocked, and then the leaf's version is found to be the one from before the copy. By the
 * argument in {@link TxReads}, words and keys belong together. If an ascending batch begins in a
 * different leaf from that of the last key, all leaves from the last key's to the new one must
 * still have their versions ({@link LeafScan#stillValid}); otherwise a key could have been
 * installed behind the scan, and would have changed the word of the new leaf's first key before it
 * was read. In a descending scan, the gap below its last key belongs to that key's item, which is
 * reread with the batch that contains the gap. Batches grow (1, 4, 16, 64 keys), so that a scan for
 * one key reads one item and a long one checks few versions.
 *
 * <p><b>Runs of empty leaves</b> may be longer than the pool, so that versions are lost. An attempt
 * therefore needs either unchanged versions, or words that were unlocked and equal before the
 * copies, read by a failed attempt, and after them. A commit that installs or removes a key holds
 * the locks of its item and the next one from before the change until both wts have risen to new
 * values (for a changed record: its own item). So between the two reads no commit published
 * anything that the batch depends on, and none was installing at either; what was published before
 * is in the copies. This does not apply if an older version is needed, whose word says less.
 *
 * <p><b>By leaves.</b> A retried read-only transaction reads no items: its commit checks the leaves
 * that were copied ({@link LeafReads}). The copies cover everything passed, because each begins at
 * the fence where the last one ended, so the items above the interval and above batches are not
 * needed.
 */
abstract class ScanBatches extends ScanRange {
  private static final int BATCH_MAX = 64;

  final ConcurrencyControl concurrencyControl;
  final LeafScan leaf;
  final int keysBytes;
  private final TxLife life;
  private final Workspace work;
  private final ReadSet reads;
  private final TxReads reader;
  private final LeafReads leaves;

  private boolean byLeaves;

  private boolean itemsOnly;

  /** By leaves: the slot in the copy after the interval's end, in the scan's direction. */
  private int stop;

  /** By leaves: whether the interval ends in the copy. */
  private boolean ends;

  /** Whether what is read must be durable before it is returned. */
  private final boolean waits;

  private final LeafScan above;

  // the leaf copy
  private boolean positioned;

  private int readsBefore;

  private int slot;
  private boolean boundRead;

  /** The item of the key above the next batch of a descending scan; 0: none. */
  private long upperItem;

  private boolean finished;

  // the batch: whole keys in sequence, their leaf slots (negative: the record is in old, at -1 -
  // slot), items and handles
  MemorySegment keys = Blocks.NONE;
  int[] keyOffsets = new int[BATCH_MAX + 1];
  int[] slots = new int[BATCH_MAX];
  long[] items = new long[BATCH_MAX + 1];
  int[] handles = new int[BATCH_MAX + 1];
  private final boolean[] tooNew = new boolean[BATCH_MAX + 1];
  private int batchTarget;

  /** The end of the batch being filled: a key; negative: the end of the interval. */
  private int coverFrom;

  private int coverLength;
  int batchSize;
  int batchAt;

  /** With versions: the old records in the range of keys that the batch covers. */
  final @Nullable OldRecords old;

  /** With versions: the batch after merging. */
  private final @Nullable ScanBatch merged;

  private long pageAccessesTaken;

  ScanBatches(TxLife life, Workspace work, ConcurrencyControl concurrencyControl, TxReads reader) {
    super(life.shared.memory, life.shared.pageSize);
    this.life = life;
    this.work = work;
    this.reads = work.reads;
    this.concurrencyControl = concurrencyControl;
    this.reader = reader;
    this.leaves = work.leaves;
    this.waits = life.shared.waits;
    this.keysBytes = Math.max(life.shared.pageSize, 8 << 10);
    this.leaf = new LeafScan(memory);
    this.above = new LeafScan(memory);
    this.old = concurrencyControl.versioned ? new OldRecords(memory) : null;
    this.merged = concurrencyControl.versioned ? new ScanBatch(memory) : null;
  }

  /** Begins at the start of the {@link ScanRange}. */
  final void openBatches() {
    if (keys.byteSize() == 0) {
      keys = memory.take(keysBytes);
    }
    byLeaves = !itemsOnly && leaves.take(tree);
    leaf.collectVersions(byLeaves ? leaves.versionsOfScans() : null);
    beginBatches();
    finished = false;
    batchTarget = 1;
    batchSize = 0;
    batchAt = 0;
  }

  /** Discards what was read ahead of the current position. */
  private void beginBatches() {
    positioned = false;
    boundRead = !descending;
    upperItem = 0;
  }

  final void allowLeaves() {
    itemsOnly = false;
  }

  /**
   * Makes the scan read items, for a tree whose readers repair hints. Called before the first
   * {@code next}.
   */
  public final void readItemsOnly() {
    itemsOnly = true;
    continueByItems();
  }

  /** Switches to items. A descending scan rereads the item above, which is that of the last key. */
  private void continueByItems() {
    byLeaves = false;
    leaf.collectVersions(null);
    beginBatches();
  }

  final void finish() {
    finished = true;
  }

  final void freeBatches() {
    leaf.free();
    above.free();
    freeKeys();
    if (old != null) {
      old.free();
    }
    if (merged != null) {
      merged.free();
    }
  }

  /** Releases excess memory of old records at the end of the scan. */
  final void shrinkBatches(long keepBytes) {
    OldRecords o = old;
    ScanBatch b = merged;
    if (o != null && b != null && o.memoryBytes() > keepBytes) {
      o.free();
      b.free(); // the batch had space for all of the old ones
      freeKeys();
    }
  }

  private void freeKeys() {
    MemorySegment was = keys;
    keys = Blocks.NONE;
    memory.release(was);
  }

  final long takePageAccesses() {
    long all = leaf.pageAccesses() + above.pageAccesses();
    long since = all - pageAccessesTaken;
    pageAccessesTaken = all;
    return since;
  }

  /** Takes the next batch from the tree; returns false at the end of the interval. */
  final boolean fill() {
    batchSize = 0;
    batchAt = 0;
    if (finished) {
      return false;
    }
    do {
      if (byLeaves) {
        if (!leaves.isFull()) {
          fillByLeaves();
          continue;
        }
        continueByItems();
      }
      for (int attempt = 0; !tryFill(); attempt++) {
        positioned = false; // the leaf changed: seek the last key again
        if (attempt > 64) {
          life.pause(attempt);
        }
      }
      // With versions, all keys of a batch may be too new.
    } while (batchSize == 0 && !finished);
    if (batchTarget < BATCH_MAX) {
      batchTarget *= 4;
    }
    return batchSize > 0;
  }

  private boolean tryFill() {
    if (!boundRead && !readBound()) {
      return false;
    }
    boolean more = isOnLeaf() || loadLeaf();
    int n = 0;
    boolean last = !more;
    long beyond = descending ? upperItem : more ? 0 : tree.endHash();
    int keyEnd = 0;
    while (more && n < batchTarget && slot >= leaf.from() && slot < leaf.to()) {
      if (keyEnd + keyBytesMax > keys.byteSize()) {
        break; // the rest is for the next batch; one key always fits
      }
      int length = leaf.copyKey(slot, keys, keyEnd);
      long item = tree.keyHash(keys, keyEnd, length);
      boolean inside =
          descending
              ? above(keys, keyEnd, length, 0, lowLength, lowInclusive)
              : below(keys, keyEnd, length, keyBytesMax, highLength, highInclusive);
      if (!inside) {
        beyond = descending ? upperItem : item;
        last = true;
        break;
      }
      items[n] = item;
      keyOffsets[n] = keyEnd;
      slots[n] = slot;
      keyEnd += length;
      n++;
      slot += descending ? -1 : 1;
    }
    keyOffsets[n] = keyEnd;
    int all = withBeyond(n, beyond);
    if (!readItems(all)) {
      return false;
    }
    OldRecords o = old;
    boolean changed = o != null && collectOld(o, n, all, last);
    enter(n, last);
    if (changed) {
      merge(n);
    }
    return true;
  }

  private int withBeyond(int n, long beyond) {
    items[n] = beyond;
    return beyond == 0 ? n : n + 1;
  }

  private boolean isOnLeaf() {
    return positioned && slot >= leaf.from() && slot < leaf.to();
  }

  /** Copies the leaf with the next keys; returns false at the end of the tree. */
  private boolean loadLeaf() {
    if (!positioned) {
      leaf.seek(tree, bounds, from, fromLength, fromInclusive, descending);
    }
    positioned = false; // if a device fails: seek the last key again
    readsBefore = reads.size();
    boolean more = leaf.load();
    slot = descending ? leaf.to() - 1 : leaf.from();
    positioned = true;
    return more;
  }

  private void fillByLeaves() {
    boolean more = isOnLeaf();
    if (!more) {
      more = loadLeaf();
      if (more) {
        findStop();
      }
    }
    int n = 0;
    int keyEnd = 0;
    if (more) {
      int step = descending ? -1 : 1;
      long lastOffset = keys.byteSize() - keyBytesMax;
      for (int s = slot; s != stop && n < batchTarget && keyEnd <= lastOffset; s += step) {
        keyOffsets[n] = keyEnd;
        slots[n] = s;
        handles[n++] = -1;
        keyEnd += leaf.copyKey(s, keys, keyEnd);
      }
      slot += n * step;
    }
    keyOffsets[n] = keyEnd;
    if (n > 0) {
      int start = keyOffsets[n - 1];
      continueFrom(keys, start, keyEnd - start);
    }
    if (waits) {
      work.dependsOnLsn(leaf.pageLsn());
    }
    batchSize = n;
    finished = !more || ends && slot == stop;
  }

  /** Finds the interval's end in the copy by one search, instead of comparing each key. */
  private void findStop() {
    if (descending) {
      int first = 0;
      if (lowLength >= 0) {
        first =
            lowInclusive
                ? leaf.lowerBound(bounds, 0, lowLength)
                : leaf.upperBound(bounds, 0, lowLength);
      }
      ends = first > leaf.from();
      stop = Math.min(Math.max(first, leaf.from()), leaf.to()) - 1;
    } else {
      int endSlot = leaf.to();
      if (highLength >= 0) {
        endSlot =
            highInclusive
                ? leaf.upperBound(bounds, keyBytesMax, highLength)
                : leaf.lowerBound(bounds, keyBytesMax, highLength);
      }
      ends = endSlot < leaf.to();
      stop = Math.max(Math.min(endSlot, leaf.to()), leaf.from());
    }
  }

  private boolean collectOld(OldRecords o, int n, int all, boolean last) {
    Mvto mvto = concurrencyControl.mvto;
    boolean changed = false;
    for (int i = 0; i < all; i++) {
      changed |= tooNew[i];
    }
    if (changed) {
      coverFrom = !last && n > 0 ? keyOffsets[n - 1] : -1;
      coverLength = coverFrom < 0 ? 0 : keyOffsets[n] - coverFrom;
      mvto.collect(this, tree, o);
    }
    return changed;
  }

  @Override
  final boolean covers(MemorySegment key, long offset, int length) {
    if (!contains(key, offset, length)) {
      return false;
    }
    if (descending
        ? !below(key, offset, length, from, fromLength, fromInclusive)
        : !above(key, offset, length, from, fromLength, fromInclusive)) {
      return false;
    }
    if (coverFrom < 0) {
      return true;
    }
    int c = Mem.compare(key, offset, length, keys, coverFrom, coverLength);
    return descending ? c >= 0 : c <= 0;
  }

  /** Merges the old records into the batch: some keys are too new, some were deleted. */
  @SuppressWarnings("NullAway") // with versions
  private void merge(int n) {
    OldRecords o = old;
    ScanBatch b = merged;
    Mvto mvto = concurrencyControl.mvto;
    int m = o.size();
    b.clear(n + m, keyOffsets[n] + o.memoryBytes() + keyBytesMax);
    for (int i = 0, j = 0; i < n || j < m; ) {
      int k = descending ? m - 1 - j : j;
      int c = i == n ? 1 : j == m ? -1 : compareOld(i, o, k);
      if (c < 0 && tooNew[i]) {
        throw mvto.unknown();
      }
      if (c < 0 || (c == 0 && !tooNew[i])) {
        int at = keyOffsets[i];
        b.add(keys, at, keyOffsets[i + 1] - at, slots[i], items[i], handles[i]);
      } else if (mvto.isVisible(o, k)) {
        long item = tree.keyHash(o.segment(), o.keyOffset(k), o.keyLength(k));
        b.add(o.segment(), o.keyOffset(k), o.keyLength(k), -1 - k, item, -1);
      }
      i += c <= 0 ? 1 : 0;
      j += c >= 0 ? 1 : 0;
    }
    batchSize = b.size;
    swap(b);
  }

  private int compareOld(int i, OldRecords o, int k) {
    int at = keyOffsets[i];
    int c =
        Mem.compare(keys, at, keyOffsets[i + 1] - at, o.segment(), o.keyOffset(k), o.keyLength(k));
    return descending ? -c : c;
  }

  private void swap(ScanBatch b) {
    MemorySegment k = keys;
    int[] offsets = keyOffsets;
    int[] s = slots;
    long[] it = items;
    int[] h = handles;
    keys = b.keys;
    keyOffsets = b.keyOffsets;
    slots = b.slots;
    items = b.items;
    handles = b.handles;
    b.keys = k;
    b.keyOffsets = offsets;
    b.slots = s;
    b.items = it;
    b.handles = h;
  }

  /**
   * Reads the item of the first installed key above the start of a descending scan, before any leaf
   * of the interval is copied: a later install between the two must lock this item and raises its
   * wts; earlier ones are in the copies. It is the first key above when the word is read, because
   * the leaves from the bound to it have equal versions before and after.
   *
   * <p>It is reread with the first batch, and likewise the item of each batch's last key with the
   * next batch. A key deleted between two batches leaves a trace only at that item; the first read
   * alone could be valid at the commit, although the gap was read later. The second read finds
   * another wts, and the transaction aborts.
   */
  private boolean readBound() {
    if (fromLength < 0) {
      items[0] = tree.endHash();
      if (!readWord(0)) {
        return false;
      }
    } else {
      readsBefore = reads.size();
      above.seek(tree, bounds, from, fromLength, !fromInclusive, false);
      if (above.load()) {
        int length = above.copyKey(above.from(), keys, 0);
        items[0] = tree.keyHash(keys, 0, length);
      } else {
        items[0] = tree.endHash();
      }
      if (!readWord(0) || !above.stillValid() && !wasKnown(0)) {
        return false;
      }
    }
    upperItem = items[0];
    boundRead = true;
    return true;
  }

  /** Reads the words of the batch's items, then rechecks the versions of the leaves. */
  private boolean readItems(int n) {
    boolean known = true;
    for (int i = 0; i < n; i++) {
      if (!readWord(i)) {
        return false;
      }
      known &= wasKnown(i);
    }
    if (!leaf.stillValid() && !known) {
      return false;
    }
    if (waits) {
      // The leaf above a bound does not count: none of its records is returned.
      work.dependsOnLsn(leaf.pageLsn());
    }
    return true;
  }

  /**
   * Reads the word of an item; returns false after waiting for a lock. The item enters the read set
   * before its content is confirmed: the next attempt must find it with the same wts.
   */
  private boolean readWord(int i) {
    long item = items[i];
    int h = reads.find(item);
    int stamp = h >= 0 ? reads.slot(h) : concurrencyControl.pin(item);
    long word = concurrencyControl.readWord(stamp);
    if (TidWord.isLocked(word)) {
      concurrencyControl.await(stamp);
      return false;
    }
    tooNew[i] = old != null && word == Mvto.OLD;
    handles[i] = reader.enter(h, item, stamp, TidWord.withoutLock(word));
    return true;
  }

  /** Returns whether an item's word was read before the copies, and is unchanged since. */
  private boolean wasKnown(int i) {
    return !tooNew[i] && handles[i] < readsBefore;
  }

  private void enter(int n, boolean last) {
    Position p = work.position;
    leaf.position(p, 0);
    for (int i = 0; i < n; i++) {
      int s = slots[i];
      reads.putLocation(handles[i], p.frame, p.version, p.pid, s, leaf.valueLength(s));
    }
    if (n > 0) {
      upperItem = descending ? items[n - 1] : 0;
      int start = keyOffsets[n - 1];
      continueFrom(keys, start, keyOffsets[n] - start);
    }
    batchSize = n;
    finished = last;
  }
}
