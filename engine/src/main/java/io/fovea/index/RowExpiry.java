package io.fovea.index;

import io.fovea.encoding.Times;
import io.fovea.encoding.Tuple;
import io.fovea.memory.Mem;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * How rows of a table expire: which a transaction sees, and which it does not.
 *
 * <pre>
 *   time field ≤ 0, or null            never expires
 *   0 &lt; time field ≤ now − after       expired: there is no such row
 *   now − after &lt; time field           there
 * </pre>
 *
 * <p><b>One moment a transaction.</b> The first row of such a table that a transaction meets makes
 * it ask the clock, and {@link StatementContext} keeps what that said until the transaction's end:
 * a row does not expire between two statements. An attempt that is repeated asks again.
 *
 * <p><b>Why it stays serializable.</b> What a transaction sees of a record is a function of the
 * record and of its moment, and the moment is an input of the transaction, like a parameter of its
 * body. A row is hidden <i>after</i> it was read by the means of the transaction, its item in the
 * read set like that of each other row: whoever changes it, or revives it, or inserts over it,
 * meets this read as he would meet the read of a row that is there. So the transactions are
 * serializable as programs that read all rows and pass over some by a look at a field. The sweep is
 * one of them: it deletes rows that its own moment hides, by a delete like any other.
 *
 * <p><b>What that does not say.</b> Moments need not grow along the order in which transactions are
 * serialized: of two that run side by side the later one in that order may have the earlier moment,
 * and see a row that the other did not see any more. And one with an early moment, beside which the
 * row was swept, does not see it, though it would have: the sweep comes before it in the order. So
 * nobody misses a row before its time on the clock, and whoever needs the row for its whole
 * transaction reads it first.
 *
 * <p><b>Rows of older layouts</b> expire by the field as the newest layout has it: by its value
 * there, or by its default where they don't have it. Its numbers are those of {@link
 * LegacyRowReader}.
 *
 * <p>Any thread; what has a transaction by that of it.
 */
public final class RowExpiry {
  public final Expiry spec;
  private final InstantSource clock;
  private final LongAdder passed;
  private final long afterMillis;
  private final int offset;

  /** Whether the field has instants, and not milliseconds. */
  private final boolean instants;

  /** How far the sweep in the background believes the clock. */
  public final ClockGuard guard = new ClockGuard(System::nanoTime);

  /** How far the sweep was behind when it looked last. */
  public volatile long lagMillis;

  /**
   * Those of a table.
   *
   * @param spec by a field of the table's newest layout
   * @param passed counts rows that readers have passed over
   */
  public RowExpiry(Expiry spec, InstantSource clock, LongAdder passed) {
    this.spec = spec;
    this.clock = clock;
    this.passed = passed;
    this.afterMillis = spec.after().toMillis();
    this.offset = spec.field().offset();
    this.instants = spec.field().type() == FieldType.INSTANT;
  }

  /** Up to which time of a row the transaction does not see it; it sees all others. */
  public long hiddenUpTo(StatementContext statementContext, Tx t) {
    return statementContext.moment(t, clock) - afterMillis;
  }

  /** The same where the clock says so. */
  public long hiddenUpTo(long millis) {
    return millis - afterMillis;
  }

  /** What the transaction's moment is. */
  public long moment(StatementContext statementContext, Tx t) {
    return statementContext.moment(t, clock);
  }

  /** The same for who has no transaction: by what the clock says now. */
  public long hiddenUpToNow() {
    return Math.max(0, clock.millis()) - afterMillis;
  }

  /** Whether a record of the newest layout has expired. */
  boolean isExpired(long upTo, MemorySegment record, long recordOff) {
    return isExpired(upTo, time(record, recordOff));
  }

  /** Whether a record has expired. */
  public boolean isExpired(
      long upTo, TableCore core, int length, MemorySegment record, long recordOff) {
    return isExpired(upTo, time(core, length, record, recordOff));
  }

  private static boolean isExpired(long upTo, long time) {
    return time > 0 && time <= upTo;
  }

  /** The time that a record has; 0 where its length is no layout's. */
  private long time(TableCore core, int length, MemorySegment record, long recordOff) {
    return length == core.storedBytes
        ? time(record, recordOff)
        : core.old.millis(length, record, recordOff, spec.field().ordinal());
  }

  /**
   * The time that a record of the newest layout has, as memory has it. One that is null is all
   * zero: no time.
   */
  private long time(MemorySegment record, long recordOff) {
    return instants
        ? Times.millis(record, recordOff + offset)
        : Mem.getLong(record, recordOff + offset);
  }

  /** The bytes of the lowest entry that may have expired, in an index by the field. */
  public int oldest(MemorySegment out, int off) {
    int at = value(out, off);
    return instants ? Tuple.putInstant(out, at, 0, 1) : Tuple.putInt64(out, at, 1);
  }

