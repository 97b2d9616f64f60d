package io.fovea.index;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import org.jspecify.annotations.Nullable;

/** Exceptions for a row of the API, or a field of it, that can't be read or set. */
public final class RowRefusal {
  /** The limit of a row without contents. */
  public static final int VOID = -1;

  private RowRefusal() {}

  /** Returns the exception for an update of a row that was not read in a transaction. */
  public static InvalidUseException notRead(int limit) {
    return new InvalidUseException(
        limit < 0
            ? "The row is empty: no record was read into it."
            : "The row was not read in a transaction: use put or insert with its key.");
  }

  /** Returns the exception for the key of a new row. */
  public static InvalidUseException noKey() {
    return new InvalidUseException("The row has no key: no record was read into it.");
  }

  /** Returns the exception for a read of a null field. */
  public static InvalidUseException isNull(Field field) {
    return new InvalidUseException(
        "Field " + field.name() + " is null: call isNull first, or set it.");
  }

  /** Returns the exception for setting a non-nullable field to null. */
  public static InvalidUseException notNullable(Field field) {
    return new InvalidUseException(
        "Field " + field + " can't be null: its layout does not declare it nullable().");
  }

  /**
   * Returns the exception for a field that can't be used with any row; null if the field can be
   * used.
   */
  public static @Nullable InvalidUseException ofField(Layout layout, Field field, FieldType type) {
    int i = field.ordinal();
    if (i >= layout.fields().size() || layout.fields().get(i) != field) {
      String what =
          field.key() ? " is a part of the key, not a field of the row; is not" : " is not";
      return new InvalidUseException("Field " + field.name() + what + " one of " + layout + ".");
    }
    return field.type() == type
        ? null
        : new InvalidUseException(
            "Field " + field.name() + " is " + field.type() + ", not " + type + ".");
  }

  /**
   * Returns the exception for contents that are not available, in a row that is not detached.
   *
   * @param field the field; null for the whole row
   * @param limit the number of bytes from the start that are available, or {@link #VOID}
   * @param size the length of a whole row
   */
  public static InvalidUseException ofContents(@Nullable Field field, int limit, int size) {
    if (limit < 0) {
      return new InvalidUseException(
          "The row is empty: no record was read into it, or its cursor has "
              + "moved or was closed. Read the record again; clear() makes the "
              + "row usable unless its cursor was closed.");
    }
    if (field != null && field.end() > limit) {
      return new InvalidUseException(
          "Field " + field.name() + " was not read: it is not in the projection.");
    }
    return new InvalidUseException(
        limit < size
            ? "The row was read with a projection, not as a whole."
            : "The row was read in another transaction.");
  }
}
