package io.fovea.support;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Random;
import java.util.UUID;

/**
 * Random fields of every type, their values, and the order of the values.
 *
 * <p>Integers are Longs, texts and byte strings are Strings, and decimals have no trailing zeros.
 * So a value stays equal when its field is widened.
 */
public final class FieldValues {
  private FieldValues() {}

  /** A field without its name and position. */
  public record Kind(
      FieldType type, int width, int precision, int scale, boolean nullable, boolean variable) {
    /** Returns a type of fixed width. */
    public static Kind of(FieldType type) {
      return new Kind(type, type.width(), 0, 0, false, false);
    }

    /** Returns a text or byte string. */
    public static Kind of(FieldType type, int width) {
      return new Kind(type, width, 0, 0, false, false);
    }

    /** Returns a text or byte string of variable length. */
    public static Kind variable(FieldType type, int width) {
      return new Kind(type, width, 0, 0, false, true);
    }

    public static Kind decimal(int precision, int scale) {
      int width = Field.decimalBytes(precision);
      return new Kind(FieldType.DECIMAL, width, precision, scale, false, false);
    }

    public Kind orNull() {
      return new Kind(type, width, precision, scale, true, variable);
    }

    public Kind wide(int bytes) {
      return new Kind(type, bytes, precision, scale, nullable, variable);
    }

    /** Returns a text or byte string with or without variable length. */
    public Kind varies(boolean is) {
      return new Kind(type, width, precision, scale, nullable, is);
    }

    private Field field() {
      return new Field("f", type, width, precision, scale, nullable, variable, 0, 0, false);
    }

    public Field addTo(Layout.Definition to, String name) {
      return to.add(name, field());
    }

    public Field addTo(KeySpec.Definition to, String name) {
      return to.add(name, field());
    }

    /** Returns a value, often a common one or an extreme one. */
    public Object value(Random r) {
      if (nullable && r.nextInt(4) == 0) {
        return null;
      }
      return switch (type) {
        case INT32 -> r.nextInt(4) == 0 ? (long) r.nextInt() : (long) r.nextInt(20) - 10;
        case INT64 -> r.nextInt(4) == 0 ? r.nextLong() : (long) r.nextInt(20) - 10;
        case TEXT, BYTES -> text(r);
        case BOOLEAN -> r.nextBoolean();
        case FLOAT64 -> {
          double[] few = {0.0, -0.0, Double.NaN, Double.MIN_VALUE, -1.5, Double.NEGATIVE_INFINITY};
          yield switch (r.nextInt(4)) {
            case 0 -> few[r.nextInt(few.length)];
            case 1 -> Double.longBitsToDouble(r.nextLong());
            case 2 -> -r.nextGaussian();
            default -> r.nextInt(20) - 10.0;
          };
        }
        case UUID ->
            r.nextBoolean()
                ? new UUID(r.nextLong(), r.nextLong())
                : new UUID(r.nextInt(3) - 1, r.nextInt(3) - 1);
        case INSTANT -> {
          Instant[] few = {Instant.MIN, Instant.MAX, Instant.EPOCH, Instant.EPOCH.minusNanos(1)};
          yield r.nextInt(3) == 0
              ? few[r.nextInt(few.length)]
              : Instant.ofEpochSecond(r.nextInt(5) - 2, r.nextInt(3));
        }
        case DECIMAL -> {
          BigInteger most = BigInteger.TEN.pow(precision).subtract(BigInteger.ONE);
          BigInteger n =
              switch (r.nextInt(4)) {
                case 0 -> most;
                case 1 -> BigInteger.valueOf(r.nextInt(20)).min(most);
                default -> new BigInteger(most.bitLength(), r).min(most);
              };
          yield stripped(new BigDecimal(r.nextBoolean() ? n : n.negate(), scale));
        }
      };
    }

    private String text(Random r) {
      int most = r.nextInt(8) == 0 ? 200 : 12;
      return "v".repeat(r.nextInt(Math.min(width, most))) + (width > 1 ? r.nextInt(9) : "");
    }

    /** Returns the value in a new row. */
    public Object zero() {
      return nullable
          ? null
          : switch (type) {
            case INT32, INT64 -> 0L;
            case TEXT, BYTES -> "";
            case BOOLEAN -> false;
            case FLOAT64 -> 0.0;
            case UUID -> new UUID(0, 0);
            case INSTANT -> Instant.EPOCH;
            case DECIMAL -> BigDecimal.ZERO;
          };
    }

    /** Returns the order of values in a key. */
    public Comparator<Object> order() {
      Comparator<Object> order =
          switch (type) {
            case TEXT, BYTES -> (a, b) -> Arrays.compareUnsigned(bytes(a), bytes(b));
            case UUID ->
                (a, b) -> {
                  UUID x = (UUID) a;
                  UUID y = (UUID) b;
                  int high =
                      Long.compareUnsigned(x.getMostSignificantBits(), y.getMostSignificantBits());
                  return high != 0
                      ? high
                      : Long.compareUnsigned(
                          x.getLeastSignificantBits(), y.getLeastSignificantBits());
                };
            default -> FieldValues::compare;
          };
      return Comparator.nullsFirst(order);
    }

    /** Returns the step that adds the field. */
    public Step add(String name, Object value) {
      return switch (value) {
        case null -> Step.add(name);
        case Long n -> Step.add(name, n);
        case Boolean b -> Step.add(name, b);
        case Double d -> Step.add(name, d);
        case UUID u -> Step.add(name, u);
        case Instant i -> Step.add(name, i);
        case BigDecimal d -> Step.add(name, d);
        default ->
            type == FieldType.TEXT ? Step.add(name, (String) value) : Step.add(name, bytes(value));
      };
    }
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object a, Object b) {
    return ((Comparable<Object>) a).compareTo(b);
  }

