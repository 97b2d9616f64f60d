package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Puts entries into a tree that no catalog knows yet: gathers them, logs them as commits of some
 * tens of KiB, then makes them.
 *
 * <p>Whoever builds the tree holds back the redo point from before it is made until it is published
 * or dropped: until then a crash drops it, and none of this counts.
 *
 * <p>One thread, nobody else at the tree.
 */
final class IndexFill {
  private static final int BYTES_MAX = 64 << 10;

  /** An entry was there already. */
  interface Duplicate {
    /** What to throw; the key is where it is said. */
    RuntimeException exception(MemorySegment key, long off, int len);
  }

  private final BTree tree;
  private final LogSession session;
  private final Duplicate duplicate;
  private final int limit;
  private final MemorySegment operations;
  private final CommitCursor cursor = new CommitCursor();
  private final Position place = new Position();
  private long used;
  private int count;

  /**
   * A fill.
   *
   * @param recordMax the largest record that the log takes
   */
  IndexFill(BTree tree, LogSession session, int recordMax, Duplicate duplicate) {
    this.tree = tree;
    this.session = session;
    this.duplicate = duplicate;
    this.limit = Math.min(BYTES_MAX, recordMax / 2);
    int largest = CommitRecord.putBytes(tree.maxKeySize(), tree.inlineMax());
    this.operations = Arena.ofAuto().allocate(limit + (long) largest, 8);
  }

  /** Adds an entry. */
  void add(
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment value,
      long valueOff,
      int valueLen) {
    if (CommitRecord.putBytes(keyLen, valueLen) > operations.byteSize() - used) {
      flush();
    }
    used =
        CommitRecord.put(
            operations, used, tree.treeId(), key, keyOff, keyLen, value, valueOff, valueLen);
    count++;
    if (used >= limit) {
      flush();
    }
  }

  /** Makes what was added. */
  void flush() {
    if (count == 0) {
      return;
    }
    int bytes = Math.toIntExact(CommitRecord.HEADER + used);
    session.begin(LogSession.space(bytes));
    try {
      if (session.logging()) {
        long at = session.reserve(RecordType.COMMIT, bytes);
        at = CommitRecord.header(session.buffer(), at, 0, count, 0, 0);
        MemorySegment.copy(operations, 0, session.buffer(), at, used);
        session.complete();
        session.position(session.recordStart(), session.recordEnd());
      }
      cursor.openOps(operations, 0, used, count);
      while (cursor.next()) {
        boolean absent =
            tree.upsertInline(
                operations,
                cursor.keyOffset(),
                cursor.keyLength(),
                operations,
                cursor.valueOffset(),
                cursor.valueLength(),
                place,
                session);
        if (!absent) {
          throw duplicate.exception(operations, cursor.keyOffset(), cursor.keyLength());
        }
      }
    } finally {
      session.end();
    }
    used = 0;
    count = 0;
  }
}
