package io.fovea.recovery;

import io.fovea.txn.CommitCounts;
import io.fovea.txn.CommitCursor;
import io.fovea.wal.Log;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The record counts of trees after a recovery.
 *
 * <pre>
 *   first pass    SCHEMA publishes a tree    it was empty before
 *                 COUNTS                     its counts; the last record that names it wins
 *   between       catalog                    its counts when the file was closed, if the log reaches
 *                                            back to there without any of the tree
 *   second pass   COMMIT                     + its changes, unless they are in COUNTS already
 * </pre>
 *
 * <p>A COUNTS record is valid if the log reaches back to all commits that may not be in it. So it
 * is not valid after a later checkpoint that had no space for one. The counts of a tree are unknown
 * if the file is from an earlier version or its log was full: its records are counted on demand.
 *
 * <p>Used by one thread at a time.
 */
final class CountsReplay {
  /** The counts of a tree. */
  private static final class Tree {
    long records;
    long bytes;

    /** Commits before this are in the counts. */
    long from;

    int[] contexts = NONE;
    long[] lsns = NO_LSNS;

    private static final int[] NONE = {};
    private static final long[] NO_LSNS = {};

    boolean has(int context, long lsn) {
      if (lsn < from) {
        return true;
      }
      for (int i = 0; i < contexts.length; i++) {
        if (contexts[i] == context) {
          return lsn <= lsns[i];
        }
      }
      return false;
    }
  }

  private final Superblock superblock;
  private final Map<Integer, Tree> trees = new HashMap<>();
  private final CountsRecord record = new CountsRecord();
  private final CommitCounts deltas = new CommitCounts();
  private boolean storedHolds;

  CountsReplay(Superblock superblock) {
    this.superblock = superblock;
  }

  // ------------------------------------------------------------------------------- the first pass

  /** Adds a new, empty tree. */
  void published(int treeId) {
    trees.putIfAbsent(treeId, new Tree()); // ids are never reused: present only after a load
  }

  /** Adds the counts of a tree that was built by a load. */
  void loaded(int treeId, long records, long bytes) {
    Tree t = new Tree();
    t.records = records;
    t.bytes = bytes;
    trees.put(treeId, t);
  }

  /** Reads a COUNTS record. */
  void counts(MemorySegment s, long body, int length, long lsn) {
    record.open(s, body, length, lsn);
    while (record.next()) {
      if (record.from() >= superblock.redoLsn()) {
        trees.put(record.treeId(), tree());
      }
    }
  }

  private Tree tree() {
    Tree t = new Tree();
    t.records = record.records();
    t.bytes = record.bytes();
    t.from = record.from();
    t.contexts = new int[record.contexts()];
    t.lsns = new long[record.contexts()];
    for (int i = 0; i < t.contexts.length; i++) {
      t.contexts[i] = record.context(i);
      t.lsns[i] = record.lsn(i);
    }
    return t;
  }

  // ------------------------------------------------------------------------------------- between

  /** Sets the number of the catalog's counts. They are valid if only the log has changed since. */
  void stored(long number) {
    storedHolds =
        number != 0
            && number == superblock.counted()
            && superblock.redoLsn() <= Math.max(Log.FIRST_LSN, superblock.endLsn());
  }

  /** Sets the catalog's counts of a tree. */
  void stored(int treeId, long records, long bytes) {
    if (storedHolds && !trees.containsKey(treeId)) {
      Tree t = new Tree();
      t.records = records;
      t.bytes = bytes;
      trees.put(treeId, t);
    }
  }

  // ------------------------------------------------------------------------------ the second pass

  /**
   * Adds a COMMIT.
   *
   * @param lsn the start of its record
   */
  void commit(CommitCursor commit, long lsn) {
    if (!deltas.open(commit)) {
      return;
    }
    while (deltas.next()) {
      @Nullable Tree t = trees.get(deltas.treeId());
      if (t != null && !t.has(deltas.context(), lsn)) {
        t.records += deltas.records();
        t.bytes += deltas.bytes();
      }
    }
  }

  RecoveredRowCounts result() {
    RecoveredRowCounts known = new RecoveredRowCounts();
    trees.forEach((id, t) -> known.put(id, t.records, t.bytes));
    return known;
  }
}
