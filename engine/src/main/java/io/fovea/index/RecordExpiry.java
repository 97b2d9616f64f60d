package io.fovea.index;

import io.fovea.encoding.Times;
import io.fovea.encoding.Tuple;
import io.fovea.memory.Mem;
import io.fovea.object.ObjectEntries;
import io.fovea.schema.Expiry;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * How records of a table expire: which a transaction sees, and which it does not.
 *
 * <pre>
 *   time ≤ 0, or null            never expires        of a row     a field
 *   0 &lt; time ≤ now − after       expired: there       of an object a component ({@link ObjectPlan})
 *                                is no such record    of a byte    8 of its bytes
 *   now − after &lt; time           there                string
 * </pre>
 *
 * <p><b>One moment a transaction.</b> The first record of such a table that a transaction meets
 * makes it ask the clock, and {@link StatementContext} keeps what that said until the transaction's
 * end: a record does not expire between two statements. An attempt that is repeated asks again.
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
public final class RecordExpiry {
  private final Expiry spec;

  /** The field of rows; null of another form. */
  private final @Nullable Field field;

  /** The component of objects; null of another form. */
  private final @Nullable ObjectPlan component;

  private final InstantSource clock;
  private final LongAdder passed;
  private final long afterMillis;

  /** Of rows where the field is in memory, of byte strings where the time is. */
  private final int offset;

  /** Where that ends. */
  private final int end;

  /** Whether the time is an instant, and not milliseconds. */
  private final boolean instants;

  /** Whether a byte before the time says if it is there, in the index by time. */
  private final boolean nullable;

  /** In entries of objects the nanoseconds of an instant are an integer with a sign. */
  private final int nanosMask;

  /** How far the sweep in the background believes the clock. */
  public final ClockGuard guard = new ClockGuard(System::nanoTime);

  /** How far the sweep was behind when it looked last. */
  public volatile long lagMillis;

  /**
   * Those of a table.
   *
   * @param core has the index by time, unless it is a table of rows
   * @param spec of rows by a field of the table's newest layout
   * @param passed counts records that readers have passed over
   */
  public RecordExpiry(TableCore core, Expiry spec, InstantSource clock, LongAdder passed) {
    this.spec = spec;
    this.clock = clock;
    this.passed = passed;
    this.afterMillis = spec.after().toMillis();
    this.nanosMask = spec instanceof Expiry.OfObjects ? Integer.MIN_VALUE : 0;
    switch (spec) {
      case Expiry.OfRows by -> {
        field = by.field();
        component = null;
        offset = by.field().offset();
        end = by.field().end();
        instants = by.field().type() == FieldType.INSTANT;
        nullable = by.field().nullable();
      }
      case Expiry.OfObjects by -> {
        IndexCore index = Objects.requireNonNull(index(core, by), "an index by the component");
        field = null;
        component = new ObjectPlan(Objects.requireNonNull(index.objects).entries().first());
        offset = 0;
        end = 0;
        instants = component.entries().parts().getFirst().type() == Shape.Scalar.INSTANT;
        nullable = true;
      }
      case Expiry.OfBytes by -> {
        field = null;
        component = null;
        offset = by.offset();
        end = by.end();
        instants = false;
        nullable = false;
      }
    }
  }

  /** What the specification of the table says now: a component may have got another name. */
  public Expiry spec() {
    return component == null ? spec : by(component.entries());
  }

  /** The same of objects where entries by time are made so. */
  public Expiry by(ObjectEntries byTime) {
    return new Expiry.OfObjects(byTime.paths().getFirst(), spec.after());
  }

  /** The field of rows by which they expire; null of another form. */
  public @Nullable Field field() {
    return field;
  }

