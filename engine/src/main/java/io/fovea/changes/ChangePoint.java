package io.fovea.changes;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Where in the log somebody is who follows changes.
 *
 * <pre>
 *   id '/changes/' tables '/' lsn        as text, the numbers in decimal digits
 * </pre>
 *
 * @param id of the database
 * @param tables where a TABLES record begins: from there on the log says what tables are called
 * @param lsn commits whose last record ends at or before it are known; not below {@code tables}
 */
public record ChangePoint(UUID id, long tables, long lsn) {
  /** Null where the text is none. */
  public static @Nullable ChangePoint parse(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != 4) {
      return null;
    }
    try {
      UUID id = UUID.fromString(parts[0]);
      ChangePoint point = new ChangePoint(id, Long.parseLong(parts[2]), Long.parseLong(parts[3]));
      // Numbers in another notation are not what was written.
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

  /** As text. */
  public String text() {
    return id + "/changes/" + tables + "/" + lsn;
  }
}
