package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.Scalar;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Values without parts. */
final class ScalarBinding extends Binding {
  private static final Map<Class<?>, ScalarBinding> ALL = new HashMap<>();

  static {
    add(boolean.class, Scalar.BOOLEAN, "Boolean");
    add(byte.class, Scalar.INT8, "Byte");
    add(short.class, Scalar.INT16, "Short");
    add(char.class, Scalar.CHAR, "Char");
    add(int.class, Scalar.INT32, "Int");
    add(long.class, Scalar.INT64, "Long");
    add(float.class, Scalar.FLOAT32, "Float");
    add(double.class, Scalar.FLOAT64, "Double");
    add(Boolean.class, Scalar.BOOLEAN, "BoxedBoolean");
    add(Byte.class, Scalar.INT8, "BoxedByte");
    add(Short.class, Scalar.INT16, "BoxedShort");
    add(Character.class, Scalar.CHAR, "BoxedChar");
    add(Integer.class, Scalar.INT32, "BoxedInt");
    add(Long.class, Scalar.INT64, "BoxedLong");
    add(Float.class, Scalar.FLOAT32, "BoxedFloat");
    add(Double.class, Scalar.FLOAT64, "BoxedDouble");
    add(String.class, Scalar.TEXT, "Text");
    add(byte[].class, Scalar.BYTES, "Bytes");
    add(BigInteger.class, Scalar.INTEGER, "Integer");
    add(BigDecimal.class, Scalar.DECIMAL, "Decimal");
    add(UUID.class, Scalar.UUID, "Uuid");
    add(Instant.class, Scalar.INSTANT, "Instant");
    add(LocalDate.class, Scalar.DATE, "Date");
    add(LocalTime.class, Scalar.TIME, "Time");
    add(LocalDateTime.class, Scalar.DATETIME, "DateTime");
    add(Duration.class, Scalar.DURATION, "Duration");
  }

  private final Scalar scalar;
  private final String name;

  private ScalarBinding(Class<?> type, Scalar scalar, String name) {
    super(type, name.startsWith("Boxed") ? new Maybe(scalar) : scalar);
    this.scalar = scalar;
    this.name = name;
  }

  private static void add(Class<?> type, Scalar scalar, String name) {
    ALL.put(type, new ScalarBinding(type, scalar, name));
  }

  /** Returns the stored form of a class; null if it is not a scalar. */
  static @Nullable ScalarBinding of(Class<?> type) {
    return ALL.get(type);
  }

  /** Returns the stored form of a scalar that is not optional; a number has its primitive type. */
  static ScalarBinding of(Scalar scalar) {
    for (ScalarBinding b : ALL.values()) {
      if (b.shape == scalar) {
        return b;
      }
    }
    throw new IllegalStateException("There is no class of " + scalar + ".");
  }

  @Override
  MethodHandle writer() {
    return method(ObjectWriter.class, "put" + name, void.class, type);
  }

  @Override
  MethodHandle reader() {
    return method(ObjectReader.class, "get" + name, type);
  }

  @Override
  Decoder decoder(Shape file) {
    Scalar stored = (Scalar) inner(file);
    Decoder plain =
        switch (stored) {
          case BOOLEAN -> ObjectReader::getBoolean;
          case INT8 -> ObjectReader::getByte;
          case INT16 -> ObjectReader::getShort;
          case CHAR -> ObjectReader::getChar;
          case INT32 -> ObjectReader::getInt;
          case INT64 -> ObjectReader::getLong;
          case FLOAT32 -> ObjectReader::getFloat;
          case FLOAT64 -> ObjectReader::getDouble;
          case TEXT -> ObjectReader::getText;
          case BYTES -> ObjectReader::getBytes;
          case INTEGER -> ObjectReader::getInteger;
          case DECIMAL -> ObjectReader::getDecimal;
          case UUID -> ObjectReader::getUuid;
          case INSTANT -> ObjectReader::getInstant;
          case DATE -> ObjectReader::getDate;
          case TIME -> ObjectReader::getTime;
          case DATETIME -> ObjectReader::getDateTime;
          case DURATION -> ObjectReader::getDuration;
        };
    Decoder decoder =
        file instanceof Maybe && lacksPresenceByte(stored)
            ? in -> in.getBoolean() ? plain.read(in) : null
            : plain;
    return stored == scalar ? decoder : in -> widened(decoder.read(in));
  }

  /** Converts a number of a narrower type to this one. */
  private @Nullable Object widened(@Nullable Object value) {
    if (!(value instanceof Number n)) {
      return value;
    }
    return switch (scalar) {
      case INT16 -> (Object) n.shortValue();
      case INT32 -> n.intValue();
      case INT64 -> n.longValue();
      case FLOAT64 -> n.doubleValue();
      case INTEGER -> BigInteger.valueOf(n.longValue());
      default -> throw new IllegalStateException(scalar + " holds no " + value.getClass() + ".");
    };
  }

  /** Returns the zero of a primitive type; null for any other type. */
  static @Nullable Object zero(Class<?> type) {
    return type.isPrimitive() ? ALL.get(type).zero() : null;
  }

  @Override
  @Nullable Object initial(String text) {
    if (text.isEmpty() && scalar != Scalar.TEXT && scalar != Scalar.BYTES) {
      return type.isPrimitive() ? zero() : null;
    }
    return switch (scalar) {
      case BOOLEAN -> {
        if (!text.equals("true") && !text.equals("false")) {
          throw new IllegalArgumentException("Neither true nor false: " + text + ".");
        }
        yield Boolean.valueOf(text);
      }
      case INT8 -> Byte.valueOf(text);
      case INT16 -> Short.valueOf(text);
      case CHAR -> {
        if (text.length() != 1) {
          throw new IllegalArgumentException("Not one character: " + text + ".");
        }
        yield text.charAt(0);
      }
      case INT32 -> Integer.valueOf(text);
      case INT64 -> Long.valueOf(text);
      case FLOAT32 -> Float.valueOf(text);
      case FLOAT64 -> Double.valueOf(text);
      case TEXT -> text;
      case BYTES -> HexFormat.of().parseHex(text);
      case INTEGER -> new BigInteger(text);
      case DECIMAL -> new BigDecimal(text);
      case UUID -> UUID.fromString(text);
      case INSTANT -> Instant.parse(text);
      case DATE -> LocalDate.parse(text);
      case TIME -> LocalTime.parse(text);
      case DATETIME -> LocalDateTime.parse(text);
      case DURATION -> Duration.parse(text);
    };
  }

  private Object zero() {
    return switch (scalar) {
      case BOOLEAN -> false;
      case INT8 -> (byte) 0;
      case INT16 -> (short) 0;
      case CHAR -> (char) 0;
      case INT32 -> 0;
      case INT64 -> 0L;
      case FLOAT32 -> 0f;
      case FLOAT64 -> 0d;
      default -> throw new IllegalStateException(scalar + " is no primitive type.");
    };
  }

  // ------------------------------------------------------------------------------------------ keys

  boolean isOrdered() {
    return scalar != Scalar.INTEGER && scalar != Scalar.DECIMAL;
  }

  MethodHandle keyWriter() {
    Class<?> plain = MethodType.methodType(type).unwrap().returnType();
    return method(KeyParts.class, "put" + keyName(), void.class, ObjectWriter.class, plain);
  }

  MethodHandle keyReader() {
    Class<?> plain = MethodType.methodType(type).unwrap().returnType();
    return method(KeyParts.class, "get" + keyName(), plain, ObjectReader.class);
  }

  private String keyName() {
    return name.startsWith("Boxed") ? name.substring("Boxed".length()) : name;
  }
}
