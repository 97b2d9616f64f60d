package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Enumeration;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.Scalar;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Parts of the keys of index entries: a presence byte and a {@linkplain KeyParts part of a key},
 * always of the widest type of its kind.
 *
 * <pre>
 *   null                        0x00
 *   anything else               0x01 · part of a key
 *     INT8, INT16, INT32, INT64   as INT64
 *     FLOAT32, FLOAT64            as FLOAT64
 *     enum                        the constant's number in the newest class (2)
 * </pre>
 *
 * <p>So a component that is widened or becomes optional keeps its entries, and the index need not
 * be rebuilt. No part is a prefix of another.
 */
final class EntryParts {
  static final byte NULL = 0;
  static final byte PRESENT = 1;

  private EntryParts() {}

  /** Returns the type of a shape in an index; null if its byte order is undefined. */
  static @Nullable Shape type(Shape shape) {
    Shape inner = shape instanceof Maybe m ? m.of() : shape;
    return switch (inner) {
      case Enumeration e -> e;
      case Scalar s ->
          switch (s) {
            case INT8, INT16, INT32, INT64 -> Scalar.INT64;
            case FLOAT32, FLOAT64 -> Scalar.FLOAT64;
            case INTEGER, DECIMAL -> null;
            default -> s;
          };
      default -> null;
    };
  }

  /** Returns the maximum length of a part; -1 if unlimited. */
  static int maxBytes(Shape type) {
    if (type instanceof Enumeration) {
      return 1 + Short.BYTES;
    }
    return switch ((Scalar) type) {
      case BOOLEAN -> 1 + 1;
      case CHAR -> 1 + Character.BYTES;
      case INT64, FLOAT64, DATE, TIME -> 1 + Long.BYTES;
      case INSTANT, DURATION -> 1 + Long.BYTES + Integer.BYTES;
      case UUID, DATETIME -> 1 + 2 * Long.BYTES;
      default -> -1;
    };
  }

  // ------------------------------------------------------------------------------- from an object

  /** Writes a Java value; an enum constant by its ordinal. */
  static void put(ObjectWriter out, Shape type, @Nullable Object given) {
    Object value = given instanceof Optional<?> o ? o.orElse(null) : given;
    if (value == null) {
      out.putByte(NULL);
      return;
    }
    out.putByte(PRESENT);
    if (type instanceof Enumeration) {
      KeyParts.putEnum(out, (Enum<?>) value);
      return;
    }
    switch ((Scalar) type) {
      case BOOLEAN -> KeyParts.putBoolean(out, (Boolean) value);
      case CHAR -> KeyParts.putChar(out, (Character) value);
      case INT64 -> KeyParts.putLong(out, ((Number) value).longValue());
      case FLOAT64 -> KeyParts.putDouble(out, ((Number) value).doubleValue());
      case TEXT -> KeyParts.putText(out, (String) value);
      case BYTES -> KeyParts.putBytes(out, (byte[]) value);
      case UUID -> KeyParts.putUuid(out, (UUID) value);
      case INSTANT -> KeyParts.putInstant(out, (Instant) value);
      case DURATION -> KeyParts.putDuration(out, (Duration) value);
      case DATE -> KeyParts.putDate(out, (LocalDate) value);
      case TIME -> KeyParts.putTime(out, (LocalTime) value);
      case DATETIME -> KeyParts.putDateTime(out, (LocalDateTime) value);
      default -> throw new IllegalStateException(type + " has no ordered encoding.");
    }
  }

  /** Returns the part for a component in records that were written without it. */
  static byte[] initial(Shape shape, String text) {
    ObjectWriter out = new ObjectWriter();
    Shape type = type(shape);
    if (type instanceof Enumeration e) {
      out.putByte(text.isEmpty() ? NULL : PRESENT);
      if (!text.isEmpty()) {
        KeyParts.putChar(out, (char) e.constants().indexOf(text));
      }
    } else if (type == null || shape instanceof Maybe && text.isEmpty()) {
      out.putByte(NULL);
    } else {
      put(out, type, ScalarBinding.of((Scalar) Binding.inner(shape)).initial(text));
    }
    return out.toArray();
  }

  // ------------------------------------------------------------------------------ from its bytes

  /** Converts a stored value to a part. */
  static final class Leaf {
    private final @Nullable Scalar scalar;

    /** Whether a presence byte precedes a number. */
    private final boolean presencePrefixed;

    /** Whether integers of an older version have become floating-point numbers. */
    private final boolean asDouble;

    /** For an enum, each stored constant's ordinal in the newest class. */
    private final short[] numbers;

