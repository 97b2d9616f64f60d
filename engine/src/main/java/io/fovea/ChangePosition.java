package io.fovea;

import io.fovea.changes.ChangePoint;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A place in the sequence of a database's commits, from which they are followed ({@link
 * Database#changes}).
 *
 * <p>It is told by {@link Database#changesPosition} and by each batch ({@link
 * ChangeBatch#position}), and kept as text ({@link #toString}, {@link #parse}), best in the same
 * transaction as what was made of the batch. It is good over closes and crashes, while the log has
 * what comes behind it, and for its own database only: a restored backup is another one.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class ChangePosition {
  private final ChangePoint point;

  ChangePosition(ChangePoint point) {
    this.point = point;
  }

  /**
   * Reads what {@link #toString} wrote.
   *
   * @param text the position as text
   * @return the position
   * @throws IllegalArgumentException if the text is no position
   */
  public static ChangePosition parse(String text) {
    Objects.requireNonNull(text, "text");
    ChangePoint point = ChangePoint.parse(text);
    if (point == null) {
      throw new IllegalArgumentException(
          "\""
              + text
              + "\" is no position in the changes of a database. One is: the database's id,"
              + " \"changes\", and two LSNs, with slashes between them.");
    }
    return new ChangePosition(point);
  }

  ChangePoint point() {
    return point;
  }

  /**
   * Whose position it is.
   *
   * @return {@link Database#id}
   */
  public UUID database() {
    return point.id();
  }

  /**
   * Where in the log it is.
   *
   * @return an LSN: of two positions of a database the later one has the higher, or the same if no
   *     commit is between them
   */
  public long lsn() {
    return point.lsn();
  }

  /** Whether both are the same place of the same database. */
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
   * The position as text, for {@link #parse}.
   *
   * @return a line without spaces, of less than 100 characters
   */
  @Override
  public String toString() {
    return point.text();
  }
}
