package io.fovea.changes;

import org.jspecify.annotations.Nullable;

/**
 * A change of a record or a table.
 *
 * @param kind the kind of change
 * @param treeId the tree of the table
 * @param table the table's name; for a renamed table, the old name
 * @param key the key of the record, as in the tree; null for a table
 * @param value the value of the record; null if it was deleted, and for a table
 * @param renamed the new name of a renamed table; otherwise null
 */
public record LoggedChange(
    Kind kind,
    int treeId,
    String table,
    byte @Nullable [] key,
    byte @Nullable [] value,
    @Nullable String renamed) {
  /** The kind of change. */
  public enum Kind {
    /** A record has a new value. */
    PUT,
    /** A record was deleted. */
    DELETE,
    /** A table was created, without records. */
    CREATED,
    /** A table was filled by a load: its records were not committed one by one. */
    LOADED,
    /** A table was renamed. */
    RENAMED,
    /** A table was dropped, with its records. */
    DROPPED
  }

  LoggedChange(Kind kind, int treeId, String table) {
    this(kind, treeId, table, null, null, null);
  }
}
