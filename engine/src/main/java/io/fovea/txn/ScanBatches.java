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
 * <p><b>Atomicity.</b> Keys are taken in batches from a copy of a leaf. For each batch: the copy is
 * there; the items' words are read and are unlocked; then the leaf's version is what it was before
 * the copy was taken. By the argument in {@link TxReads}, words and keys belong together. Where an
 * ascending batch begins in another leaf than the last key was in, every leaf from that one on must
 * still have its version too ({@link LeafScan#stillValid}), else a key might have been installed
 * behind the scan's back: it would have moved the word of the new leaf's first key before it was
 * read. A descending scan needs no such thing: the gap below its last key belongs to that key's
 * item, which is looked at once more with the batch that has the gap. Batches grow (1, 4, 16, 64
 * keys), so that a scan for the first key reads one item and a long one looks at the version
 * seldom.
 *
 * <p><b>Where versions can't stay.</b> Leaves without records are passed, and a run of them may be
 * longer than the pool: the first has left its frame when the last one comes. So what an attempt
 * needs is one of two: versions that are the same, or words that were read before the copies were
 * begun, by an attempt that failed, and are the same behind them, each time unlocked. The second is
 * as good. Whoever installs or removes a key holds the lock of its item and of the next one from
 * before that until the wts of both has moved, to a value that they never had. (A key alone whose
 * record changes: its own.) So between the two looks nobody has published anything that the batch
 * depends on, nor was in the middle of it at either; what was published before the first look is in
 * the copies, for they came later. Where an older version is wanted, the word says no more than
 * that: then versions of leaves it must be.
 *
 * <p><b>By leaves.</b> A transaction that only reads, and that is repeated if it is aborted, reads
 * no items here: what it has read are the leaves that were copied, and its commit looks at them
 * ({@link LeafReads}). A batch is a copy of keys then, and no more. The copies cover all that was
 * passed, in both directions, with no gap between them: each begins at the fence where the one
 * before ended. So neither the item above the interval nor that above a batch is needed.
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

  /** Whether the scan reads leaves, and no items. */
  private boolean byLeaves;

  /** Whether it was opened to read items, whatever its transaction may do. */
  private boolean itemsOnly;

  /** By leaves: the first slot of the copy, in the scan's direction, behind the interval's end. */
  private int stop;

  /** By leaves: whether the interval ends in the copy. */
  private boolean ends;

  /** Whether what is read must be durable before anybody is told. */
  private final boolean waits;

  private final LeafScan above;

  // the leaf copy
  private boolean positioned;

  /** How many items had been read when the copies were begun. */
  private int readsBefore;

  private int slot;
  private boolean boundRead;

  /** Of the key above the next batch of a descending scan; 0 for none. */
  private long upperItem;

  private boolean finished;

  // the batch: full keys in a row, their leaf slots, items and handles
  // (a negative slot: the record is in the old ones, at -1 - slot)
  MemorySegment keys = Blocks.NONE;
  int[] keyOffsets = new int[BATCH_MAX + 1];
  int[] slots = new int[BATCH_MAX];
  long[] items = new long[BATCH_MAX + 1];
  int[] handles = new int[BATCH_MAX + 1];
  private final boolean[] tooNew = new boolean[BATCH_MAX + 1];
  private int batchTarget;

  /** How far the batch in the making goes; negative: to the end of the interval. */
  private int coverFrom;

  private int coverLength;
  int batchSize;
  int batchAt;

  /** Where there are versions: those of what a batch covers. */
  final @Nullable OldRecords old;

  /** What the old ones are merged into, and then the batch. */
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
    leaf.note(byLeaves ? leaves.noted() : null);
    beginBatches();
    finished = false;
    batchTarget = 1;
    batchSize = 0;
    batchAt = 0;
  }

  /** Nothing is read ahead of where the scan goes on from. */
  private void beginBatches() {
    positioned = false;
    boundRead = !descending;
    upperItem = 0;
  }

  /** A scan is being opened. */
  final void readsAnything() {
    itemsOnly = false;
  }

  /**
   * The scan reads items, whatever its transaction may do: for a tree in which readers put hints
   * right, which they do to what they have read by its item. Before the first {@link TxScan#next}.
   */
  public final void readsItems() {
    itemsOnly = true;
    goOnByItems();
  }

  /**
   * From here on items are read. A descending scan has to read the item above first, which is that
   * of the last key, if there was one.
   */
  private void goOnByItems() {
    byLeaves = false;
    leaf.note(null);
    beginBatches();
  }

  /** Nothing of the interval lies ahead: {@link #fill} looks at nothing. */
  final void finish() {
    finished = true;
  }

  /** Gives the memory back; {@link #openBatches} takes some again. */
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

  /** The scan has ended: gives back what old records took too much of. */
  final void shrinkBatches(long keepBytes) {
    OldRecords o = old;
    ScanBatch b = merged;
    if (o != null && b != null && o.memoryBytes() > keepBytes) {
      o.free();
      b.free(); // the batch had room for all of the old ones
      freeKeys();
    }
  }

  private void freeKeys() {
    MemorySegment was = keys;
    keys = Blocks.NONE;
    memory.give(was);
  }

  /** Pages that were looked at since this was last asked. */
  final long takePageAccesses() {
    long all = leaf.pageAccesses() + above.pageAccesses();
    long since = all - pageAccessesTaken;
    pageAccessesTaken = all;
    return since;
  }

  /** Takes the next batch from the tree; false at the end of the interval. */
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
        goOnByItems();
      }
      for (int attempt = 0; !tryFill(); attempt++) {
        positioned = false; // something moved: from the last key again
        if (attempt > 64) {
          life.pause(attempt);
        }
      }
      // Where there are versions, all keys of a batch may be too new.
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
    long beyond = descending ? upperItem : more ? 0 : Items.atEnd(tree);
    int keyEnd = 0;
    while (more && n < batchTarget && slot >= leaf.from() && slot < leaf.to()) {
      if (keyEnd + keyBytesMax > keys.byteSize()) {
        break; // the rest is for the next batch; one key always fits
      }
      int length = leaf.copyKey(slot, keys, keyEnd);
      long item = Items.of(tree, keys, keyEnd, length);
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

  /** Adds the item beyond a batch, if there is one; returns how many there are now. */
  private int withBeyond(int n, long beyond) {
    items[n] = beyond;
    return beyond == 0 ? n : n + 1;
  }

  /** Whether the copy has keys ahead. */
  private boolean isOnLeaf() {
    return positioned && slot >= leaf.from() && slot < leaf.to();
  }

  /** Copies the leaf with the next keys; false at the end of the tree. */
  private boolean loadLeaf() {
    if (!positioned) {
      leaf.seek(tree, bounds, from, fromLength, fromInclusive, descending);
    }
    positioned = false; // where a device refuses the leaf: from the last key again
    readsBefore = reads.size();
    boolean more = leaf.load();
    slot = descending ? leaf.to() - 1 : leaf.from();
    positioned = true;
    return more;
  }

  // ---------------------------------------------------------------- by leaves

  /** The next batch, of keys alone. */
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
      long room = keys.byteSize() - keyBytesMax;
      for (int s = slot; s != stop && n < batchTarget && keyEnd <= room; s += step) {
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
      goOnFrom(keys, start, keyEnd - start);
    }
    if (waits) {
      work.sawLsn(leaf.pageLsn());
    }
    batchSize = n;
    finished = !more || ends && slot == stop;
  }

  /**
   * Finds out where in the copy the interval ends: a search a leaf instead of a look at each key.
   */
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
      int behind = leaf.to();
      if (highLength >= 0) {
        behind =
            highInclusive
                ? leaf.upperBound(bounds, keyBytesMax, highLength)
                : leaf.lowerBound(bounds, keyBytesMax, highLength);
      }
      ends = behind < leaf.to();
      stop = Math.max(Math.min(behind, leaf.to()), leaf.from());
    }
  }

  // ---------------------------------------------------------------- versions

  /** Fetches what this batch covers and what has changed since the transaction's timestamp. */
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

  /** Lays the old records over the batch: some are too new for us, some have gone. */
  @SuppressWarnings("NullAway") // there are versions
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
      } else if (mvto.sees(o, k)) {
        long item = Items.of(tree, o.segment(), o.keyOffset(k), o.keyLength(k));
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
   * A descending scan begins with the item of the first installed key above its start. The word is
   * read before any leaf of the interval is copied: any transaction that installs a key between
   * that one and the first key of the scan later must take this item's lock later, and moves its
   * wts; whoever did so before is in the copies. That it is the first one above is true at the
   * moment of the look at the word, because the leaves from the bound to it have the same version
   * before and after.
   *
   * <p>It is read once more with the first batch, and so is the item of each batch's last key with
   * the next one. A key that goes from the gap between two batches leaves no trace but at that
   * item; and the first look alone is one at a version that may still be valid at the time of the
   * commit, while the gap was read after it. The second look finds another wts, and the transaction
   * aborts.
   */
  private boolean readBound() {
    if (fromLength < 0) {
      items[0] = Items.atEnd(tree);
      if (!readWord(0)) {
        return false;
      }
    } else {
      readsBefore = reads.size();
      above.seek(tree, bounds, from, fromLength, !fromInclusive, false);
      if (above.load()) {
        int length = above.copyKey(above.from(), keys, 0);
        items[0] = Items.of(tree, keys, 0, length);
      } else {
        items[0] = Items.atEnd(tree);
      }
      if (!readWord(0) || !above.stillValid() && !wasKnown(0)) {
        return false;
      }
    }
    upperItem = items[0];
    boundRead = true;
    return true;
  }

  /** Words of the batch's items, then the versions of the leaves again. */
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
      // The leaf above a bound does not count: nothing of it is told.
      work.sawLsn(leaf.pageLsn());
    }
    return true;
  }

  /**
   * Reads the word of an item; false where it was locked, after the lock was gone. The item enters
   * the read set here, though its content is confirmed later only: an attempt that fails has then
   * read one item more than needed, and the next one must find it with the same wts.
   */
  private boolean readWord(int i) {
    long item = items[i];
    int h = reads.find(item);
    int stamp = h >= 0 ? reads.slot(h) : concurrencyControl.pin(item);
    long word = concurrencyControl.look(stamp);
    if (TidWord.isLocked(word)) {
      concurrencyControl.await(stamp);
      return false;
    }
    tooNew[i] = old != null && word == Mvto.OLD;
    handles[i] = reader.enter(h, item, stamp, TidWord.withoutLock(word));
    return true;
  }

  /** Whether the word of an item was read before the copies were made, and is the same since. */
  private boolean wasKnown(int i) {
    return !tooNew[i] && handles[i] < readsBefore;
  }

  private void enter(int n, boolean last) {
    Position p = work.position;
    leaf.position(p, 0);
    for (int i = 0; i < n; i++) {
      int s = slots[i];
      reads.place(handles[i], p.frame, p.version, p.pid, s, leaf.valueLength(s));
    }
    if (n > 0) {
      upperItem = descending ? items[n - 1] : 0;
      int start = keyOffsets[n - 1];
      goOnFrom(keys, start, keyOffsets[n] - start);
    }
    batchSize = n;
    finished = last;
  }
}