  private static byte[] bytes(Object text) {
    return ((String) text).getBytes(StandardCharsets.UTF_8);
  }

  private static BigDecimal stripped(BigDecimal d) {
    return d.signum() == 0 ? BigDecimal.ZERO : d.stripTrailingZeros();
  }

  /** Returns a random field that is not nullable. */
  public static Kind plain(Random r, int widthMax) {
    FieldType type = FieldType.values()[r.nextInt(FieldType.values().length)];
    return switch (type) {
      case TEXT, BYTES -> Kind.of(type, 1 + r.nextInt(widthMax)).varies(r.nextInt(3) == 0);
      case DECIMAL -> {
        int precision = 1 + r.nextInt(Field.PRECISION_MAX);
        yield Kind.decimal(precision, r.nextInt(precision + 1));
      }
      default -> Kind.of(type);
    };
  }

  /** Returns a random field. */
  public static Kind any(Random r, int widthMax) {
    Kind k = plain(r, widthMax);
    return r.nextInt(3) == 0 ? k.orNull() : k;
  }

  public static void set(Row row, Field f, Object v) {
    if (v == null) {
      row.setNull(f);
      return;
    }
    switch (f.type()) {
      case INT32 -> row.setInt(f, (int) (long) v);
      case INT64 -> row.setLong(f, (long) v);
      case TEXT -> row.setText(f, (String) v);
      case BYTES -> row.setBytes(f, bytes(v));
      case BOOLEAN -> row.setBoolean(f, (boolean) v);
      case FLOAT64 -> row.setDouble(f, (double) v);
      case UUID -> row.setUuid(f, (UUID) v);
      case INSTANT -> row.setInstant(f, (Instant) v);
      case DECIMAL -> row.setDecimal(f, (BigDecimal) v);
    }
  }

  public static Object get(Row row, Field f) {
    if (row.isNull(f)) {
      return null;
    }
    return switch (f.type()) {
      case INT32 -> (long) row.getInt(f);
      case INT64 -> row.getLong(f);
      case TEXT -> row.getText(f);
      case BYTES -> new String(row.getBytes(f), StandardCharsets.UTF_8);
      case BOOLEAN -> row.getBoolean(f);
      case FLOAT64 -> row.getDouble(f);
      case UUID -> row.getUuid(f);
      case INSTANT -> row.getInstant(f);
      case DECIMAL -> stripped(row.getDecimal(f));
    };
  }

  public static void append(Key key, Field part, Object v) {
    if (v == null) {
      key.nullValue();
      return;
    }
    switch (part.type()) {
      case INT32 -> key.int32((int) (long) v);
      case INT64 -> key.int64((long) v);
      case TEXT -> key.text((String) v);
      case BYTES -> key.bytes(bytes(v));
      case BOOLEAN -> key.bool((boolean) v);
      case FLOAT64 -> key.float64((double) v);
      case UUID -> key.uuid((UUID) v);
      case INSTANT -> key.instant((Instant) v);
      case DECIMAL -> key.decimal((BigDecimal) v);
    }
  }

  public static Object get(Key key, int part) {
    if (key.isNull(part)) {
      return null;
    }
    return switch (key.spec().parts().get(part).type()) {
      case INT32, INT64 -> key.getLong(part);
      case TEXT -> key.getText(part);
      case BYTES -> new String(key.getBytes(part), StandardCharsets.UTF_8);
      case BOOLEAN -> key.getBoolean(part);
      case FLOAT64 -> key.getDouble(part);
      case UUID -> key.getUuid(part);
      case INSTANT -> key.getInstant(part);
      case DECIMAL -> stripped(key.getDecimal(part));
    };
  }
}
