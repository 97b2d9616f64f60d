package io.fovea;

import java.util.List;
import java.util.Objects;

/**
 * What one commit has changed, or a change of the schema outside of transactions.
 *
 * @param changes what has changed: tables first, then records. Each record is there once, with what
 *     it was after the commit; their order means nothing. Can't be changed
 * @param position where whoever has taken this batch goes on
 * @since 0.1.0
 */
public record ChangeBatch(List<Change> changes, ChangePosition position) {
  /**
   * A batch.
   *
   * @param changes what has changed
   * @param position where whoever has taken this batch goes on
   */
  public ChangeBatch {
    changes = List.copyOf(changes);
    Objects.requireNonNull(position, "position");
  }
}