    Leaf(Shape file, Shape type) {
      Shape inner = Binding.inner(file);
      Shape widened = type(file);
      boolean names = widened instanceof Enumeration && type instanceof Enumeration;
      this.asDouble = widened == Scalar.INT64 && type == Scalar.FLOAT64;
      if (widened == null || !names && !asDouble && !widened.equals(type)) {
        throw new IllegalArgumentException(
            "A component of type " + file + " can't be converted " + "to " + type + ".");
      }
      this.scalar = inner instanceof Scalar s ? s : null;
      this.presencePrefixed = file instanceof Maybe && Binding.lacksPresenceByte(inner);
      this.numbers =
          inner instanceof Enumeration e
              ? numbers(e.constants(), ((Enumeration) type).constants())
              : new short[0];
    }

    private static short[] numbers(List<String> file, List<String> now) {
      short[] all = new short[file.size()];
      for (int i = 0; i < all.length; i++) {
        int number = now.indexOf(file.get(i));
        if (number < 0) {
          throw new IllegalArgumentException("The constant " + file.get(i) + " no longer exists.");
        }
        all[i] = (short) number;
      }
      return all;
    }

    /** Writes the part; returns false if it is null. */
    boolean put(ObjectReader in, ObjectWriter out) {
      Scalar s = scalar;
      if (s == null) {
        return putConstant(in.getCount(), out);
      }
      if (s == Scalar.TEXT || s == Scalar.BYTES) {
        return putCounted(in, out);
      }
      boolean asks = presencePrefixed || !Binding.lacksPresenceByte(s);
      if (asks && !in.getBoolean()) {
        out.putByte(NULL);
        return false;
      }
      out.putByte(PRESENT);
      switch (s) {
        case BOOLEAN -> out.putBoolean(in.getBoolean());
        case CHAR -> KeyParts.putChar(out, in.getChar());
        case INT8 -> putInteger(in.getByte(), out);
        case INT16 -> putInteger(in.getShort(), out);
        case INT32 -> putInteger(in.getInt(), out);
        case INT64 -> putInteger(in.getLong(), out);
        case DATE, TIME -> KeyParts.putLong(out, in.getLong());
        case FLOAT32 -> KeyParts.putDouble(out, in.getFloat());
        case FLOAT64 -> KeyParts.putDouble(out, in.getDouble());
        case UUID -> {
          KeyParts.putLong(out, in.getLong() ^ Long.MIN_VALUE);
          KeyParts.putLong(out, in.getLong() ^ Long.MIN_VALUE);
        }
        case INSTANT, DURATION -> {
          KeyParts.putLong(out, in.getLong());
          KeyParts.putInt(out, in.getInt());
        }
        case DATETIME -> {
          KeyParts.putLong(out, in.getLong());
          KeyParts.putLong(out, in.getLong());
        }
        default -> throw new IllegalStateException(s + " has no ordered encoding.");
      }
      return true;
    }

    private void putInteger(long value, ObjectWriter out) {
      if (asDouble) {
        KeyParts.putDouble(out, value);
      } else {
        KeyParts.putLong(out, value);
      }
    }

    private boolean putConstant(int n, ObjectWriter out) {
      if (n == 0) {
        out.putByte(NULL);
        return false;
      }
      if (n < 0 || n > numbers.length) {
        throw new IllegalArgumentException("No constant has the number " + (n - 1) + ".");
      }
      out.putByte(PRESENT);
      KeyParts.putChar(out, (char) numbers[n - 1]);
      return true;
    }

    private static boolean putCounted(ObjectReader in, ObjectWriter out) {
      int n = in.getCount() - 1;
      if (n < 0) {
        out.putByte(NULL);
        return false;
      }
      int from = in.take(n);
      out.putByte(PRESENT);
      KeyParts.putBytes(out, in.array(), from, n);
      return true;
    }
  }

  // ------------------------------------------------------------------------------------ in words

  /** Formats a part for messages. */
  static String text(ObjectReader in, Shape type) {
    if (in.getByte() == NULL) {
      return "null";
    }
    if (type instanceof Enumeration e) {
      int n = KeyParts.getChar(in);
      return n < e.constants().size() ? e.constants().get(n) : "constant " + n;
    }
    return switch ((Scalar) type) {
      case BOOLEAN -> String.valueOf(KeyParts.getBoolean(in));
      case CHAR -> "'" + KeyParts.getChar(in) + "'";
      case INT64 -> String.valueOf(KeyParts.getLong(in));
      case FLOAT64 -> String.valueOf(KeyParts.getDouble(in));
      case TEXT -> '"' + new String(KeyParts.getBytes(in), StandardCharsets.UTF_8) + '"';
      case BYTES -> Arrays.toString(KeyParts.getBytes(in));
      case UUID -> KeyParts.getUuid(in).toString();
      case INSTANT -> KeyParts.getInstant(in).toString();
      case DURATION -> KeyParts.getDuration(in).toString();
      case DATE -> KeyParts.getDate(in).toString();
      case TIME -> KeyParts.getTime(in).toString();
      case DATETIME -> KeyParts.getDateTime(in).toString();
      default -> throw new IllegalStateException(type + " has no ordered encoding.");
    };
  }
}