  /**
   * The bytes of the entry below which all have expired up to a time; it may be any but the last.
   */
  public int behind(long upTo, MemorySegment out, int off) {
    int at = value(out, off);
    if (!instants) {
      return Tuple.putInt64(out, at, upTo + 1); // no time is that large but one that never comes
    }
    int nanos = (int) Math.floorMod(upTo, 1000L) * 1_000_000 + 1;
    return Tuple.putInstant(out, at, Math.floorDiv(upTo, 1000L), nanos);
  }

  private int value(MemorySegment out, int off) {
    return spec.field().nullable() ? Tuple.putThere(out, off, true) : off;
  }

  /** The time of an entry of that index. */
  public long entryMillis(MemorySegment key, long off) {
    int at = (int) off + (spec.field().nullable() ? 1 : 0);
    return instants ? Tuple.getInstantMillis(key, at) : Tuple.getInt64(key, at);
  }

  /** The most bytes of {@link #oldest} and {@link #behind}. */
  public int entryBytes() {
    return spec.field().keyBytesMax();
  }

  /** Whether a reader does not see a record of the newest layout, as memory has it. */
  public boolean hides(
      StatementContext statementContext, Tx t, MemorySegment record, long recordOff) {
    return hides(statementContext, t, time(record, recordOff));
  }

  /**
   * Whether a reader does not see a record. One whose length is no layout's is for who reads it to
   * speak of.
   */
  public boolean hides(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return hides(statementContext, t, time(core, length, record, recordOff));
  }

  private boolean hides(StatementContext statementContext, Tx t, long time) {
    boolean is = time > 0 && isExpired(hiddenUpTo(statementContext, t), time);
    if (is) {
      passed.increment();
    }
    return is;
  }

  /** Where a record has the time, its end: a projection that ends before it has no time. */
  int end() {
    return spec.field().end();
  }

  /** The index by time, by which the sweep finds rows; null if there is none that is used. */
  public static @Nullable IndexCore index(TableCore core, Field field) {
    for (IndexCore i : core.indexes()) {
      if (i.stage == IndexStage.READABLE && !i.isExtracted() && i.fields.getFirst().equals(field)) {
        return i;
      }
    }
    return null;
  }

  /**
   * Removes rows that the transaction does not see and that are in the way of a record: with its
   * entry in a unique index and, of an insert, with its key. So the statement that follows finds
   * what it would find if they had been swept. Before the statement begins: its scratch memory is
   * used here.
   *
   * @param unique whose entries are looked at
   * @param over whether the record of the key itself may be in the way
   */
  static void makeWay(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] unique,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      boolean over) {
    if (core.expiry() == null) {
      return;
    }
    if (over) {
      removeHidden(statementContext, t, core, key, keyOff, keyLen);
    }
    for (IndexCore index : unique) {
      if (!index.looked) {
        continue;
      }
      MemorySegment entry = statementContext.entries(index.entryBytesMax());
      int len =
          Maintenance.newEntry(
              statementContext, index, key, keyOff, keyLen, record, recordOff, entry, 0);
      int room = core.keyBytesMax + index.hints.bytes();
      MemorySegment other = statementContext.take(room);
      try {
        int n = len < 0 ? -1 : t.get(index.tree, entry, 0, len, other, 0, room);
        int otherLen = n < 0 ? -1 : index.hints.keyLength(n);
        if (otherLen >= 0
            && otherLen <= core.keyBytesMax
            && !(otherLen == keyLen && Mem.equal(other, 0, keyLen, key, keyOff, keyLen))) {
          removeHidden(statementContext, t, core, other, 0, otherLen);
        }
      } finally {
        statementContext.give(other);
      }
    }
  }

  /**
   * Removes a row and its entries, if there is one that the transaction does not see: only the
   * record itself says so, and never an entry.
   *
   * @param key not in the scratch memory of {@code slot}, but for what was taken of it
   * @return whether it did
   */
  public static boolean removeHidden(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    RowExpiry expiry = Objects.requireNonNull(core.expiry(), "expiry");
    int size = core.recordBytes();
    MemorySegment record = statementContext.take(size);
    try {
      int n = t.get(core.tree, key, keyOff, keyLen, record, 0, size);
      if (n < 0) {
        return false;
      }
      LegacyRowReader.settle(statementContext, t, core, key, keyOff, keyLen, n, record, 0);
      if (!expiry.isExpired(expiry.hiddenUpTo(statementContext, t), record, 0)) {
        return false;
      }
      Maintenance.remove(statementContext, t, core, core.indexes(), key, keyOff, keyLen, record, 0);
      return true;
    } finally {
      statementContext.give(record);
    }
  }

  /** Whether the transaction does not see the record of a key; one that is not there it would. */
  public static boolean isHidden(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    RowExpiry expiry = core.expiry();
    if (expiry == null) {
      return false;
    }
    int size = core.recordBytes();
    MemorySegment record = statementContext.take(size);
    try {
      int n = t.get(core.tree, key, keyOff, keyLen, record, 0, size);
      if (n < 0) {
        return false;
      }
      LegacyRowReader.settle(statementContext, t, core, key, keyOff, keyLen, n, record, 0);
      return expiry.hides(statementContext, t, record, 0);
    } finally {
      statementContext.give(record);
    }
  }
}
