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
 * The expiry rule of a table, which decides whether a record is visible to a transaction.
 *
 * <pre>
 *   time ≤ 0, or null            never expires        of a row     a field
 *   0 &lt; time ≤ now − after       hidden               of an object a component
 *   now − after &lt; time           visible              of a byte    8 of its bytes
 *                                                     string
 * </pre>
 *
 * <p><b>One time per transaction.</b> A transaction reads the clock when it meets the first record
 * of a table with expiry, and {@link StatementContext} keeps the result until the transaction ends,
 * so a record does not expire between two statements. A retry reads the clock again.
 *
 * <p><b>Why it is serializable.</b> Visibility is a function of the record and of the transaction's
 * time, and that time is an input of the transaction, like a parameter of its body. A hidden row
 * was read through the transaction and its item is in the read set, like that of any other row; so
 * a change of the row, or an insert over it, conflicts with this read as usual. Transactions are
 * therefore serializable as programs that read all rows and filter by a field. The sweep is such a
 * program: it deletes, with ordinary deletes, the rows that are hidden at its own time.
 *
 * <p><b>What this does not guarantee.</b> Times need not grow along the serialization order: of two
 * concurrent transactions, the later one in that order may have the earlier time, and see a row
 * that the other did not see. A transaction with an early time may also miss a row that a
 * concurrent sweep has removed, because the sweep precedes it in the order. So no transaction
 * misses a row before the row's time on the clock, and a transaction that needs a row throughout
 * should read it first.
 *
 * <p><b>Rows of older layouts</b> expire by the field in the newest layout: by its stored value, or
 * by its default if the row lacks it. They are read through {@link LegacyRowReader}.
 *
 * <p>Safe for use by any thread; methods with a transaction are called by its thread.
 */
public final class RecordExpiry {
  private final Expiry spec;

  private final @Nullable Field field;

  private final @Nullable ObjectPlan component;

  private final InstantSource clock;
  private final LongAdder passed;
  private final long afterMillis;

  /** The offset of the field in a row in memory, or of the time in a byte string. */
  private final int offset;

  private final int end;

  /** Whether the time is an instant rather than milliseconds. */
  private final boolean instants;

  /** Whether a presence byte precedes the time in the index by time. */
  private final boolean nullable;

  /** Corrects the nanoseconds of an instant, which entries of objects store as a signed integer. */
  private final int nanosMask;

  public final ClockGuard guard = new ClockGuard(System::nanoTime);

  /** The lag of the sweep at its last run. */
  public volatile long lagMillis;

  /**
   * Creates the rule of a table, which has the index by time unless it holds rows.
   *
   * @param passed counts the hidden records that readers skip
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

  /** Returns the current specification of the table; a component may have been renamed. */
  public Expiry spec() {
    return component == null ? spec : by(component.entries());
  }

  public Expiry by(ObjectEntries byTime) {
    return new Expiry.OfObjects(byTime.paths().getFirst(), spec.after());
  }

  public @Nullable Field field() {
    return field;
  }

