package io.fovea.schema;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A step from one version of a table to the next: what becomes of one field of its rows.
 *
 * <p>Steps name fields as they are called at that version. They are written down once, in {@link
 * TableSpec.Builder#version}, and stay there as long as there are files of the version before. The
 * order of the fields needs no step: it is that of the newest layout.
 *
 * <pre>{@code
 * TableSpec.builder("people", KEY, LAYOUT)
 *     .version(2, Step.rename("fullname", "name"), Step.add("email", ""))
 *     .version(3, Step.widen("visits"), Step.drop("fax"))
 *     .build();
 * }</pre>
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class Step {
  /**
   * What a step does.
   *
   * @since 0.1.0
   */
  public enum Kind {
    /** There is a field that was not there. */
    ADD,
    /** There is no such field any more. */
    DROP,
    /** A field has another name. */
    RENAME,
    /** A field has room for more. */
    WIDEN
  }

  /** What a new field has in rows that were written before it. */
  enum Default {
    /** 0, or empty, or null. */
    NOTHING,
    NUMBER,
    TEXT,
    BYTES,
    BOOLEAN,
    DOUBLE,
    UUID,
    INSTANT,
    DECIMAL
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
    return new Step(kind, field, to, Default.NOTHING, new byte[0]);
  }

  /**
   * Adds a field. Rows that were written before have null in it, or where it is not nullable 0 or
   * nothing: false, the nil UUID, 1970-01-01T00:00Z.
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
   * @param value what it is in rows that were written before
   * @return the step
   */
  public static Step add(String field, long value) {
    byte[] bytes = ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    return new Step(Kind.ADD, field, field, Default.NUMBER, bytes);
  }

  /**
   * Adds a text.
   *
   * @param field its name
   * @param value what it is in rows that were written before
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
   * @param value what it is in rows that were written before
   * @return the step
   */
  public static Step add(String field, byte[] value) {
    return new Step(Kind.ADD, field, field, Default.BYTES, value.clone());
  }

  /**
   * Adds a boolean.
   *
   * @param field its name
   * @param value what it is in rows that were written before
   * @return the step
   */
  public static Step add(String field, boolean value) {
    return new Step(Kind.ADD, field, field, Default.BOOLEAN, new byte[] {(byte) (value ? 1 : 0)});
  }

  /**
   * Adds a {@code double}.
   *
   * @param field its name
   * @param value what it is in rows that were written before
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
   * @param value what it is in rows that were written before
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
   * @param value what it is in rows that were written before
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
   * @param value what it is in rows that were written before
   * @return the step
   * @throws IllegalArgumentException if no decimal has so many digits
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
              + " digits before or behind the point.");
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
   * Drops a field: its values can't be read any more, and go when their rows are written next. A
   * field of the same name that is added later is another one. An index on the field has to be
   * dropped before.
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
   * @param from its name before
   * @param to its name from then on
   * @return the step
   */
  public static Step rename(String from, String to) {
    return of(Kind.RENAME, from, Objects.requireNonNull(to, "to"));
  }

  /**
   * Makes room for more values: an integer of 4 bytes gets 8, a text or byte string a larger width,
   * a decimal more digits before the point or behind it, any field may be null that could not be.
   * What it is from then on, the newest layout says. An index on a field whose values are other
   * bytes then, which all of these are but texts and byte strings, is built anew when the table is
   * opened.
   *
   * @param field its name
   * @return the step
   */
  public static Step widen(String field) {
    return of(Kind.WIDEN, field, field);
  }

  /**
   * What it does.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * The field that it is about.
   *
   * @return the field's name; of a rename, the one before
   */
  public String field() {
    return field;
  }

  /**
   * The field's name once it is done.
   *
   * @return the name; {@link #field} but for a rename
   */
  public String to() {
    return to;
  }

  /**
   * What an added field is in rows that were written before.
   *
   * @return an integer, or the bits of a double, as 8 bytes; a boolean as 1, a UUID as 16; of an
   *     instant the seconds since 1970 as 8 and the nanoseconds as 4; of a decimal the scale as 4,
   *     then the number without its point in two's complement. In all of these, the highest byte is
   *     first. A text in UTF-8. Empty for 0 or nothing
   */
  public byte[] value() {
    return value.clone();
  }

  /**
   * Whether it says what an added field is in rows that were written before.
   *
   * @return false where that is null, or 0 or nothing
   */
  public boolean hasDefault() {
    return defaultKind != Default.NOTHING;
  }

  /** In what the default does not fit a field, in words, or null. */
  @Nullable String unfit(Field f) {
    boolean fits =
        switch (defaultKind) {
          case NOTHING -> true;
          case NUMBER -> f.type() == FieldType.INT32 || f.type() == FieldType.INT64;
          case TEXT -> f.type() == FieldType.TEXT;
          case BYTES -> f.type() == FieldType.BYTES;
          case BOOLEAN -> f.type() == FieldType.BOOLEAN;
          case DOUBLE -> f.type() == FieldType.FLOAT64;
          case UUID -> f.type() == FieldType.UUID;
          case INSTANT -> f.type() == FieldType.INSTANT;
          case DECIMAL -> f.type() == FieldType.DECIMAL;
        };
    if (!fits) {
      return "is " + f.type() + ", and its default is a " + defaultKind.name().toLowerCase();
    }
    if (f.type() == FieldType.INT32 && defaultKind == Default.NUMBER) {
      long n = ByteBuffer.wrap(value).getLong();
      return n == (int) n ? null : "has 4 bytes, and its default is " + n;
    }
    if (defaultKind == Default.DECIMAL) {
      BigDecimal n = decimal();
      boolean room =
          n.signum() == 0
              || n.scale() <= f.scale() && n.precision() - n.scale() <= f.precision() - f.scale();
      return room ? null : "is " + f.typeText() + ", and its default is " + n.toPlainString();
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
                case NOTHING -> "";
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
