package io.fovea.changes;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The position of a change subscriber in the log.
 *
 * <pre>
 *   id '/changes/' tables '/' lsn        as text, the numbers in decimal digits
 * </pre>
 *
 * @param id the database
 * @param tables the start of a TABLES record; from that LSN, the log names the tables
 * @param lsn commits whose last record ends at or before it were delivered; not below {@code
 *     tables}
 */
public record ChangePoint(UUID id, long tables, long lsn) {
  /** Parses a position; returns null if the text is not one. */
  public static @Nullable ChangePoint parse(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != 4) {
      return null;
    }
    try {
      UUID id = UUID.fromString(parts[0]);
      ChangePoint point = new ChangePoint(id, Long.parseLong(parts[2]), Long.parseLong(parts[3]));
      // Reject numbers in any other notation.
      return point.tables > 0
              && (point.tables & 7) == 0
              && point.lsn >= point.tables
              && (point.lsn & 7) == 0
              && point.text().equals(text)
          ? point
          : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /** Returns the position as text. */
  public String text() {
    return id + "/changes/" + tables + "/" + lsn;
  }
}
