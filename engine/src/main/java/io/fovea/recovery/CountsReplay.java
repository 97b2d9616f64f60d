package io.fovea.recovery;

import io.fovea.txn.CommitCounts;
import io.fovea.txn.CommitCursor;
import io.fovea.wal.Log;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How many records each tree has after a recovery.
 *
 * <pre>
 *   first pass    SCHEMA publishes a tree    it had nothing before
 *                 COUNTS                     what it had; the last one that names it counts
 *   between       catalog                    what it had when the file was closed, if the log goes
 *                                            back to there and says nothing of the tree
 *   second pass   COMMIT                     + what it changes, unless that is in COUNTS already
 * </pre>
 *
 * <p>A COUNTS record holds if the log goes back to all commits that may not be in it: so one that a
 * later checkpoint has left behind, which had no room for its own, does not. A tree of which
 * nothing is known here is one of a file that an earlier version has written, or whose log was
 * full: its records are counted when somebody asks.
 *
 * <p>One thread at a time.
 */
final class CountsReplay {
  /** A tree. */
  private static final class Tree {
    long records;
    long bytes;

    /** Commits before this are in the numbers. */
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

  /** A tree was made, and is empty so far. */
  void published(int treeId) {
    trees.putIfAbsent(treeId, new Tree()); // ids are never used again: there was a load
  }

  /** A tree was built by a load, which knows what it has. */
  void loaded(int treeId, long records, long bytes) {
    Tree t = new Tree();
    t.records = records;
    t.bytes = bytes;
    trees.put(treeId, t);
  }

  /** A COUNTS record. */
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

  /** Which numbers the catalog has. They hold where nothing but the log has come since. */
  void stored(long number) {
    storedHolds =
        number != 0
            && number == superblock.counted()
            && superblock.redoLsn() <= Math.max(Log.FIRST_LSN, superblock.endLsn());
  }

  /** What the catalog says of a tree. */
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
   * A COMMIT.
   *
   * @param lsn where it begins
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

  /** What was found out. */
  RecoveredRowCounts result() {
    RecoveredRowCounts known = new RecoveredRowCounts();
    trees.forEach((id, t) -> known.put(id, t.records, t.bytes));
    return known;
  }
}
