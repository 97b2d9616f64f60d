package io.fovea.recovery;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * A LOADED record: the number of records and bytes of a tree built by a load or an index build. It
 * precedes the catalog change that assigns the tree; commits after that change are counted.
 *
 * <pre>
 *   0       4      8         16      24
 *   | tree  | zero | records | bytes |
 * </pre>
 */
public final class LoadedRecord {
  private static final int BYTES = 24;

  private LoadedRecord() {}

  /**
   * Appends a record.
   *
   * @param log a session that has begun and that ends when checkpoints count the tree
   */
  public static void append(LogSession log, int treeId, long records, long bytes) {
    log.grant(LogSession.space(BYTES));
    long at = log.reserve(RecordType.LOADED, BYTES);
    MemorySegment to = log.buffer();
    Mem.putInt(to, at, treeId);
    Mem.putInt(to, at + 4, 0);
    Mem.putLong(to, at + 8, records);
    Mem.putLong(to, at + 16, bytes);
    log.complete();
  }

  /** Receives the contents of a record. */
  @FunctionalInterface
  public interface Reader {
    /**
     * Receives the counts of a tree that a load has built.
     *
     * @param records the number of records
     * @param bytes the bytes of their keys and values
     */
    void loaded(int treeId, long records, long bytes);
  }

  /**
   * Reads a record.
   *
   * @param at the offset of its body
   * @param lsn its position in the log, for a message
   */
  public static void read(MemorySegment s, long at, int length, long lsn, Reader to) {
    if (length != BYTES || Mem.getInt(s, at) <= 0 || Mem.getLong(s, at + 8) < 0) {
      throw new CorruptionException("a record of a load at LSN " + lsn, -1, -1, BYTES, length);
    }
    to.loaded(Mem.getInt(s, at), Mem.getLong(s, at + 8), Mem.getLong(s, at + 16));
  }
}
