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
 * The hints in the entries of one index: how they are set, used and repaired.
 *
 * <pre>
 *   write of a record   the location at which the statement found the record, or its gap, goes into
 *                       the value of the new entry
 *   index build         a bulk build stores none; transactions store the location of the scan
 *   lookup              entry ─► hint ─► {@link Tx#getHinted} ─► record, and which part was wrong
 *                         ▲                                          │
 *                         └──── stored where the entry was read ◄────┘  without waiting, if the
 *                               page, slot: makes the page dirty        policy of the wrong part
 *                               frame, line: does not                   allows it
 * </pre>
 *
 * <p><b>Why hints are set by the statement and not at install time.</b> The statement has the
 * location for free: it has just read the record, or found it absent. Before the install, a split
 * may move half of the page or another insert may shift the slot; then the first lookup repairs the
 * hint like any other wrong one. In return the commit needs no knowledge of hints: a hint is part
 * of the value in the write set and in the log, and replay restores it as it was logged. No record
 * is written because of a hint; hints lengthen only entries.
 *
 * <p>Safe for use by any thread, each with its own transaction.
 */
public final class IndexHints {
  /** The entry was written by this transaction, so there is no stored hint to repair. */
  static final int WRITTEN = -1;

  /** The entry was read without tracking; its location is {@link StatementContext#entry}. */
  public static final int PEEKED = -2;

  public final EntryHints kind;
  public final HintCodec codec;
  private final HintUse use;
  private final boolean active;

  /** One policy for each {@link Repair}: the causes of wrong parts are independent. */
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

  public int bytes() {
    return codec.bytes();
  }

  public int switchedOff() {
    int off = 0;
    for (RepairPolicy policy : policies) {
      off += policy.isOn() ? 0 : 1;
    }
    return off;
  }

  void write(TableCore table, MemorySegment s, long at, Position slotMatches) {
    if (codec.bytes() == 0) {
      return;
    }
    if (!active) {
      slotMatches.clear();
    }
    slotMatches.line = HintedLeaf.line(table.tree, slotMatches);
    put(s, at, slotMatches);
  }

  /** Writes the hint of a new entry for a record that this transaction has just written. */
  void write(
      Tx t,
      TableCore table,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment s,
      long at,
      Position slotMatches) {
    if (codec.bytes() == 0) {
      return;
    }
    if (active) {
      t.locationOf(table.tree, key, keyOff, keyLen, slotMatches);
    }
    write(table, s, at, slotMatches);
  }

  private void put(MemorySegment s, long at, Position slotMatches) {
    codec.write(s, at, slotMatches, use.frames);
  }

  /**
   * Reads up to {@code size} bytes of the record of an entry; returns its full length.
   *
   * @param hint native memory with the entry's hint
   * @param entry the handle of the entry's read, {@link #PEEKED}, or another negative number if the
   *     transaction wrote the entry
   * @return as {@link Tx#get}
   */
  public int get(
      StatementContext context,
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
    Position p = context.hinted;
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
        compare(context, t, table, index, record, item, p, n >= 0 ? entry : WRITTEN);
      }
    }
    return n;
  }

  /** Checks a hint against the location found, updates the policies, and repairs it if allowed. */
  private void compare(
      StatementContext context,
      Tx t,
      TableCore table,
      IndexCore index,
      int record,
      long item,
      Position p,
      int entry) {
    Position current = context.position;
    t.locationOfRead(record, current);
    current.line = HintedLeaf.line(table.tree, current);
    boolean page = current.pid == p.pid;
    boolean slotMatches = !codec.slots() || current.slot == p.slot;
    boolean frame = !use.frames || !codec.frames() || current.frame == p.frame;
    boolean line = current.line == p.line;
    // An entry from a bulk build has no hint yet. The policy does not count that as a miss;
    // otherwise the first lookups of all entries would disable repairs.
    boolean unset = p.pid == 0;
    if (RepairPolicy.probes(item) && !unset) {
      int number = t.context();
      policy(Repair.PAGE).used(number, page);
      if (page) {
        policy(Repair.SLOT).used(number, slotMatches);
        policy(Repair.FRAME).used(number, frame);
        policy(Repair.LINE).used(number, line);
      }
    }
    if ((entry >= 0 || entry == PEEKED) && !(page && slotMatches && frame && line) && use.repairs) {
      Repair repair =
          !page ? Repair.PAGE : !slotMatches ? Repair.SLOT : !frame ? Repair.FRAME : Repair.LINE;
      repair(context, t, index, current, entry, repair, unset || policy(repair).repairs(item));
    }
  }

  private void repair(
      StatementContext context,
      Tx t,
      IndexCore index,
      Position current,
      int entry,
      Repair repair,
      boolean allowed) {
    HintCounters counters = t.hintCounters();
    if (!allowed) {
      counters.suppressed++;
      return;
    }
    MemorySegment stage = context.hint;
    put(stage, 0, current);
    boolean keep = (repair == Repair.PAGE || repair == Repair.SLOT) && use.mayDirty();
    if (entry != PEEKED) {
      t.locationOfRead(entry, context.entry);
    }
    if (HintedLeaf.store(index.tree, context.entry, stage, 0, codec.bytes(), keep)) {
      counters.repairs[repair.ordinal()]++;
    } else {
      counters.missed++;
    }
  }

  /** Returns the length of the primary key in the value of an entry, negative if it is damaged. */
  public int keyLength(int valueLength) {
    return valueLength - codec.bytes();
  }

  /** Copies a primary key into memory that has space for a hint after the key. */
  MemorySegment staged(StatementContext context, MemorySegment pk, long pkOff, int pkLen) {
    MemorySegment stage = context.keyStage(pkLen + (long) codec.bytes());
    Mem.copy(pk, pkOff, stage, 0, pkLen);
    return stage;
  }
}
