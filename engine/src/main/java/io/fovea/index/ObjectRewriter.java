package io.fovea.index;

import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;

/**
 * Rewrites objects of older versions as objects of the newest class, each in a transaction of the
 * caller. Confined to the thread of the transaction.
 */
public final class ObjectRewriter {
  /** Converts an object, given its key, both as bytes. */
  @FunctionalInterface
  public interface Converter {
    byte[] convert(byte[] key, byte[] object);
  }

  private ObjectRewriter() {}

  /**
   * Rewrites the object of a key, or removes it if it has expired.
   *
   * @param version the version of the newest class
   * @return the bytes of the old and the new object, or of the key of a removed one; 0 if the
   *     object already has the version or is gone
   * @throws TransactionAbortedException if the table is being dropped, or a range of it deleted
   */
  public static long rewrite(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      int version,
      Converter converter,
      MemorySegment key,
      int keyLen) {
    RuntimeException refusal = core.use(t) ? null : core.refusal(t, false);
    if (refusal != null) {
      throw refusal;
    }
    if (core.expiry() != null
        && RecordExpiry.removeHidden(statementContext, t, core, key, 0, keyLen)) {
      return keyLen;
    }
    try {
      int n = IndexMaintenance.read(statementContext, t, core, key, 0, keyLen);
      MemorySegment record = statementContext.record(0);
      if (n < 1 || Byte.toUnsignedInt(Mem.getByte(record, 0)) == version) {
        return 0;
      }
      byte[] next = converter.convert(Mem.bytes(key, 0, keyLen), Mem.bytes(record, 0, n));
      MemorySegment block = statementContext.take(next.length);
      try {
        Mem.putBytes(block, 0, next, 0, next.length);
        IndexMaintenance.put(
            statementContext, t, core, core.indexes(), key, 0, keyLen, block, 0, next.length);
      } finally {
        statementContext.releaseBlock(block);
      }
      return (long) n + next.length;
    } finally {
      statementContext.shrinkRecord();
    }
  }
}