  public boolean is(@Nullable Expiry other, TableCore core, @Nullable ObjectShapes objects) {
    Expiry mine = spec();
    if (mine.equals(other)) {
      return true;
    }
    ObjectHistory versions = core.objects();
    if (versions != null && objects != null && isOlder(versions, objects)) {
      return true; // an older class does not change the expiry
    }
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
              .difference(versions.entries(objects.value(), List.of(by.component())))
          == null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean isOlder(ObjectHistory versions, ObjectShapes objects) {
    int version = versions.version(objects.value());
    return version > 0 && version < versions.current();
  }

  /** Adds a version of the table's objects, before the first object of that version is written. */
  public void extend(ObjectEntries byTime) {
    Objects.requireNonNull(component).extend(byTime.first());
  }

  /** Returns the time up to which records are hidden from the transaction. */
  public long hiddenUpTo(StatementContext context, Tx t) {
    return context.expiryTime(t, clock) - afterMillis;
  }

  public long hiddenUpTo(long millis) {
    return millis - afterMillis;
  }

  public long now(StatementContext context, Tx t) {
    return context.expiryTime(t, clock);
  }

  /** Returns the time up to which records are hidden now, without a transaction. */
  public long hiddenUpToNow() {
    return Math.max(0, clock.millis()) - afterMillis;
  }

  /** Returns whether a record in memory form has expired. Does not count as a skip by a reader. */
  boolean isExpired(
      StatementContext context, Tx t, MemorySegment record, long recordOff, int length) {
    return isExpired(hiddenUpTo(context, t), time(context, record, recordOff, length));
  }

  public boolean isExpired(
      long upTo,
      StatementContext context,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return isExpired(upTo, time(context, core, length, record, recordOff));
  }

  private static boolean isExpired(long upTo, long time) {
    return time > 0 && time <= upTo;
  }

  /** Returns the time of a record in stored form, or 0 if its length matches no layout. */
  private long time(
      StatementContext context, TableCore core, int length, MemorySegment record, long recordOff) {
    return field == null || length == core.storedBytes
        ? time(context, record, recordOff, length)
        : core.old.millis(length, record, recordOff, field.ordinal());
  }

  private long time(StatementContext context, MemorySegment record, long recordOff, int length) {
    if (field != null) {
      return time(record, recordOff);
    }
    if (component != null) {
      return component.millis(context, instants, record, recordOff, length);
    }
    // A record that is too short is damaged; readers get it unchanged.
    return length < end ? 0 : Mem.getLongBE(record, recordOff + offset);
  }

  /** A null field is all zeros, which means no time. */
  private long time(MemorySegment row, long rowOff) {
    return instants ? Times.millis(row, rowOff + offset) : Mem.getLong(row, rowOff + offset);
  }

  /** Writes the lowest entry in the index by time that may have expired; returns its length. */
  public int lowestEntry(MemorySegment out, int off) {
    int at = value(out, off);
    return instants ? Tuple.putInstant(out, at, 0, 1 ^ nanosMask) : Tuple.putInt64(out, at, 1);
  }

  /** Writes the exclusive upper bound of the entries that have expired up to a time. */
  public int upperBound(long upTo, MemorySegment out, int off) {
    int at = value(out, off);
    if (!instants) {
      return Tuple.putInt64(out, at, upTo + 1); // no overflow: the maximum means never
    }
    int nanos = (int) Math.floorMod(upTo, 1000L) * 1_000_000 + 1;
    return Tuple.putInstant(out, at, Math.floorDiv(upTo, 1000L), nanos ^ nanosMask);
  }

  private int value(MemorySegment out, int off) {
    return nullable ? Tuple.putPresence(out, off, true) : off;
  }

  /** Returns the time of an entry of the index by time. */
  public long entryMillis(MemorySegment key, long off) {
    int at = (int) off + (nullable ? 1 : 0);
    return instants
        ? Times.millis(Tuple.getInt64(key, at), Mem.getIntBE(key, at + Long.BYTES) ^ nanosMask)
        : Tuple.getInt64(key, at);
  }

  /** Returns the maximum length of {@link #lowestEntry} and {@link #upperBound}. */
  public int entryBytes() {
    return (nullable ? 1 : 0) + (instants ? Times.BYTES : Long.BYTES);
  }

  public boolean hides(StatementContext context, Tx t, MemorySegment row, long rowOff) {
    return hides(context, t, time(row, rowOff));
  }

  /** Returns whether a record in memory form is hidden from a reader. */
  public boolean hides(
      StatementContext context, Tx t, MemorySegment record, long recordOff, int length) {
    return hides(context, t, time(context, record, recordOff, length));
  }

  /**
   * Returns whether a stored record is hidden. If its length matches no layout, its reader reports
   * it.
   */
  public boolean hides(
      StatementContext context,
      Tx t,
      TableCore core,
      int length,
      MemorySegment record,
      long recordOff) {
    return hides(context, t, time(context, core, length, record, recordOff));
  }

  private boolean hides(StatementContext context, Tx t, long time) {
    boolean is = time > 0 && isExpired(hiddenUpTo(context, t), time);
    if (is) {
      passed.increment();
    }
    return is;
  }

  /** Returns the offset at which the time in a row ends: a shorter projection lacks the time. */
  int end() {
    return end;
  }

  // --------------------------------------------------------------------------- the index by time

  /** Returns the index by time, which the sweep uses, or null if it is not readable. */
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
      case Expiry.OfBytes bytes -> isExpiryIndex(index);
    };
  }

  /** Returns whether an index is the index by time of this expiry of byte strings. */
  public static boolean isBy(IndexCore index, Expiry.OfBytes expiry) {
    return index.maker instanceof TimeEntry e && e.by().offset() == expiry.offset();
  }

  /**
   * Returns whether an index belongs to an expiry of byte strings, and is created and dropped with
   * it.
   */
  public static boolean isExpiryIndex(IndexCore index) {
    return index.maker instanceof TimeEntry;
  }

  // ---------------------------------------------------------------------------- records in the way

  /**
   * Removes hidden records that have the same entry as a record in a unique index and, if {@code
   * over}, the hidden record with the same key. The statement that follows then behaves as if they
   * had been swept. Call it before the statement begins, because it uses the scratch memory.
   */
  static void removeHiddenConflicts(
      StatementContext context,
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
      removeHidden(context, t, core, key, keyOff, keyLen);
    }
    for (IndexCore index : unique) {
      if (!index.checksBeforeAdd) {
        continue;
      }
      MemorySegment entry = context.entries(index.entryBytesMax());
      int len =
          IndexMaintenance.newEntry(
              context, core, index, key, keyOff, keyLen, record, recordOff, recordLen, entry, 0);
      int capacity = core.keyBytesMax + index.hints.bytes();
      MemorySegment other = context.take(capacity);
      try {
        int n = len < 0 ? -1 : t.get(index.tree, entry, 0, len, other, 0, capacity);
        int otherLen = n < 0 ? -1 : index.hints.keyLength(n);
        if (otherLen >= 0
            && otherLen <= core.keyBytesMax
            && !(otherLen == keyLen && Mem.equal(other, 0, keyLen, key, keyOff, keyLen))) {
          removeHidden(context, t, core, other, 0, otherLen);
        }
      } finally {
        context.releaseBlock(other);
      }
    }
  }

  /**
   * Removes the record of a key and its entries, if it is hidden; returns whether it was. Only the
   * record itself decides, never an entry. The key must not be in the scratch memory of {@code
   * context}, except in memory taken from it.
   */
  public static boolean removeHidden(
      StatementContext context, Tx t, TableCore core, MemorySegment key, long keyOff, int keyLen) {
    RecordExpiry expiry = Objects.requireNonNull(core.expiry(), "expiry");
    MemorySegment record = IndexMaintenance.readApart(context, t, core, key, keyOff, keyLen);
    int n = context.lengthApart;
    try {
      if (n < 0 || !expiry.isExpired(context, t, record, 0, n)) {
        return false;
      }
      IndexMaintenance.remove(context, t, core, core.indexes(), key, keyOff, keyLen, record, n);
      return true;
    } finally {
      context.releaseBlock(record);
    }
  }

  /** Returns whether the record of a key exists and is hidden from the transaction. */
  public static boolean isHidden(
      StatementContext context, Tx t, TableCore core, MemorySegment key, long keyOff, int keyLen) {
    RecordExpiry expiry = core.expiry();
    if (expiry == null) {
      return false;
    }
    MemorySegment record = IndexMaintenance.readApart(context, t, core, key, keyOff, keyLen);
    int n = context.lengthApart;
    try {
      return n >= 0 && expiry.hides(context, t, record, 0, n);
    } finally {
      context.releaseBlock(record);
    }
  }
}
