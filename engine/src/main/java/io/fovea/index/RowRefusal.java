package io.fovea.index;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import org.jspecify.annotations.Nullable;

/** Says why a row of the API, or a field of it, can't be read or set here and now. */
public final class RowRefusal {
  /** The limit of a row that holds nothing. */
  public static final int VOID = -1;

  private RowRefusal() {}

  /** It was read in no transaction, and so is nothing that could be updated. */
  public static InvalidUseException notRead(int limit) {
    return new InvalidUseException(
        limit < 0
            ? "The row holds nothing: no record was read into it."
            : "The row was not read in a transaction: use put or insert with its key.");
  }

  /** It is a fresh one. */
  public static InvalidUseException noKey() {
    return new InvalidUseException("The row has no key: no record was read into it.");
  }

  /** A field has no value to be read. */
  public static InvalidUseException isNull(Field field) {
    return new InvalidUseException(
        "Field " + field.name() + " is null: ask isNull first, or set it.");
  }

  /** The value of a field can't be taken away. */
  public static InvalidUseException notNullable(Field field) {
    return new InvalidUseException(
        "Field " + field + " can't be null: nullable() was not said of it in its layout.");
  }

  /** What is wrong about a field, whatever the row holds; null if nothing is. */
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
   * What is wrong about the contents, which no transaction has taken with it.
   *
   * @param field the field that is asked for; null for the whole row
   * @param limit bytes from the start that hold something, or {@link #VOID}
   * @param size the bytes of a whole row
   */
  public static InvalidUseException ofContents(@Nullable Field field, int limit, int size) {
    if (limit < 0) {
      return new InvalidUseException(
          "The row holds nothing: no record was read into it, or its cursor has moved on, and"
              + " clear() fills it anew, or was closed, and it is of no more use.");
    }
    if (field != null && field.end() > limit) {
      return new InvalidUseException(
          "Field " + field.name() + " was not read: it lies outside of the projection.");
    }
    return new InvalidUseException(
        limit < size
            ? "The row was read with a projection, not as a whole."
            : "The row was read in another transaction.");
  }
}
