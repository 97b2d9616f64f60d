package io.fovea;

import io.fovea.changes.ChangePoint;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A position in the sequence of a database's commits, from which {@link Database#changes} starts.
 *
 * <p>{@link Database#changesPosition} and each batch ({@link ChangeBatch#position}) return one.
 * Store it as text ({@link #toString}, {@link #parse}), preferably in the same transaction as the
 * results of the batch. It stays valid across closes and crashes as long as the log keeps the
 * changes after it, and only for its own database: a restored backup is a different database. A
 * value; safe for any thread.
 *
 * @since 0.1.0
 */
public final class ChangePosition {
  private final ChangePoint point;

  ChangePosition(ChangePoint point) {
    this.point = point;
  }

  /**
   * Parses the result of {@link #toString}.
   *
   * @param text the position as text
   * @return the position
   * @throws IllegalArgumentException if the text is not a position
   */
  public static ChangePosition parse(String text) {
    Objects.requireNonNull(text, "text");
    ChangePoint point = ChangePoint.parse(text);
    if (point == null) {
      throw new IllegalArgumentException(
          "\""
              + text
              + "\" is not a change position: the database's id, \"changes\" and two LSNs,"
              + " separated by slashes.");
    }
    return new ChangePosition(point);
  }

  ChangePoint point() {
    return point;
  }

  /** {@return the {@linkplain Database#id id} of the database} */
  public UUID database() {
    return point.id();
  }

  /**
   * {@return the LSN; a later position of the same database has a higher LSN, or the same if no
   * commit lies between them}
   */
  public long lsn() {
    return point.lsn();
  }

  /** Returns whether both are the same position of the same database. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ChangePosition p
        && p.point.lsn() == point.lsn()
        && p.point.id().equals(point.id());
  }

  @Override
  public int hashCode() {
    return Objects.hash(point.id(), point.lsn());
  }

  /**
   * {@return the position as text, for {@link #parse}: fewer than 100 characters, without spaces}
   */
  @Override
  public String toString() {
    return point.text();
  }
}
