package io.fovea.index;

import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Position;
import io.fovea.memory.Mem;
import io.fovea.schema.EntryHints;
import io.fovea.txn.HintCounters;
import io.fovea.txn.HintCounters.Repair;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The hints in the entries of one index: where they come from, how a record is read by one, and
 * when one is put right.
 *
 * <pre>
 *   write of a record   the place where the statement has found the record, or its gap, goes into
 *                       the value of the new entry
 *   making of an index  from below none; by transactions the place that the scan of the table sees
 *   lookup              entry ─► hint ─► {@link Tx#getHinted} ─► record, and what was wrong
 *                         ▲                                          │
 *                         └──── stored where the entry was read ◄────┘  if the policy of the part
 *                               without waiting; page, slot: dirty       that was wrong says so
 *                               frame, line: not
 * </pre>
 *
 * <p><b>Why at the statement, not at the install.</b> The statement knows the place for nothing: it
 * has just read the record, or seen that it is absent. Between it and the install a split may move
 * the page's half, or another insert the slot; then the first lookup puts the hint right, as any
 * other that went wrong. In return the commit knows nothing of hints, the hint is in the value from
 * the start, in the write set as in the log, and replay brings back what was right when it was
 * logged: no record is written because of a hint, and no record is longer by one than the entry is.
 *
 * <p>Any thread, with a transaction of its own.
 */
public final class IndexHints {
  /** Of an entry that this transaction has written: there is no place to put a hint right. */
  static final int WRITTEN = -1;

  /** Of an entry that was not read but looked at: its place is {@link StatementContext#entry}. */
  public static final int PEEKED = -2;

  public final EntryHints kind;
  public final HintCodec codec;
  private final HintUse use;
  private final boolean active;

  /** By {@link Repair}, one for each part, as what makes one wrong leaves the others right. */
  private final RepairPolicy[] policies = new RepairPolicy[Repair.values().length];

  public IndexHints(EntryHints kind, HintUse use) {
    this.kind = kind;
    this.use = use;
    this.codec = new HintCodec(kind.pages(), kind.frames(), kind.slots());
    this.active = kind.pages() && use.pages;
    Arrays.setAll(policies, i -> new RepairPolicy());
  }

  private RepairPolicy policy(Repair part) {
    return policies[part.ordinal()];
  }

  /** How many bytes of an entry's value are the hint. */
  public int bytes() {
    return codec.bytes();
  }

  /** How many policies have switched repairs off. */
  public int switchedOff() {
    int off = 0;
    for (RepairPolicy policy : policies) {
      off += policy.isOn() ? 0 : 1;
    }
    return off;
  }

  /** Writes the hint of a new entry. */
  void write(TableCore table, MemorySegment s, long at, Position place) {
    if (codec.bytes() == 0) {
      return;
    }
    if (!active) {
      place.clear();
    }
    place.line = HintedLeaf.line(table.tree, place);
    put(s, at, place);
  }

  /** Writes the hint of a new entry, of a record that this transaction has just written. */
  void write(
      Tx t,
      TableCore table,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment s,
      long at,
      Position place) {
    if (codec.bytes() == 0) {
      return;
    }
    if (active) {
      t.placeOf(table.tree, key, keyOff, keyLen, place);
    }
    write(table, s, at, place);
  }

  private void put(MemorySegment s, long at, Position place) {
    codec.write(s, at, place, use.frames);
  }

  /**
   * Reads the record that an entry names.
   *
   * @param hint where the entry's hint is; native memory
   * @param entry the handle of the entry's read, {@link #PEEKED}, or another negative number where
   *     the transaction wrote it
   * @return as {@link Tx#get}
   */
  public int get(
      StatementContext statementContext,
      Tx t,
      TableCore table,
      IndexCore index,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment hint,
      long hintOff,
      int entry,
      RecordBuffer out) {
    return get(
        statementContext,
        t,
        table,
        index,
        pk,
        pkOff,
        pkLen,
        hint,
        hintOff,
        entry,
        out.segment(),
        out.base(),
        out.size());
  }

  /**
   * Reads the record that an entry names into memory.
   *
   * @param size how many bytes of it at most
   * @return its length, which may be more
   */
  public int get(
      StatementContext statementContext,
      Tx t,
      TableCore table,
      IndexCore index,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment hint,
      long hintOff,
      int entry,
      MemorySegment out,
      long outOff,
      int size) {
    if (!active) {
      return t.get(table.tree, pk, pkOff, pkLen, out, outOff, size);
    }
    Position p = statementContext.hinted;
    codec.read(hint, hintOff, p);
    if (!use.frames) {
      p.frame = -1;
    }
    int n = t.getHinted(table.tree, pk, pkOff, pkLen, out, outOff, size, p);
    int wrong = t.hinted();
    if (wrong >= 0) {
      t.hintCounters().lookup(wrong);
      int record = t.lastRead();
      long item = t.item(record);
      if (wrong != 0 || RepairPolicy.probes(item)) {
        compare(statementContext, t, table, index, record, item, p, n >= 0 ? entry : WRITTEN);
      }
    }
    return n;
  }

  /** Finds out what is wrong about a hint, tells the policies, puts it right if they like. */
  private void compare(
      StatementContext statementContext,
      Tx t,
      TableCore table,
      IndexCore index,
      int record,
      long item,
      Position p,
      int entry) {
    Position there = statementContext.there;
    t.placeOfRead(record, there);
    there.line = HintedLeaf.line(table.tree, there);
    boolean page = there.pid == p.pid;
    boolean place = !codec.slots() || there.slot == p.slot;
    boolean frame = !use.frames || !codec.frames() || there.frame == p.frame;
    boolean line = there.line == p.line;
    // An entry that was built from below has no hint yet. That is no hint that went wrong, of which
    // the policy counts how many there are: else the first look at all entries would switch it off.
    boolean unset = p.pid == 0;
    if (RepairPolicy.probes(item) && !unset) {
      int context = t.context();
      policy(Repair.PAGE).used(context, page);
      if (page) {
        policy(Repair.SLOT).used(context, place);
        policy(Repair.FRAME).used(context, frame);
        policy(Repair.LINE).used(context, line);
      }
    }
    if ((entry >= 0 || entry == PEEKED) && !(page && place && frame && line) && use.repairs) {
      Repair repair =
          !page ? Repair.PAGE : !place ? Repair.SLOT : !frame ? Repair.FRAME : Repair.LINE;
      repair(
          statementContext, t, index, there, entry, repair, unset || policy(repair).repairs(item));
    }
  }

  private void repair(
      StatementContext statementContext,
      Tx t,
      IndexCore index,
      Position there,
      int entry,
      Repair repair,
      boolean allowed) {
    HintCounters counters = t.hintCounters();
    if (!allowed) {
      counters.suppressed++;
      return;
    }
    MemorySegment stage = statementContext.hint;
    put(stage, 0, there);
    boolean keep = (repair == Repair.PAGE || repair == Repair.SLOT) && use.mayDirty();
    if (entry != PEEKED) {
      t.placeOfRead(entry, statementContext.entry);
    }
    if (HintedLeaf.store(index.tree, statementContext.entry, stage, 0, codec.bytes(), keep)) {
      counters.repairs[repair.ordinal()]++;
    } else {
      counters.missed++;
    }
  }

  /** The length of the primary key in the value of an entry, negative where that is damaged. */
  public int keyLength(int valueLength) {
    return valueLength - codec.bytes();
  }

  /** Copies a primary key, without its hint, in front of room for one. */
  MemorySegment staged(StatementContext statementContext, MemorySegment pk, long pkOff, int pkLen) {
    MemorySegment stage = statementContext.keyStage(pkLen + (long) codec.bytes());
    Mem.copy(pk, pkOff, stage, 0, pkLen);
    return stage;
  }
}
