package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyRange;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

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
 * key above it, or +inf, cover every possible key. An ascending scan that stops early reads only
 * the keys that it passed; a descending one reads item(s) first.
 *
 * <p><b>Own writes.</b> Inserted and replaced keys are merged from the write set. Deleted ones are
 * skipped but read, because they are installed; patches are applied to a copy. Writes ahead of an
 * open scan are seen.
 *
 * <p><b>Seeks.</b> {@link #seek}, {@link #first}, {@link #last} and a change of direction discard
 * the batch and start at another key of the interval. This equals closing the scan and opening one
 * over the rest, so the argument above holds for each piece:
 *
 * <ul>
 *   <li>An ascending piece that starts at x reads the first installed key at or above x, whose item
 *       covers the gap with x. A descending piece starts with the item of the first installed key
 *       above x.
 *   <li>Keys between two pieces were not returned, so their items need not be read.
 *   <li>An item that two pieces read is one entry of the read set; a different wts aborts.
 *   <li>A seek beyond the interval's end reads nothing, nor does a step back from the start.
 * </ul>
 */
public final class TxScan extends ScanBatches {
  private static final int KEEP_BYTES = 64 << 10;

  private final TxLife life;
  private final WriteSet writes;
  private final TxReads reader;

  private final Consumer<TxScan> whenClosed;

  int index;

  private boolean open;

  /** Whether the scan's order is descending; {@link #descending} is the current direction. */
  private boolean downwards;

  /** Whether it currently moves against its order. */
  private boolean reversed;

  /** Whether the last step found nothing: it is after the last record in its direction. */
  private boolean ended;

  /** Whether {@link #next} may continue: the scan is open, not reversed, and not at its end. */
  private boolean ready;

  /** Whether this transaction wrote the current record, which is then in the write set's memory. */
  private boolean owned;

  private boolean keysOnly;

  private final OwnWrites own = new OwnWrites();

  // the current record
  private MemorySegment keySegment;
  private long keyOffset;
  private int keyLength;
  private MemorySegment valueSegment;
  private long valueOffset;
  private int valueLength;
  private int handle;
  private MemorySegment overlay = Blocks.NONE;

  TxScan(
      TxLife life,
      Workspace work,
      ConcurrencyControl concurrencyControl,
      TxReads reader,
      Consumer<TxScan> whenClosed) {
    super(life, work, concurrencyControl, reader);
    this.life = life;
    this.writes = work.writes;
    this.reader = reader;
    this.whenClosed = whenClosed;
    this.keySegment = Blocks.NONE;
    this.valueSegment = Blocks.NONE;
  }

  void free() {
    freeRange();
    freeBatches();
    freeValue();
  }

  private void freeValue() {
    MemorySegment was = overlay;
    overlay = Blocks.NONE;
    memory.release(was);
  }

  private void shrink() {
    keySegment = Blocks.NONE;
    valueSegment = Blocks.NONE;
    if (overlay.byteSize() > KEEP_BYTES) {
      freeValue();
    }
    shrinkBatches(KEEP_BYTES);
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
    openRange(
        tree,
        low,
        lowOffset,
        lowLength,
        lowInclusive,
        high,
        highOffset,
        highLength,
        highInclusive,
        descending);
    downwards = descending;
    reversed = false;
    allowLeaves();
    begin();
    keysOnly = false;
    open = true;
    ready = true;
  }

  private void begin() {
    openBatches();
    own.clear();
    handle = -1;
    keyLength = -1;
    owned = false;
    ended = false;
  }

  /**
   * Prepares the scan for deletes of its records, before the first {@link #next}: nothing else is
   * written in the interval while it is open, so the transaction's writes are collected only once.
   * Without {@code values}, long ones are not read, and patches not applied.
   */
  public void prepareForDeletes(boolean values) {
    keysOnly = !values;
    collectOwn();
    own.keep();
  }

  /** Returns its interval, whose bounds change when it is opened again. */
  public KeyRange range() {
    return new KeyRange(
        bounds, 0, lowLength, lowInclusive, bounds, keyBytesMax, highLength, highInclusive);
  }

  /** Collects the transaction's writes ahead of the current record, or of the start. */
  private void collectOwn() {
    if (keyLength < 0) {
      own.collect(writes, this, bounds, start, startLength, startInclusive);
    } else {
      own.collect(writes, this, keySegment(), keyOffset, keyLength, false);
    }
  }

  // ---------------------------------------------------------------- the merged stream

  /**
   * Moves to the next record; returns whether there is one. All moves throw {@link
   * InvalidUseException} after {@link #close} or the transaction's end.
   */
  public boolean next() {
    return (ready || resume(false)) && step();
  }

  /**
   * Moves to the previous record, or from the end to the last one; returns whether there is one. A
   * change of direction is a search from the root.
   */
  public boolean previous() {
    return resume(true) && step();
  }

  /** Moves to the first record of the interval; returns whether there is one. */
  public boolean first() {
    return fromEnd(false);
  }

  /** Moves to the last record of the interval; returns whether there is one. */
  public boolean last() {
    return fromEnd(true);
  }

  private boolean fromEnd(boolean back) {
    requireOpen();
    setDirection(back);
    startAtEnd();
    begin();
    return step();
  }

  /**
   * Moves to the first record at (if {@code inclusive}) or after a key, in the scan's order;
   * returns false at the end.
   */
  public boolean seek(MemorySegment key, long offset, int length, boolean inclusive) {
    requireOpen();
    boolean above = above(key, offset, length, 0, lowLength, lowInclusive);
    boolean below = below(key, offset, length, keyBytesMax, highLength, highInclusive);
    setDirection(false);
    if (downwards ? below : above) {
      startAt(key, offset, length, inclusive);
    } else {
      startAtEnd();
    }
    begin();
    if (downwards ? above : below) {
      return step();
    }
    finish();
    return end();
  }

  private void requireOpen() {
    if (!open) {
      throw new InvalidUseException("The scan is closed, or its transaction has ended.");
    }
  }

  private void setDirection(boolean back) {
    reversed = back;
    descending = downwards != back;
    ready = !back;
  }

  /** Continues in a direction; returns false if there can be no record. */
  private boolean resume(boolean back) {
    requireOpen();
    if (back == reversed) {
      ended = false;
      ready = !back;
      return true;
    }
    boolean wasEnd = ended;
    if (!wasEnd && keyLength < 0 && atFirstBound) {
      return false; // before the first record
    }
    setDirection(back);
    if (wasEnd) {
      startAtEnd();
    } else if (keyLength >= 0) {
      startAt(keySegment(), keyOffset, keyLength, false);
    } else {
      startAt(bounds, start, startLength, !startInclusive);
    }
    begin();
    return true;
  }

  /**
   * Takes the next batch. Keeps the position, which the batch overwrites: if a device fails, the
   * scan is after its last record.
   */
  private boolean refill() {
    if (keyLength >= 0) {
      setStart(keySegment(), keyOffset, keyLength, false);
      keyLength = -1;
      owned = false;
    }
    return fill();
  }

  private boolean end() {
    ended = true;
    ready = false;
    return false;
  }

  private boolean step() {
    life.operation();
    WriteSet writes = this.writes;
    if (writes.size() > 0 && own.stale(writes)) {
      collectOwn(); // before the next batch overwrites the current key
    }
    for (; ; ) {
      boolean some = batchAt < batchSize || refill();
      if (writes.size() == 0) {
        if (!some) {
          return end();
        }
        deliver(batchAt++);
        return true;
      }
      if (!some && own.isEmpty()) {
        return end();
      }
      int order = !some ? 1 : own.isEmpty() ? -1 : compareOwn(writes);
      if (order >= 0) {
        if (order == 0) {
          handle = handles[batchAt++];
        } else {
          handle = -1;
        }
        deliverOwn(writes, own.next());
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
      // Deleted by this transaction; PUT and INSERT are in the list of its writes.
    }
  }

  /**
   * Negative: the batch's next key comes first; 0: the keys are equal; positive: the next own key
   * comes first.
   */
  private int compareOwn(WriteSet writes) {
    int w = own.peek();
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
    owned = false;
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
      if (!keysOnly) {
        fetchOverflow();
      }
    } else {
      valueSegment = leaf.segment();
      valueOffset = leaf.valueOffset(s);
    }
  }

  @SuppressWarnings("NullAway") // with versions
  private void deliverOld(int i) {
    valueSegment = old.segment();
    valueOffset = old.valueOffset(i);
    valueLength = old.valueLength(i);
  }

  /** Reads a value outside of the leaf by a point read, which must see the same wts. */
  private void fetchOverflow() {
    if (overlay.byteSize() == 0) {
      overlay = memory.take(keysBytes);
    }
    for (; ; ) {
      int cap = (int) overlay.byteSize();
      int length = reader.readScanned(tree, keySegment, keyOffset, keyLength, overlay, cap);
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
    if (keysOnly) {
      return;
    }
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
    owned = true;
    MemorySegment s = writes.scratch.segment();
    keySegment = s;
    keyOffset = writes.keyOffset(w);
    keyLength = writes.keyLength(w);
    valueSegment = s;
    valueOffset = writes.valueOffset(w);
    valueLength = writes.valueLength(w);
  }

  // ---------------------------------------------------------------- the current record

  /**
   * Returns the segment of the key, valid until the next call of any method. If this transaction
   * wrote the record, it moves with the next write.
   */
  public MemorySegment keySegment() {
    return owned ? writes.scratch.segment() : keySegment;
  }

  public long keyOffset() {
    return keyOffset;
  }

  public int keyLength() {
    return keyLength;
  }

  /** Returns the segment of the value, valid until the next call of any method. */
  public MemorySegment valueSegment() {
    return owned ? writes.scratch.segment() : valueSegment;
  }

  /** Returns whether its order is descending. */
  public boolean isDescending() {
    return downwards;
  }

  public long valueOffset() {
    return valueOffset;
  }

  public int valueLength() {
    return valueLength;
  }

  /**
   * Returns the record's handle in the read set, for {@link Tx#patch}; -1 if this transaction wrote
   * it.
   */
  public int handle() {
    return handle;
  }

  /** Returns the page id of the current record's leaf, for reports of corruption. */
  public long page() {
    return leaf.page();
  }

  /** Ends the scan; its reads stay in the read set. Idempotent. */
  public void close() {
    if (open) {
      open = false;
      ready = false;
      shrink();
      whenClosed.accept(this);
    }
  }

  /** Ends the scan with its transaction; returns the number of page accesses. */
  long abandon() {
    open = false;
    ready = false;
    shrink();
    return takePageAccesses();
  }
}
