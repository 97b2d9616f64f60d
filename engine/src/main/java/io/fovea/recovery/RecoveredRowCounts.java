package io.fovea.recovery;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How many records trees have, as far as it is known. One thread at a time. */
public final class RecoveredRowCounts {
  /**
   * Of a tree.
   *
   * @param records how many it has
   * @param bytes how many their keys and values have
   */
  public record Counts(long records, long bytes) {}

  private final Map<Integer, Counts> trees = new HashMap<>();
  private final Map<Integer, Counts> changes = new HashMap<>();

  /** Makes one that knows nothing. */
  public RecoveredRowCounts() {}

  /** Says it of a tree. */
  public void put(int treeId, long records, long bytes) {
    trees.put(treeId, new Counts(records, bytes));
  }

  /** Says by how much a tree has more than when it was opened, which is not known. */
  public void since(int treeId, long records, long bytes) {
    changes.put(treeId, new Counts(records, bytes));
  }

  /** By how much a tree of which nothing is known has more than when it was opened, or null. */
  public @Nullable Counts since(int treeId) {
    return changes.get(treeId);
  }

  /** What is known of a tree, or null. */
  public @Nullable Counts get(int treeId) {
    return trees.get(treeId);
  }
}
