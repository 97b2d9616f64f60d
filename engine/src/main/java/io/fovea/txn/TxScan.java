package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafScan;
import io.fovea.btree.Position;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A scan of an interval of keys, safe from phantoms, with the transaction's own writes merged in.
 *
 * <pre>
 *            low                                     high
 *  ───┬───────(────┬──────────┬───────────┬────────────)──┬────────►  installed keys
 *              gap │    gap   │    gap    │      gap      │
 *              item(k1)    item(k2)    item(k3)        item(s)        items that are read
 * </pre>
 *
 * An item covers its key and the gap below it. So the keys in the interval and the first installed
 * key above it, or +inf, cover every place where a key could appear. An ascending scan that stops
 * early needs the keys it has passed and no more; a descending one reads item(s) first.
 *
 * <p><b>Atomicity.</b> Keys are taken in batches from a copy of a leaf. For each batch: the copy is
 * there; the items' words are read and are unlocked; then the leaf's version is what it was before
 * the copy was taken. By the argument in {@link Tx}, words and keys belong together. Where an
 * ascending batch begins in another leaf than the last key was in, every leaf from that one on must
 * still have its version too ({@link LeafScan#stillValid}), else a key might have been installed
 * behind the scan's back: it would have moved the word of the new leaf's first key before it was
 * read. A descending scan needs no such thing: the gap below its last key belongs to that key's
 * item, which is looked at once more with the batch that has the gap. Batches grow (1, 4, 16, 64
 * keys), so that a scan for the first key reads one item and a long one looks at the version
 * seldom.
 *
 * <p><b>Own writes.</b> Inserted and replaced keys of the interval are merged from the write set;
 * deleted ones are skipped but read all the same, because they are installed; patches are laid over
 * a copy. Writes made while the scan is open are seen where they lie ahead of it.
 */
public final class TxScan {
  private static final int BATCH_MAX = 64;
  private static final int KEEP_BYTES = 64 << 10;

  private final Tx tx;
  private final Blocks memory;
  private final LeafScan leaf;
  private final LeafScan above;
  private final int keysBytes;
  private final int keyBytesMax;

  /** Where this scan stands in its transaction's list of open ones. */
  int index;

  private boolean open;
  private BTree tree;
  private boolean descending;

  // bounds: low at 0, high at keyBytesMax, the key to go on from at 2 * keyBytesMax
  private MemorySegment bounds = Blocks.NONE;
  private int lowLength;
  private boolean lowInclusive;
  private int highLength;
  private boolean highInclusive;
  private int fromLength;
  private boolean fromInclusive;

  // the leaf copy
  private boolean positioned;
  private int slot;
  private boolean boundRead;

  /** Of the key above the next batch of a descending scan; 0 for none. */
  private long upperItem;

  private boolean finished;

  // the batch: full keys in a row, their leaf slots, items and handles
  // (a negative slot: the record is in the old ones, at -1 - slot)
  private MemorySegment keys = Blocks.NONE;
  private int[] keyOffsets = new int[BATCH_MAX + 1];
  private int[] slots = new int[BATCH_MAX];
  private long[] items = new long[BATCH_MAX + 1];
  private int[] handles = new int[BATCH_MAX + 1];
  private final boolean[] tooNew = new boolean[BATCH_MAX + 1];
  private int batchTarget;

  /** How far the batch in the making goes; negative: to the end of the interval. */
  private int coverFrom;

  private int coverLength;
  private int batchSize;
  private int batchAt;

  /** Where there are versions: those of what a batch covers. */
  private final @Nullable OldRecords old;

  /** What the old ones are merged into, and then the batch. */
  private final @Nullable ScanBatch merged;

  // own writes of the interval, in the scan's order
  private int[] own = new int[16];
  private int ownSize;
  private int ownAt;
  private int changesSeen;

  // the current record
  private MemorySegment keySegment;
  private long keyOffset;
  private int keyLength;
  private MemorySegment valueSegment;
  private long valueOffset;
  private int valueLength;
  private int handle;
  private MemorySegment overlay = Blocks.NONE;
  private long pageAccessesTaken;

  @SuppressWarnings("NullAway.Init")
  TxScan(Tx tx, int pageSize) {
    this.tx = tx;
    this.keyBytesMax = pageSize / 4;
    this.keysBytes = Math.max(pageSize, 8 << 10);
    this.memory = tx.engine.memory();
    this.leaf = new LeafScan(memory);
    this.above = new LeafScan(memory);
    this.old = tx.control.versioned ? new OldRecords(memory) : null;
    this.merged = tx.control.versioned ? new ScanBatch(memory) : null;
    this.keySegment = Blocks.NONE;
    this.valueSegment = Blocks.NONE;
  }

  /** Gives all memory back; {@link #open} takes some again. */
  void free() {
    leaf.free();
    above.free();
    MemorySegment was = bounds;
    bounds = Blocks.NONE;
    memory.give(was);
    was = keys;
    keys = Blocks.NONE;
    memory.give(was);
    freeValue();
    if (old != null) {
      old.free();
    }
    if (merged != null) {
      merged.free();
    }
  }

  private void freeValue() {
    MemorySegment was = overlay;
    overlay = Blocks.NONE;
    memory.give(was);
  }

  /** The scan has ended: what it took too much of goes. */
  private void shrink() {
    keySegment = Blocks.NONE;
    valueSegment = Blocks.NONE;
    if (overlay.byteSize() > KEEP_BYTES) {
      freeValue();
    }
    OldRecords o = old;
    ScanBatch b = merged;
    if (o != null && b != null && o.memoryBytes() > KEEP_BYTES) {
      o.free();
      b.free(); // the batch had room for all of the old ones
      MemorySegment was = keys;
      keys = Blocks.NONE;
      memory.give(was);
    }
  }

  void open(
      BTree tree,
      MemorySegment low,
      long lowOffset,
      int lowLength,
      boolean lowInclusive,
      MemorySegment high,
      long highOffset,
      int highLength,
      boolean highInclusive,
      boolean descending) {
    if (bounds.byteSize() == 0) {
      bounds = memory.take(3L * keyBytesMax);
    }
    if (keys.byteSize() == 0) {
      keys = memory.take(keysBytes);
    }
    this.tree = tree;
    this.descending = descending;
    this.lowLength = bound(low, lowOffset, lowLength, 0);
    this.lowInclusive = lowInclusive;
    this.highLength = bound(high, highOffset, highLength, keyBytesMax);
    this.highInclusive = highInclusive;
    int start = descending ? this.highLength : this.lowLength;
    fromInclusive = descending ? highInclusive : lowInclusive;
    fromLength = start;
    if (start > 0) {
      Mem.copy(bounds, descending ? keyBytesMax : 0, bounds, 2L * keyBytesMax, start);
    }
    positioned = false;
    boundRead = !descending;
    upperItem = 0;
    finished = false;
    batchTarget = 1;
    batchSize = 0;
    batchAt = 0;
    ownSize = 0;
    ownAt = 0;
    changesSeen = -1;
    handle = -1;
    keyLength = -1;
    open = true;
  }

  private int bound(MemorySegment key, long offset, int length, int at) {
    if (length > keyBytesMax) {
      throw new InvalidUseException(
          "A bound of " + length + " bytes; keys have at most " + tree.maxKeySize() + ".");
    }
    if (length > 0) {
      Mem.copy(key, offset, bounds, at, length);
    }
    return length;
  }

  // ---------------------------------------------------------------- the merged stream

  /**
   * Moves to the next record.
   *
   * @return whether there is one
   * @throws io.fovea.error.TransactionAbortedException if the transaction can't go on
   * @throws InvalidUseException after {@link #close} or the transaction's end
   */
  public boolean next() {
    if (!open) {
      throw new InvalidUseException("The scan is closed, or its transaction has ended.");
    }
    tx.scanning();
    WriteSet writes = tx.writes;
    if (changesSeen != writes.changes() && writes.size() > 0) {
      collectOwn(writes); // before the next batch overwrites the current key
    }
    for (; ; ) {
      boolean some = batchAt < batchSize || fill();
      if (writes.size() == 0) {
        if (!some) {
          return false;
        }
        deliver(batchAt++);
        return true;
      }
      if (!some && ownAt == ownSize) {
        return false;
      }
      int order = !some ? 1 : ownAt == ownSize ? -1 : compareOwn(writes);
      if (order >= 0) {
        if (order == 0) {
          handle = handles[batchAt++];
        } else {
          handle = -1;
        }
        deliverOwn(writes, own[ownAt++]);
        return true;
      }
      int b = batchAt++;
      int w = writes.find(tree, items[b], keys, keyOffsets[b], keyOffsets[b + 1] - keyOffsets[b]);
      if (w < 0) {
        deliver(b);
        return true;
      }
      if (writes.kind(w) == WriteSet.PATCH) {
        deliver(b);
        patch(writes, w);
        return true;
      }
      // Deleted by this transaction; PUT and INSERT are in the list of own writes.
    }
  }

  /** Negative: the batch's next key comes first; 0: the same key; positive: the own one does. */
  private int compareOwn(WriteSet writes) {
    int w = own[ownAt];
    int b = batchAt;
    int c =
        Mem.compare(
            keys,
            keyOffsets[b],
            keyOffsets[b + 1] - keyOffsets[b],
            writes.scratch.segment(),
            writes.keyOffset(w),
            writes.keyLength(w));
    return descending ? -c : c;
  }

  private void deliver(int b) {
    keySegment = keys;
    keyOffset = keyOffsets[b];
    keyLength = keyOffsets[b + 1] - keyOffsets[b];
    handle = handles[b];
    int s = slots[b];
    if (s < 0) {
      deliverOld(-1 - s);
      return;
    }
    valueLength = leaf.valueLength(s);
    if (leaf.isOverflow(s)) {
      fetchOverflow();
    } else {
      valueSegment = leaf.segment();
      valueOffset = leaf.valueOffset(s);
    }
  }

  @SuppressWarnings("NullAway") // there are old ones
  private void deliverOld(int i) {
    valueSegment = old.segment();
    valueOffset = old.valueOffset(i);
    valueLength = old.valueLength(i);
  }

  /** The value lies outside of the leaf: a point read, which must see the same wts. */
  private void fetchOverflow() {
    if (overlay.byteSize() == 0) {
      overlay = memory.take(keysBytes);
    }
    for (; ; ) {
      int cap = (int) overlay.byteSize();
      int length = tx.readScanned(tree, keySegment, keyOffset, keyLength, overlay, cap);
      if (length <= cap) {
        valueLength = length;
        break;
      }
      overlay = memory.exchange(overlay, length);
    }
    valueSegment = overlay;
    valueOffset = 0;
  }

  private void patch(WriteSet writes, int w) {
    if (valueSegment != overlay) {
      if (overlay.byteSize() < valueLength) {
        overlay = memory.exchange(overlay, valueLength);
      }
      Mem.copy(valueSegment, valueOffset, overlay, 0, valueLength);
      valueSegment = overlay;
      valueOffset = 0;
    }
    writes.applyPatches(w, overlay, 0, valueLength);
  }

  private void deliverOwn(WriteSet writes, int w) {
    MemorySegment s = writes.scratch.segment();
    keySegment = s;
    keyOffset = writes.keyOffset(w);
    keyLength = writes.keyLength(w);
    valueSegment = s;
    valueOffset = writes.valueOffset(w);
    valueLength = writes.valueLength(w);
  }

  /** Own inserts and puts that lie ahead, sorted in the scan's order. */
  private void collectOwn(WriteSet writes) {
    changesSeen = writes.changes();
    ownSize = 0;
    ownAt = 0;
    MemorySegment s = writes.scratch.segment();
    boolean begun = keyLength >= 0;
    for (int w = 0, n = writes.size(); w < n; w++) {
      byte kind = writes.kind(w);
      if (writes.tree(w) != tree || (kind != WriteSet.INSERT && kind != WriteSet.PUT)) {
        continue;
      }
      int offset = writes.keyOffset(w);
      int length = writes.keyLength(w);
      if (!above(s, offset, length, 0, lowLength, lowInclusive)
          || !below(s, offset, length, keyBytesMax, highLength, highInclusive)) {
        continue;
      }
      if (begun) {
        int c = Mem.compare(s, offset, length, keySegment, keyOffset, keyLength);
        if (descending ? c >= 0 : c <= 0) {
          continue;
        }
      }
      if (ownSize == own.length) {
        own = Arrays.copyOf(own, ownSize * 2);
      }
      own[ownSize++] = w;
    }
    sortOwn(writes);
  }

  private void sortOwn(WriteSet writes) {
    MemorySegment s = writes.scratch.segment();
    if (ownSize > 64) {
      Integer[] boxed = new Integer[ownSize];
      Arrays.setAll(boxed, i -> own[i]);
      Arrays.sort(boxed, (a, b) -> order(writes, s, a, b));
      for (int i = 0; i < ownSize; i++) {
        own[i] = boxed[i];
      }
      return;
    }
    for (int i = 1; i < ownSize; i++) {
      int w = own[i];
      int j = i - 1;
      while (j >= 0 && order(writes, s, own[j], w) > 0) {
        own[j + 1] = own[j];
        j--;
      }
      own[j + 1] = w;
    }
  }

  private int order(WriteSet writes, MemorySegment s, int a, int b) {
    int c =
        Mem.compare(
            s,
            writes.keyOffset(a),
            writes.keyLength(a),
            s,
            writes.keyOffset(b),
            writes.keyLength(b));
    return descending ? -c : c;
  }

  private boolean above(
      MemorySegment key, long offset, int length, int bound, int boundLength, boolean inclusive) {
    if (boundLength < 0) {
      return true;
    }
    int c = Mem.compare(key, offset, length, bounds, bound, boundLength);
    return inclusive ? c >= 0 : c > 0;
  }

  private boolean below(
      MemorySegment key, long offset, int length, int bound, int boundLength, boolean inclusive) {
    if (boundLength < 0) {
      return true;
    }
    int c = Mem.compare(key, offset, length, bounds, bound, boundLength);
    return inclusive ? c <= 0 : c < 0;
  }

  // ---------------------------------------------------------------- the installed stream

  /** Takes the next batch from the tree; false at the end of the interval. */
  private boolean fill() {
    batchSize = 0;
    batchAt = 0;
    if (finished) {
      return false;
    }
    do {
      for (int attempt = 0; !tryFill(); attempt++) {
        positioned = false; // something moved: from the last key again
        if (attempt > 64) {
          tx.pause(attempt);
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
    boolean more = true;
    if (!positioned) {
      leaf.seek(tree, bounds, 2L * keyBytesMax, fromLength, fromInclusive, descending);
      more = leaf.load();
      slot = firstSlot();
      positioned = true;
    } else if (slot < leaf.from() || slot >= leaf.to()) {
      more = leaf.load();
      slot = firstSlot();
    }
    int n = 0;
    boolean last = !more;
    long beyond = descending ? upperItem : more ? 0 : Tx.itemAtEnd(tree);
    int keyEnd = 0;
    while (more && n < batchTarget && slot >= leaf.from() && slot < leaf.to()) {
      if (keyEnd + keyBytesMax > keys.byteSize()) {
        break; // the rest is for the next batch; one key always fits
      }
      int length = leaf.copyKey(slot, keys, keyEnd);
      long item = Tx.item(tree, keys, keyEnd, length);
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
    int all = n;
    if (beyond != 0 && !tx.engine.switches.noNextKey()) {
      items[all++] = beyond;
    }
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

  // ---------------------------------------------------------------- versions

  /** Fetches what this batch covers and what has changed since the transaction's timestamp. */
  private boolean collectOld(OldRecords o, int n, int all, boolean last) {
    Mvto mvto = tx.control.mvto;
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

  /** Whether a key lies where the batch in the making does: behind the last one, up to its end. */
  boolean covers(MemorySegment key, long offset, int length) {
    if (!above(key, offset, length, 0, lowLength, lowInclusive)
        || !below(key, offset, length, keyBytesMax, highLength, highInclusive)) {
      return false;
    }
    int from = 2 * keyBytesMax;
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
    Mvto mvto = tx.control.mvto;
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
        long item = Tx.item(tree, o.segment(), o.keyOffset(k), o.keyLength(k));
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

  private int firstSlot() {
    return descending ? leaf.to() - 1 : leaf.from();
  }

  /**
   * A descending scan begins with the item of the first installed key above its interval. The word
   * is read before any leaf of the interval is copied: whoever installs a key between that one and
   * the first key of the scan later must take this item's lock later, and moves its wts; whoever
   * did so before is in the copies. That it is the first one above is true at the moment of the
   * look at the word, because the leaves from the bound to it have the same version before and
   * after.
   *
   * <p>It is read once more with the first batch, and so is the item of each batch's last key with
   * the next one. A key that goes from the gap between two batches leaves no trace but at that
   * item; and the first look alone is one at a version that may still be valid at the time of the
   * commit, while the gap was read after it. The second look finds another wts, and the transaction
   * aborts.
   */
  private boolean readBound() {
    if (tx.engine.switches.noNextKey()) {
      boundRead = true;
      return true;
    }
    if (highLength < 0) {
      items[0] = Tx.itemAtEnd(tree);
      if (!readWord(0)) {
        return false;
      }
    } else {
      above.seek(tree, bounds, keyBytesMax, highLength, !highInclusive, false);
      if (above.load()) {
        int length = above.copyKey(above.from(), keys, 0);
        items[0] = Tx.item(tree, keys, 0, length);
      } else {
        items[0] = Tx.itemAtEnd(tree);
      }
      if (!readWord(0) || !above.stillValid()) {
        return false;
      }
    }
    upperItem = items[0];
    boundRead = true;
    return true;
  }

  /** Words of the batch's items, then the versions of the leaves again. */
  private boolean readItems(int n) {
    for (int i = 0; i < n; i++) {
      if (!readWord(i)) {
        return false;
      }
    }
    if (!leaf.stillValid()) {
      return false;
    }
    if (tx.waits) {
      // The leaf above a bound does not count: nothing of it is told.
      tx.sawLsn(leaf.pageLsn());
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
    int h = tx.reads.find(item);
    int stamp = h >= 0 ? tx.reads.slot(h) : tx.pin(item);
    long word = tx.control.look(stamp);
    if (Word.isLocked(word) && !tx.engine.switches.readLocked()) {
      tx.control.await(stamp);
      return false;
    }
    tooNew[i] = old != null && word == Mvto.OLD;
    handles[i] = tx.enter(h, item, stamp, Word.withoutLock(word));
    return true;
  }

  private void enter(int n, boolean last) {
    Position p = tx.position;
    leaf.position(p, 0);
    for (int i = 0; i < n; i++) {
      int s = slots[i];
      tx.reads.place(handles[i], p.frame, p.version, p.pid, s, leaf.valueLength(s));
    }
    if (n > 0) {
      upperItem = descending ? items[n - 1] : 0;
      int start = keyOffsets[n - 1];
      fromLength = keyOffsets[n] - start;
      fromInclusive = false;
      Mem.copy(keys, start, bounds, 2L * keyBytesMax, fromLength);
    }
    batchSize = n;
    finished = last;
  }

  // ---------------------------------------------------------------- the current record

  /** The segment that holds the key; it is good until the next call of any method. */
  public MemorySegment keySegment() {
    return keySegment;
  }

  public long keyOffset() {
    return keyOffset;
  }

  public int keyLength() {
    return keyLength;
  }

  /** The segment that holds the value; it is good until the next call of any method. */
  public MemorySegment valueSegment() {
    return valueSegment;
  }

  public long valueOffset() {
    return valueOffset;
  }

  public int valueLength() {
    return valueLength;
  }

  /** The record's handle in the read set, for {@link Tx#patch}; -1 for an own write. */
  public int handle() {
    return handle;
  }

  /** The leaf of the current record, for who finds the record wrong: a page id. */
  public long page() {
    return leaf.page();
  }

  /** Whether {@link #next} may be called. */
  public boolean isOpen() {
    return open;
  }

  /** Ends the scan; what it read stays read. Closing twice is fine. */
  public void close() {
    if (open) {
      open = false;
      shrink();
      tx.closed(this);
    }
  }

  void abandon() {
    open = false;
    shrink();
    tx.counters.pageAccesses += takePageAccesses();
  }

  long takePageAccesses() {
    long all = leaf.pageAccesses() + above.pageAccesses();
    long since = all - pageAccessesTaken;
    pageAccessesTaken = all;
    return since;
  }
}