  /**
   * Whether a specification says the same.
   *
   * @param objects what the class of a program says of objects, of whatever version
   */
  public boolean is(@Nullable Expiry other, TableCore core, @Nullable ObjectShapes objects) {
    Expiry mine = spec();
    if (mine.equals(other)) {
      return true;
    }
    ObjectHistory versions = core.objects();
    if (component == null
        || versions == null
        || objects == null
        || !(other instanceof Expiry.OfObjects by)
        || !by.after().equals(mine.after())) {
      return false;
    }
    try {
      return component
              .entries()
              .difference(
                  ObjectEntries.of(versions.versions(), objects.value(), List.of(by.component())))
          == null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Objects have got a version more: before the first one of it is written. */
  public void extend(ObjectEntries byTime) {
    Objects.requireNonNull(component).extend(byTime.first());
  }

  /** Up to which time of a record the transaction does not see it; it sees all others. */
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

  /** Whether a record that was read as memory has it has expired; no reader has passed over it. */
  boolean isExpired(
      StatementContext statementContext, Tx t, MemorySegment record, long recordOff, int length) {
    return isExpired(
        hiddenUpTo(statementContext, t), time(statementContext, record, recordOff, length));
  }

  /** Whether a record has expired, as the tree has it. */
  public boolean isExpired(
      long upTo,
      StatementContext statementContext,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return isExpired(upTo, time(statementContext, core, length, record, recordOff));
  }

  private static boolean isExpired(long upTo, long time) {
    return time > 0 && time <= upTo;
  }

  /** The time that a record has, as the tree has it; 0 where its length is no layout's. */
  private long time(
      StatementContext statementContext,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return field == null || length == core.storedBytes
        ? time(statementContext, record, recordOff, length)
        : core.old.millis(length, record, recordOff, field.ordinal());
  }

  /** The time that a record has, as memory has it. */
  private long time(
      StatementContext statementContext, MemorySegment record, long recordOff, int length) {
    if (field != null) {
      return time(record, recordOff);
    }
    if (component != null) {
      return component.millis(statementContext, instants, record, recordOff, length);
    }
    // One that is too short is damaged: whoever reads it gets it as it is.
    return length < end ? 0 : Mem.getLongBE(record, recordOff + offset);
  }

  /**
   * The time that a row of the newest layout has, as memory has it. One that is null is all zero:
   * no time.
   */
  private long time(MemorySegment row, long rowOff) {
    return instants ? Times.millis(row, rowOff + offset) : Mem.getLong(row, rowOff + offset);
  }

  /** The bytes of the lowest entry that may have expired, in the index by time. */
  public int oldest(MemorySegment out, int off) {
    int at = value(out, off);
    return instants ? Tuple.putInstant(out, at, 0, 1 ^ nanosMask) : Tuple.putInt64(out, at, 1);
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
    return Tuple.putInstant(out, at, Math.floorDiv(upTo, 1000L), nanos ^ nanosMask);
  }

  private int value(MemorySegment out, int off) {
    return nullable ? Tuple.putThere(out, off, true) : off;
  }

  /** The time of an entry of that index. */
  public long entryMillis(MemorySegment key, long off) {
    int at = (int) off + (nullable ? 1 : 0);
    return instants
        ? Times.millis(Tuple.getInt64(key, at), Mem.getIntBE(key, at + Long.BYTES) ^ nanosMask)
        : Tuple.getInt64(key, at);
  }

  /** The most bytes of {@link #oldest} and {@link #behind}. */
  public int entryBytes() {
    return (nullable ? 1 : 0) + (instants ? Times.BYTES : Long.BYTES);
  }

  /** Whether a reader does not see a row of the newest layout, as memory has it. */
  public boolean hides(StatementContext statementContext, Tx t, MemorySegment row, long rowOff) {
    return hides(statementContext, t, time(row, rowOff));
  }

  /** Whether a reader does not see a record, as memory has it. */
  public boolean hides(
      StatementContext statementContext, Tx t, MemorySegment record, long recordOff, int length) {
    return hides(statementContext, t, time(statementContext, record, recordOff, length));
  }

  /**
   * Whether a reader does not see a record, as the tree has it. One whose length is no layout's is
   * for who reads it to speak of.
   */
  public boolean hides(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return hides(statementContext, t, time(statementContext, core, length, record, recordOff));
  }

  private boolean hides(StatementContext statementContext, Tx t, long time) {
    boolean is = time > 0 && isExpired(hiddenUpTo(statementContext, t), time);
    if (is) {
      passed.increment();
    }
    return is;
  }

  /** Where a row has the time, its end: a projection that ends before it has no time. */
  int end() {
    return end;
  }

  // --------------------------------------------------------------------------- the index by time

  /** The index by time, by which the sweep finds records; null if there is none that is used. */
  public @Nullable IndexCore index(TableCore core) {
    return index(core, spec());
  }

  private static @Nullable IndexCore index(TableCore core, Expiry by) {
    for (IndexCore i : core.indexes()) {
      if (i.stage == IndexStage.READABLE && isByTime(i, by)) {
        return i;
      }
    }
    return null;
  }

  /** Whether an index is one by time. */
  public boolean isByTime(IndexCore index) {
    return isByTime(index, spec());
  }

  private static boolean isByTime(IndexCore index, Expiry by) {
    return switch (by) {
      case Expiry.OfRows rows ->
          !index.isExtracted() && index.fields.getFirst().equals(rows.field());
      case Expiry.OfObjects objects ->
          index.objects != null
              && index.objects.entries().paths().getFirst().equals(objects.component());
      case Expiry.OfBytes bytes -> isOwn(index);
    };
  }

  /** Whether an index has the times of byte strings that expire so. */
  public static boolean isBy(IndexCore index, Expiry.OfBytes expiry) {
    return index.maker instanceof TimeEntry e && e.by().offset() == expiry.offset();
  }

  /** Whether an index belongs to the expiry of byte strings, with which it comes and goes. */
  public static boolean isOwn(IndexCore index) {
    return index.maker instanceof TimeEntry;
  }

  // ---------------------------------------------------------------------------- records in the way

  /**
   * Removes records that the transaction does not see and that are in the way of a record: with its
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
      int recordLen,
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
          IndexMaintenance.newEntry(
              statementContext,
              core,
              index,
              key,
              keyOff,
              keyLen,
              record,
              recordOff,
              recordLen,
              entry,
              0);
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
   * Removes a record and its entries, if there is one that the transaction does not see: only the
   * record itself says so, and never an entry.
   *
   * @param key not in the scratch memory of {@code statementContext}, but for what was taken of it
   * @return whether it did
   */
  public static boolean removeHidden(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    RecordExpiry expiry = Objects.requireNonNull(core.expiry(), "expiry");
    MemorySegment record =
        IndexMaintenance.readApart(statementContext, t, core, key, keyOff, keyLen);
    int n = statementContext.lengthApart;
    try {
      if (n < 0 || !expiry.isExpired(statementContext, t, record, 0, n)) {
        return false;
      }
      IndexMaintenance.remove(
          statementContext, t, core, core.indexes(), key, keyOff, keyLen, record, n);
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
    RecordExpiry expiry = core.expiry();
    if (expiry == null) {
      return false;
    }
    MemorySegment record =
        IndexMaintenance.readApart(statementContext, t, core, key, keyOff, keyLen);
    int n = statementContext.lengthApart;
    try {
      return n >= 0 && expiry.hides(statementContext, t, record, 0, n);
    } finally {
      statementContext.give(record);
    }
  }
}
