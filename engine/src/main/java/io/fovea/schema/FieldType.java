package io.fovea.schema;

/**
 * The type of a field of a {@link Layout}, or of a part of a {@link KeySpec}.
 *
 * @since 0.1.0
 */
public enum FieldType {
  /** A 32-bit signed integer. */
  INT32(1),
  /** A 64-bit signed integer. */
  INT64(2),
  /** Text of a limited length, as UTF-8; in a row behind a length of 2 bytes. */
  TEXT(3),
  /** Bytes of a limited number; in a row behind a length of 2 bytes. */
  BYTES(4);

  private final int code;

  FieldType(int code) {
    this.code = code;
  }

  /**
   * The number that stands for the type in files. It never changes.
   *
   * @return 1 to 4
   */
  public int code() {
    return code;
  }

  /**
   * Whether every value takes the same number of bytes.
   *
   * @return true for integers
   */
  public boolean isFixed() {
    return this == INT32 || this == INT64;
  }

  /**
   * The type that a number in a file stands for.
   *
   * @param code the number
   * @return the type
   * @throws IllegalArgumentException if no type has that number
   */
  public static FieldType ofCode(int code) {
    for (FieldType t : values()) {
      if (t.code == code) {
        return t;
      }
    }
    throw new IllegalArgumentException("No type of a field has the code " + code + ".");
  }
}
