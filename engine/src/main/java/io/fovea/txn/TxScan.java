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
 * key above it, or +inf, cover every place where a key could appear. An ascending scan that stops
 * early needs the keys it has passed and no more; a descending one reads item(s) first.
 *
 * <p><b>Own writes.</b> Inserted and replaced keys of the interval are merged from the write set;
 * deleted ones are skipped but read all the same, because they are installed; patches are laid over
 * a copy. Writes made while the scan is open are seen where they lie ahead of it.
 *
 * <p><b>Seeks and turns.</b> {@link #seek}, {@link #first}, {@link #last} and a change of direction
 * forget what was fetched and begin at another place of the interval, in the direction that is
 * asked for. That is what closing this scan and opening one of the rest of the interval would do,
 * step for step, so the argument above holds for each piece between two of them by itself:
 *
 * <ul>
 *   <li>A piece has read the items of all installed keys that it passed, from its start on, and
 *       their gaps. An ascending piece that begins at x lands on the first installed key at or
 *       above x, whose item has the gap in which x lies. A descending one begins with the item of
 *       the first installed key above x, which has the gap from the key that it lands on.
 *   <li>What lies between two pieces was not looked at, nothing is told of it, and its items need
 *       not be read. Others may insert there without a conflict.
 *   <li>Where pieces overlap, an item that is read twice is one entry of the read set, and a second
 *       look that finds another wts aborts, as with any other read.
 *   <li>A seek to a key that lies beyond the interval's end reads nothing: that nothing is found
 *       follows from the arguments alone. So does that nothing lies before the first record of a
 *       scan that has not begun.
 * </ul>
 *
 * Every protocol, and the pessimistic transaction, meets pieces in {@link ScanBatches} and in
 * {@link ConcurrencyControl#pin} as it meets scans; none of them knows of seeks.
 */
public final class TxScan extends ScanBatches {
  private static final int KEEP_BYTES = 64 << 10;

  private final TxLife life;
  private final WriteSet writes;
  private final TxReads reader;

  /** Is told when the user closes the scan. */
  private final Consumer<TxScan> whenClosed;

  /** Where this scan stands in its transaction's list of open ones. */
  int index;

  private boolean open;

  /** Whether the scan's own order is descending; {@link #descending} is the present direction. */
  private boolean downwards;

  /** Whether it goes against its order at present. */
  private boolean reversed;

  /** Whether the last step found nothing: it stands behind all that lies in its direction. */
  private boolean ended;

  /** Whether {@link #next} may just go on: it is open, not reversed, and has not ended. */
  private boolean ready;

  /** Whether the current record is an own one, in the write set's memory. */
  private boolean owned;

  /** Whether values are not wanted. */
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

  /** Gives all memory back; {@link #open} takes some again. */
  void free() {
    freeRange();
    freeBatches();
    freeValue();
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
    shrinkBatches(KEEP_BYTES);
  }

  /** Opens the scan: see {@link #openRange}. */
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
    readsAnything();
    begin();
    keysOnly = false;
    open = true;
    ready = true;
  }

  /** Begins at the start of the range, in the present direction. */
  private void begin() {
    openBatches();
    own.clear();
    handle = -1;
    keyLength = -1;
    owned = false;
    ended = false;
  }

  /**
   * Before the first {@link #next}: what this delivers is deleted, one after the other, and nothing
   * else is written in the interval while the scan is open. So the own writes that lie ahead are
   * collected once; after each delete, it would be a pass over all that the transaction has
   * written.
   *
   * @param values whether values are asked for; else those outside of the leaf are not read, and
   *     patches not laid over
   */
  public void toDelete(boolean values) {
    keysOnly = !values;
    collectOwn();
    own.keep();
  }

  /** Its interval; the ends are in its memory, and are others when it is opened again. */
  public KeyRange range() {
    return new KeyRange(
        bounds, 0, lowLength, lowInclusive, bounds, keyBytesMax, highLength, highInclusive);
  }

  /** Collects the own writes that are ahead of the current record, or of the start. */
  private void collectOwn() {
    if (keyLength < 0) {
      own.collect(writes, this, bounds, start, startLength, startInclusive);
    } else {
      own.collect(writes, this, keySegment(), keyOffset, keyLength, false);
    }
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
    return (ready || resume(false)) && step();
  }

  /**
   * Moves to the record before the current one; behind the last one, to the last one. Where the
   * scan has gone the other way before, this is a search from the root.
   *
   * @return whether there is one; if not, the scan stands before the first one
   * @throws io.fovea.error.TransactionAbortedException if the transaction can't go on
   * @throws InvalidUseException after {@link #close} or the transaction's end
   */
  public boolean previous() {
    return resume(true) && step();
  }

  /**
   * Moves to the first record of the interval.
   *
   * @return whether there is one
   * @throws io.fovea.error.TransactionAbortedException if the transaction can't go on
   * @throws InvalidUseException after {@link #close} or the transaction's end
   */
  public boolean first() {
    return fromEnd(false);
  }

  /**
   * Moves to the last record of the interval.
   *
   * @return whether there is one
   * @throws io.fovea.error.TransactionAbortedException if the transaction can't go on
   * @throws InvalidUseException after {@link #close} or the transaction's end
   */
  public boolean last() {
    return fromEnd(true);
  }

  private boolean fromEnd(boolean back) {
    requireOpen();
    head(back);
    startAtEnd();
    begin();
    return step();
  }

  /**
   * Moves to the first record of the interval that lies at a key or, in the scan's order, behind
   * it.
   *
   * @param inclusive whether a record of the key itself will do
   * @return whether there is one; if not, the scan stands behind the last one
   * @throws io.fovea.error.TransactionAbortedException if the transaction can't go on
   * @throws InvalidUseException after {@link #close} or the transaction's end
   */
  public boolean seek(MemorySegment key, long offset, int length, boolean inclusive) {
    requireOpen();
    boolean above = above(key, offset, length, 0, lowLength, lowInclusive);
    boolean below = below(key, offset, length, keyBytesMax, highLength, highInclusive);
    head(false);
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

  /** Takes a direction: the scan's order, or back. */
  private void head(boolean back) {
    reversed = back;
    descending = downwards != back;
    ready = !back;
  }

  /** Goes on in a direction, from where it stands; false where nothing can be there. */
  private boolean resume(boolean back) {
    requireOpen();
    if (back == reversed) {
      ended = false;
      ready = !back;
      return true;
    }
    boolean wasEnd = ended;
    if (!wasEnd && keyLength < 0 && atRim) {
      return false; // before the first record
    }
    head(back);
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
   * Takes the next batch. Where the scan has come to is kept, for the batch is written over it: a
   * batch that a device refuses leaves the scan behind the record that it was on.
   */
  private boolean refill() {
    if (keyLength >= 0) {
      place(keySegment(), keyOffset, keyLength, false);
      keyLength = -1;
      owned = false;
    }
    return fill();
  }

  /** There is nothing ahead. */
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
      // Deleted by this transaction; PUT and INSERT are in the list of own writes.
    }
  }

  /** Negative: the batch's next key comes first; 0: the same key; positive: the own one does. */
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
   * The segment that holds the key; it is good until the next call of any method. That of an own
   * record moves when the transaction writes more, and what was there belongs to others then.
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

  /** The segment that holds the value; it is good until the next call of any method. */
  public MemorySegment valueSegment() {
    return owned ? writes.scratch.segment() : valueSegment;
  }

  /** Whether its own order is descending. */
  public boolean isDescending() {
    return downwards;
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
      ready = false;
      shrink();
      whenClosed.accept(this);
    }
  }

  /** The transaction has ended; returns the pages that were looked at. */
  long abandon() {
    open = false;
    ready = false;
    shrink();
    return takePageAccesses();
  }
}
