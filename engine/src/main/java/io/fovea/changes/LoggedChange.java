package io.fovea.changes;

import org.jspecify.annotations.Nullable;

/**
 * A change of a record or a table.
 *
 * @param kind what has changed
 * @param treeId of the table
 * @param table its name; of one that was renamed the old one
 * @param key of the record, as it is in the tree; none of a table
 * @param value of the record; null where it was deleted, and of a table
 * @param renamed the new name of a table that was renamed
 */
public record LoggedChange(
    Kind kind,
    int treeId,
    String table,
    byte @Nullable [] key,
    byte @Nullable [] value,
    @Nullable String renamed) {
  /** What a change is. */
  public enum Kind {
    /** A record has this value now. */
    PUT,
    /** A record is gone. */
    DELETE,
    /** There is a table, without records. */
    CREATED,
    /** A table has records now that were not committed one by one. */
    LOADED,
    /** A table has another name. */
    RENAMED,
    /** A table is gone, with its records. */
    DROPPED
  }

  LoggedChange(Kind kind, int treeId, String table) {
    this(kind, treeId, table, null, null, null);
  }
}
