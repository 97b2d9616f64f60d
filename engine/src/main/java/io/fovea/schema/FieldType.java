package io.fovea.schema;

/**
 * The type of a field of a {@link Layout}, or of a part of a {@link KeySpec}.
 *
 * @since 0.1.0
 */
public enum FieldType {
  /** A 32-bit signed integer. */
  INT32(1, 4),
  /** A 64-bit signed integer. */
  INT64(2, 8),
  /**
   * Text of a limited length, as UTF-8; in a row behind a length of 2 bytes. In the file it takes
   * its full width, or what it has where its field is {@linkplain Field#variable variable}.
   */
  TEXT(3, 0),
  /** Bytes of a limited number; in a row behind a length of 2 bytes, in the file as texts. */
  BYTES(4, 0),
  /** False or true. False is below true. */
  BOOLEAN(5, 1),
  /**
   * A {@code double}, in the order of {@link Double#compare}: -0.0 is below 0.0, and all NaN are
   * one value, above infinity.
   */
  FLOAT64(6, 8),
  /** A {@link java.util.UUID}, in the order of its 16 bytes, unsigned. */
  UUID(7, 16),
  /** A {@link java.time.Instant}: all that it can be, to the nanosecond, by time. */
  INSTANT(8, 12),
  /**
   * A {@link java.math.BigDecimal} of a fixed number of digits, some of them behind the point, by
   * value: what SQL calls {@code DECIMAL(precision, scale)}.
   */
  DECIMAL(9, 0);

  private final int code;
  private final int width;

  FieldType(int code, int width) {
    this.code = code;
    this.width = width;
  }

  /**
   * The number that stands for the type in files. It never changes. Texts and byte strings of
   * variable length have numbers of their own there, 10 and 11.
   *
   * @return 1 to 9
   */
  public int code() {
    return code;
  }

  /**
   * Whether all values of a field take the same number of bytes.
   *
   * @return false for texts and byte strings
   */
  public boolean isFixed() {
    // Compared with constants, not kept in a field: where a field of a row is a constant to the
    // compiler, so is this.
    return this != TEXT && this != BYTES;
  }

  /**
   * The bytes of a value, where the type alone says that.
   *
   * @return the bytes; 0 for texts, byte strings and decimals
   */
  public int width() {
    return width;
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
