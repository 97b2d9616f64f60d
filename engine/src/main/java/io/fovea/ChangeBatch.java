package io.fovea;

import java.util.List;
import java.util.Objects;

/**
 * The changes of one commit, or one change of the schema outside transactions.
 *
 * @param changes an immutable list: tables first, then each changed record once, with its value
 *     after the commit, in no particular order
 * @param position where to continue after this batch
 * @since 0.1.0
 */
public record ChangeBatch(List<Change> changes, ChangePosition position) {
  /** Copies the list. */
  public ChangeBatch {
    changes = List.copyOf(changes);
    Objects.requireNonNull(position, "position");
  }
}
