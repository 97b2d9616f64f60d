package io.fovea.schema;

/**
 * The type of a field of a {@link Layout} or a part of a {@link KeySpec}.
 *
 * @since 0.1.0
 */
public enum FieldType {
  /** A 32-bit signed integer. */
  INT32(1, 4),
  /** A 64-bit signed integer. */
  INT64(2, 8),
  /**
   * Text of limited length in UTF-8. In a row, a 2-byte length precedes it. In the file, it takes
   * its full width, or its actual length if the field is {@linkplain Field#variable variable}.
   */
  TEXT(3, 0),
  /** A byte string of limited length, stored like text. */
  BYTES(4, 0),
  /** False or true. False is below true. */
  BOOLEAN(5, 1),
  /**
   * A {@code double}, in the order of {@link Double#compare}: -0.0 is below 0.0, and all NaNs are
   * one value, above infinity.
   */
  FLOAT64(6, 8),
  /** A {@link java.util.UUID}, in the order of its 16 bytes, unsigned. */
  UUID(7, 16),
  /** Any {@link java.time.Instant}, with nanoseconds, in chronological order. */
  INSTANT(8, 12),
  /**
   * A {@link java.math.BigDecimal} with a fixed number of digits, some of them after the point,
   * ordered by value; SQL's {@code DECIMAL(precision, scale)}.
   */
  DECIMAL(9, 0);

  private final int code;
  private final int width;

  FieldType(int code, int width) {
    this.code = code;
    this.width = width;
  }

  /** {@return the code of the type in files, 1 to 9, which never changes} */
  public int code() {
    return code;
  }

  /**
   * {@return whether all values of a field take the same number of bytes; false for text and byte
   * strings}
   */
  public boolean isFixed() {
    // Compared with constants instead of a field, so that it is constant whenever the type is
    // constant to the compiler.
    return this != TEXT && this != BYTES;
  }

  /** {@return the bytes of a value, or 0 for text, byte strings and decimals} */
  public int width() {
    return width;
  }

  /**
   * Returns the type with a code.
   *
   * @param code the code in files
   * @return the type
   * @throws IllegalArgumentException if no type has the code
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
