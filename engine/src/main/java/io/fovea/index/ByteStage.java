package io.fovea.index;

import io.fovea.encoding.Tuple;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Checks keys, interval ends and values of a table of byte strings, and copies them into the
 * scratch memory of a context, which the caller's transaction owns.
 */
public final class ByteStage {
  /** Returned in place of a length if no key is below the upper end. */
  public static final int EMPTY = -2;

  private final TableCore core;

  public ByteStage(TableCore core) {
    this.core = core;
  }

  /**
   * Copies a key into {@link StatementContext#keyStage}.
   *
   * @throws InvalidUseException if the key is empty, or the table is gone
   * @throws KeyTooLargeException if the key exceeds the maximum length for the table
   */
  public MemorySegment key(StatementContext context, byte[] key) {
    Objects.requireNonNull(key, "key");
    requireKey(key.length);
    MemorySegment stage = context.keyStage(core.keyBytesMax);
    Mem.putBytes(stage, 0, key, 0, key.length);
    return stage;
  }

  /** Copies a key from any memory into {@link StatementContext#keyStage}. */
  public MemorySegment key(StatementContext context, MemorySegment key) {
    Objects.requireNonNull(key, "key");
    requireKey(key.byteSize());
    MemorySegment stage = context.keyStage(core.keyBytesMax);
    MemorySegment.copy(key, 0, stage, 0, key.byteSize());
    return stage;
  }

  /** Throws if a key of the given length is not valid in the table. */
  public void requireKey(long bytes) {
    core.requireUsable();
    if (bytes == 0) {
      throw new InvalidUseException("A key must have at least one byte.");
    }
    if (bytes > core.keyBytesMax) {
      throw core.keyTooLong(bytes);
    }
  }

  /**
   * Copies a value into {@link StatementContext#valueStage}.
   *
   * @throws ValueTooLargeException if it exceeds the maximum length of a value
   */
  public MemorySegment value(StatementContext context, MemorySegment value) {
    Objects.requireNonNull(value, "value");
    long bytes = value.byteSize();
    if (bytes > core.tree.maxValueSize()) {
      throw new ValueTooLargeException(
          "table " + core.displayName(), bytes, core.tree.maxValueSize());
    }
    MemorySegment stage = context.valueStage(bytes);
    MemorySegment.copy(value, 0, stage, 0, bytes);
    return stage;
  }

  /**
   * Writes a record and its index entries. The key must not be longer than allowed; the value must
   * be at the start of native memory.
   */
  public void write(
      StatementContext context,
      Tx t,
      IndexCore[] indexes,
      MemorySegment key,
      MemorySegment value,
      int valueLen,
      boolean insert) {
    int keyLen = (int) key.byteSize();
    MemorySegment k = apart(context, key);
    try {
      if (insert) {
        IndexMaintenance.insert(context, t, core, indexes, k, 0, keyLen, value, 0, valueLen);
      } else {
        IndexMaintenance.put(context, t, core, indexes, k, 0, keyLen, value, 0, valueLen);
      }
    } finally {
      context.shrinkRecord();
      context.releaseBlock(k);
    }
  }

  /**
   * Removes a record and its entries, with a key as in {@link #write}; returns whether the record
   * existed.
   */
  public boolean delete(StatementContext context, Tx t, IndexCore[] indexes, MemorySegment key) {
    MemorySegment k = apart(context, key);
    try {
      return IndexMaintenance.delete(context, t, core, indexes, k, 0, (int) key.byteSize());
    } finally {
      context.shrinkRecord();
      context.releaseBlock(k);
    }
  }

  /**
   * Copies a key to separate memory, since {@link StatementContext#keyStage} is used for entries.
   */
  private MemorySegment apart(StatementContext context, MemorySegment key) {
    MemorySegment stage = context.take(core.keyBytesMax);
    MemorySegment.copy(key, 0, stage, 0, key.byteSize());
    return stage;
  }

  /**
   * Copies the ends of an interval into {@link StatementContext#keyStage}, one after the other. If
   * {@code prefix}, the interval includes all keys that begin with the upper end.
   *
   * @return the length of the upper end; -1 for none, {@link #EMPTY} if the interval is empty
   * @throws KeyTooLargeException if an end exceeds the maximum length of a key of the table
   */
  public int interval(
      StatementContext context, byte @Nullable [] from, byte @Nullable [] to, boolean prefix) {
    int loLen = from == null ? 0 : requireEnd(from).length;
    int hiLen = to == null ? -1 : requireEnd(to).length;
    MemorySegment s = context.keyStage((long) loLen + Math.max(hiLen, 0) + 8);
    if (from != null) {
      Mem.putBytes(s, 0, from, 0, loLen);
    }
    if (to != null) {
      Mem.putBytes(s, loLen, to, 0, hiLen);
      if (prefix) {
        hiLen = Tuple.successorOfPrefix(s, loLen, hiLen);
        return hiLen == 0 ? -1 : hiLen;
      }
      return hiLen == 0 ? EMPTY : hiLen;
    }
    return hiLen;
  }

  private byte[] requireEnd(byte[] key) {
    if (key.length > core.keyBytesMax) {
      throw core.keyTooLong(key.length);
    }
    return key;
  }
}
