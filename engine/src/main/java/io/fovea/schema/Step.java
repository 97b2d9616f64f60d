package io.fovea.schema;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A step from one version of a table to the next: a change of one field of its rows.
 *
 * <p>Each step uses the field names that are current at its version. Keep them in {@link
 * TableSpec.Builder#version} as long as there are files of the previous version. The order of
 * fields is that of the newest layout and needs no step.
 *
 * <pre>{@code
 * TableSpec.builder("people", KEY, LAYOUT)
 *     .version(2, Step.rename("fullname", "name"), Step.add("email", ""))
 *     .version(3, Step.widen("visits"), Step.drop("fax"))
 *     .build();
 * }</pre>
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class Step {
  /**
   * The kind of a step.
   *
   * @since 0.1.0
   */
  public enum Kind {
    /** Adds a field. */
    ADD,
    /** Drops a field. */
    DROP,
    /** Renames a field. */
    RENAME,
    /** Widens a field. */
    WIDEN
  }

  /** The type of the default of an added field, with the types of the fields that may have it. */
  enum Default {
    /** 0, empty or null. */
    IMPLICIT(FieldType.values()),
    NUMBER(FieldType.INT32, FieldType.INT64),
    TEXT(FieldType.TEXT),
    BYTES(FieldType.BYTES),
    BOOLEAN(FieldType.BOOLEAN),
    DOUBLE(FieldType.FLOAT64),
    UUID(FieldType.UUID),
    INSTANT(FieldType.INSTANT),
    DECIMAL(FieldType.DECIMAL);

    private final List<FieldType> types;

    Default(FieldType... types) {
      this.types = List.of(types);
    }
  }

  private final Kind kind;
  private final String field;
  private final String to;
  private final Default defaultKind;
  private final byte[] value;

  private Step(Kind kind, String field, String to, Default defaultKind, byte[] value) {
    this.kind = kind;
    this.field = Objects.requireNonNull(field, "field");
    this.to = to;
    this.defaultKind = defaultKind;
    this.value = value;
  }

  private static Step of(Kind kind, String field, String to) {
    return new Step(kind, field, to, Default.IMPLICIT, new byte[0]);
  }

  /**
   * Adds a field. In older rows it is null or, if it is not nullable, 0, empty, false, the nil UUID
   * or 1970-01-01T00:00Z.
   *
   * @param field its name
   * @return the step
   */
  public static Step add(String field) {
    return of(Kind.ADD, field, field);
  }

  /**
   * Adds an integer.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, long value) {
    byte[] bytes = ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    return new Step(Kind.ADD, field, field, Default.NUMBER, bytes);
  }

  /**
   * Adds a text field.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    return new Step(Kind.ADD, field, field, Default.TEXT, bytes);
  }

  /**
   * Adds a byte string.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, byte[] value) {
    return new Step(Kind.ADD, field, field, Default.BYTES, value.clone());
  }

  /**
   * Adds a boolean.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, boolean value) {
    return new Step(Kind.ADD, field, field, Default.BOOLEAN, new byte[] {(byte) (value ? 1 : 0)});
  }

  /**
   * Adds a {@code double}.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, double value) {
    long bits = Double.doubleToLongBits(value);
    byte[] bytes = ByteBuffer.allocate(Long.BYTES).putLong(bits).array();
    return new Step(Kind.ADD, field, field, Default.DOUBLE, bytes);
  }

  /**
   * Adds a UUID.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, UUID value) {
    byte[] bytes =
        ByteBuffer.allocate(2 * Long.BYTES)
            .putLong(value.getMostSignificantBits())
            .putLong(value.getLeastSignificantBits())
            .array();
    return new Step(Kind.ADD, field, field, Default.UUID, bytes);
  }

  /**
   * Adds an instant.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   */
  public static Step add(String field, Instant value) {
    byte[] bytes =
        ByteBuffer.allocate(Long.BYTES + Integer.BYTES)
            .putLong(value.getEpochSecond())
            .putInt(value.getNano())
            .array();
    return new Step(Kind.ADD, field, field, Default.INSTANT, bytes);
  }

  /**
   * Adds a decimal.
   *
   * @param field its name
   * @param value its value in older rows
   * @return the step
   * @throws IllegalArgumentException if it has too many digits for any decimal
   */
  public static Step add(String field, BigDecimal value) {
    BigDecimal least = value.stripTrailingZeros();
    if ((long) least.precision() - least.scale() > Field.PRECISION_MAX
        || least.scale() > Field.PRECISION_MAX) {
      throw new IllegalArgumentException(
          "The default of field "
              + field
              + " has more than "
              + Field.PRECISION_MAX
              + " digits before or after the decimal point.");
    }
    least = least.setScale(Math.max(0, least.scale()));
    byte[] number = least.unscaledValue().toByteArray();
    byte[] bytes =
        ByteBuffer.allocate(Integer.BYTES + number.length)
            .putInt(least.scale())
            .put(number)
            .array();
    return new Step(Kind.ADD, field, field, Default.DECIMAL, bytes);
  }

  /**
   * Drops a field: its values can no longer be read, and are removed when their rows are next
   * written. A field of the same name added later is a different field. Drop indexes on the field
   * first.
   *
   * @param field its name
   * @return the step
   */
  public static Step drop(String field) {
    return of(Kind.DROP, field, field);
  }

  /**
   * Renames a field, which keeps its values.
   *
   * @param from its previous name
   * @param to its new name
   * @return the step
   */
  public static Step rename(String from, String to) {
    return of(Kind.RENAME, from, Objects.requireNonNull(to, "to"));
  }

  /**
   * Widens a field: an integer from 4 to 8 bytes, a text or byte string to a larger width, a
   * decimal to more digits before or after the point, any field to nullable. The newest layout
   * declares the result. Unless only a text or byte string gets wider, indexes on the field are
   * rebuilt when the table is opened.
   *
   * @param field its name
   * @return the step
   */
  public static Step widen(String field) {
    return of(Kind.WIDEN, field, field);
  }

  /** {@return the kind of the step} */
  public Kind kind() {
    return kind;
  }

  /** {@return the name of the field, before a rename} */
  public String field() {
    return field;
  }

  /** {@return the name of the field after the step; differs from {@link #field} in a rename} */
  public String to() {
    return to;
  }

  /**
   * Returns the value of an added field in older rows.
   *
   * @return the bytes, big-endian: an integer or the bits of a double in 8 bytes, a boolean in 1, a
   *     UUID in 16; an instant as seconds since 1970 in 8 and nanoseconds in 4; a decimal as its
   *     scale in 4 and its unscaled value in two's complement; text in UTF-8. The array is empty
   *     without a default
   */
  public byte[] value() {
    return value.clone();
  }

  /** {@return whether an added field has a default other than null, 0 or empty} */
  public boolean hasDefault() {
    return defaultKind != Default.IMPLICIT;
  }

  /** Describes why the default does not fit a field, or returns null if it does. */
  @Nullable String unfit(Field f) {
    if (!defaultKind.types.contains(f.type())) {
      return "is " + f.type() + ", and its default is a " + defaultKind.name().toLowerCase();
    }
    if (f.type() == FieldType.INT32 && defaultKind == Default.NUMBER) {
      long n = ByteBuffer.wrap(value).getLong();
      return n == (int) n ? null : "has 4 bytes, and its default is " + n;
    }
    if (defaultKind == Default.DECIMAL) {
      BigDecimal n = decimal();
      boolean representable =
          n.signum() == 0
              || n.scale() <= f.scale() && n.precision() - n.scale() <= f.precision() - f.scale();
      return representable
          ? null
          : "is " + f.typeText() + ", and its default is " + n.toPlainString();
    }
    return f.type().isFixed() || value.length <= f.width()
        ? null
        : "takes " + f.width() + " bytes, and its default has " + value.length;
  }

  private BigDecimal decimal() {
    byte[] number = Arrays.copyOfRange(value, Integer.BYTES, value.length);
    return new BigDecimal(new BigInteger(number), ByteBuffer.wrap(value).getInt());
  }

  @Override
  public String toString() {
    return switch (kind) {
      case ADD ->
          "add "
              + field
              + switch (defaultKind) {
                case IMPLICIT -> "";
                case NUMBER -> " " + ByteBuffer.wrap(value).getLong();
                case BOOLEAN -> " " + (value[0] != 0);
                case DOUBLE -> " " + ByteBuffer.wrap(value).getDouble();
                case UUID -> {
                  ByteBuffer in = ByteBuffer.wrap(value);
                  yield " " + new UUID(in.getLong(), in.getLong());
                }
                case INSTANT -> {
                  ByteBuffer in = ByteBuffer.wrap(value);
                  yield " " + Instant.ofEpochSecond(in.getLong(), in.getInt());
                }
                case DECIMAL -> " " + decimal().toPlainString();
                case TEXT -> " \"" + new String(value, StandardCharsets.UTF_8) + '"';
                case BYTES -> " x" + HexFormat.of().formatHex(value);
              };
      case DROP -> "drop " + field;
      case RENAME -> "rename " + field + " to " + to;
      case WIDEN -> "widen " + field;
    };
  }
}
