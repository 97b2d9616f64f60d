package io.fovea.recovery;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The known record counts of trees. Used by one thread at a time. */
public final class RecoveredRowCounts {
  /**
   * The counts of a tree.
   *
   * @param records the number of records
   * @param bytes the bytes of their keys and values
   */
  public record Counts(long records, long bytes) {
    // Written out, since the JVM would otherwise generate classes for them at the first opening.
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Counts c && records == c.records && bytes == c.bytes;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(records) * 31 + Long.hashCode(bytes);
    }
  }

  private final Map<Integer, Counts> trees = new HashMap<>();
  private final Map<Integer, Counts> changes = new HashMap<>();

  public RecoveredRowCounts() {}

  public void put(int treeId, long records, long bytes) {
    trees.put(treeId, new Counts(records, bytes));
  }

  /** Sets how much a tree whose initial counts are unknown has grown since it was opened. */
  public void since(int treeId, long records, long bytes) {
    changes.put(treeId, new Counts(records, bytes));
  }

  /**
   * Returns how much a tree whose initial counts are unknown has grown since it was opened, or
   * null.
   */
  public @Nullable Counts since(int treeId) {
    return changes.get(treeId);
  }

  /** Returns the counts of a tree, or null if they are not known. */
  public @Nullable Counts get(int treeId) {
    return trees.get(treeId);
  }
}
