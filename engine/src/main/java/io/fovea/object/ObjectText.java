package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Collected;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Enumeration;
import io.fovea.schema.Shape.Mapping;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.OneOf;
import io.fovea.schema.Shape.Scalar;
import io.fovea.schema.Shape.Sequence;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes objects and keys without their classes, by their shapes in the file.
 *
 * <pre>
 *   shape            value                      part of a key, as text
 *   BOOLEAN          Boolean                    true, false
 *   integers         Byte, Short, Integer,      digits
 *                    Long, BigInteger
 *   FLOAT32, 64      Float, Double              as for Double.parseDouble
 *   DECIMAL          BigDecimal                 -
 *   CHAR, TEXT       Character, String          unchanged
 *   BYTES            byte[]                     hexadecimal digits
 *   UUID, times      UUID, Instant, Duration,   the result of toString
 *                    LocalDate, and so on
 *   enum             the constant's name        its name
 *   list, set        List                       -
 *   map              Map keyed by the keys' text, or a List of {key, value}
 *   record           Map by components          its parts in sequence
 *   oneof            Map with a single entry:   -
 *                    the record by its name
 * </pre>
 *
 * <p>Safe for use by any thread.
 */
public final class ObjectText {
  private ObjectText() {}

  // -------------------------------------------------------------------------------------- objects

  /**
   * Reads an object, whose first byte is its version; returns its components by name.
   *
   * @throws IllegalArgumentException if the bytes are not an object of the table
   */
  public static Map<String, @Nullable Object> object(List<Composite> versions, byte[] object) {
    try {
      ObjectReader in = new ObjectReader().of(object);
      int version = Byte.toUnsignedInt(in.getByte());
      if (version < 1 || version > versions.size()) {
        throw new IllegalArgumentException(
            "An object of version " + version + ", and the table has " + versions.size() + ".");
      }
      Map<String, @Nullable Object> all = components(versions.get(version - 1), in);
      requireEnd(in);
      return all;
    } catch (IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("The bytes are not an object: they end too early.", e);
    }
  }

  private static void requireEnd(ObjectReader in) {
    if (!in.isAtEnd()) {
      throw new IllegalArgumentException("The bytes continue after the end of the object.");
    }
  }

  private static Map<String, @Nullable Object> components(Composite shape, ObjectReader in) {
    Map<String, @Nullable Object> all = new LinkedHashMap<>();
    for (Component c : shape.components()) {
      all.put(c.name(), value(c.shape(), in));
    }
    return all;
  }

  private static @Nullable Object value(Shape shape, ObjectReader in) {
    return switch (shape) {
      case Scalar s -> scalar(s, in);
      case Enumeration e -> {
        int n = in.getCount();
        yield n == 0 ? null : constant(e, n - 1);
      }
      case Maybe m ->
          Binding.lacksPresenceByte(m.of()) && !in.getBoolean() ? null : value(m.of(), in);
      case Sequence s -> list(s.of(), in);
      case Collected c -> list(c.of(), in);
      case Mapping m -> map(m, in);
      case Composite c -> in.getBoolean() ? components(c, in) : null;
      case OneOf o -> {
        int n = OneOfBinding.number(in, o.records().size());
        yield n == 0 ? null : record(o.records().get(n - 1), in);
      }
    };
  }

  private static Map<String, @Nullable Object> record(Component of, ObjectReader in) {
    Map<String, @Nullable Object> one = new LinkedHashMap<>();
    one.put(of.name(), components((Composite) of.shape(), in));
    return one;
  }

  private static String constant(Enumeration e, int n) {
    return n >= 0 && n < e.constants().size() ? e.constants().get(n) : "constant " + n;
  }

  private static @Nullable Object list(Shape of, ObjectReader in) {
    int n = in.getSize();
    if (n < 0) {
      return null;
    }
    List<@Nullable Object> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      all.add(value(of, in));
    }
    return all;
  }

  private static @Nullable Object map(Mapping of, ObjectReader in) {
    int n = in.getSize();
    if (n < 0) {
      return null;
    }
    boolean named = of.key() instanceof Scalar s && s != Scalar.BYTES || isNames(of.key());
    Map<String, @Nullable Object> byName = new LinkedHashMap<>();
    List<Map<String, @Nullable Object>> pairs = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Object key = value(of.key(), in);
      Object value = value(of.value(), in);
      if (named) {
        byName.put(String.valueOf(key), value);
      } else {
        Map<String, @Nullable Object> pair = new LinkedHashMap<>();
        pair.put("key", key);
        pair.put("value", value);
        pairs.add(pair);
      }
    }
    return named ? byName : pairs;
  }

  private static boolean isNames(Shape shape) {
    return shape instanceof Enumeration;
  }

  private static @Nullable Object scalar(Scalar scalar, ObjectReader in) {
    return switch (scalar) {
      case BOOLEAN -> in.getBoolean();
      case INT8 -> in.getByte();
      case INT16 -> in.getShort();
      case CHAR -> in.getChar();
      case INT32 -> in.getInt();
      case INT64 -> in.getLong();
      case FLOAT32 -> in.getFloat();
      case FLOAT64 -> in.getDouble();
      case TEXT -> in.getText();
      case BYTES -> in.getBytes();
      case INTEGER -> in.getInteger();
      case DECIMAL -> in.getDecimal();
      case UUID -> in.getUuid();
      case INSTANT -> in.getInstant();
      case DATE -> in.getDate();
      case TIME -> in.getTime();
      case DATETIME -> in.getDateTime();
      case DURATION -> in.getDuration();
    };
  }

  /**
   * Writes an object of a version, without its class and constructor. The values have the form that
   * {@link #object(List, byte[])} returns; a scalar may be given as text, and a missing value is
   * null.
   *
   * @throws IllegalArgumentException if a name is not a component, or a value does not fit
   */
  public static byte[] object(List<Composite> versions, int version, Map<String, ?> values) {
    ObjectWriter out = new ObjectWriter();
    out.putByte((byte) version);
    putComponents(out, versions.get(version - 1), values, "");
    return out.toArray();
  }

  private static void putComponents(
      ObjectWriter out, Composite shape, Map<?, ?> values, String path) {
    for (Object name : values.keySet()) {
      if (shape.component(String.valueOf(name)) == null) {
        throw new IllegalArgumentException(
            "There is no component " + path + name + ": there are " + shape + ".");
      }
    }
    for (Component c : shape.components()) {
      putValue(out, c.shape(), values.get(c.name()), path + c.name());
    }
  }

  private static void putValue(ObjectWriter out, Shape shape, @Nullable Object value, String path) {
    switch (shape) {
      case Scalar s -> {
        if (value == null && Binding.lacksPresenceByte(s)) {
          throw new IllegalArgumentException(path + " is missing: " + s + " is never null.");
        }
        putObjectScalar(out, s, value, path);
      }
      case Enumeration e -> {
        int n = value == null ? 0 : e.constants().indexOf(String.valueOf(value)) + 1;
        if (n == 0 && value != null) {
          throw noValue(path, value, e);
        }
        out.putCount(n);
      }
      case Maybe m -> {
        if (Binding.lacksPresenceByte(m.of())) {
          out.putBoolean(value != null);
          if (value == null) {
            return;
          }
        }
        putValue(out, m.of(), value, path);
      }
      case Sequence s -> putList(out, s.of(), value, path, s);
      case Collected c -> putList(out, c.of(), value, path, c);
      case Mapping m -> putMap(out, m, value, path);
      case Composite c -> {
        out.putBoolean(value != null);
        if (value instanceof Map<?, ?> all) {
          putComponents(out, c, all, path + '.');
        } else if (value != null) {
          throw noValue(path, value, c);
        }
      }
      case OneOf o -> putOneOf(out, o, value, path);
    }
  }

  private static void putOneOf(ObjectWriter out, OneOf shape, @Nullable Object value, String path) {
    if (value == null) {
      out.putCount(0);
      return;
    }
    if (value instanceof Map<?, ?> one && one.size() == 1) {
      Map.Entry<?, ?> only = one.entrySet().iterator().next();
      String name = String.valueOf(only.getKey());
      for (int i = 0; i < shape.records().size(); i++) {
        Component c = shape.records().get(i);
        if (c.name().equals(name) && only.getValue() instanceof Map<?, ?> all) {
          out.putCount(i + 1);
          putComponents(out, (Composite) c.shape(), all, path + '.' + name + '.');
          return;
        }
      }
    }
    throw noValue(path, value, shape);
  }

  private static void putList(
      ObjectWriter out, Shape of, @Nullable Object value, String path, Shape shape) {
    switch (value) {
      case null -> out.putCount(0);
      case List<?> all -> {
        out.putCount(all.size() + 1);
        for (int i = 0; i < all.size(); i++) {
          putValue(out, of, all.get(i), path + '[' + i + ']');
        }
      }
      default -> throw noValue(path, value, shape);
    }
  }

  private static void putMap(ObjectWriter out, Mapping of, @Nullable Object value, String path) {
    switch (value) {
      case null -> out.putCount(0);
      case Map<?, ?> all -> {
        out.putCount(all.size() + 1);
        all.forEach(
            (k, v) -> {
              putValue(out, of.key(), k, path + '.' + k);
              putValue(out, of.value(), v, path + '.' + k);
            });
      }
      case List<?> pairs -> {
        out.putCount(pairs.size() + 1);
        for (Object pair : pairs) {
          if (!(pair instanceof Map<?, ?> p) || !p.keySet().equals(Set.of("key", "value"))) {
            throw noValue(path, value, of);
          }
          putValue(out, of.key(), p.get("key"), path + ".key");
          putValue(out, of.value(), p.get("value"), path + ".value");
        }
      }
      default -> throw noValue(path, value, of);
    }
  }

  private static IllegalArgumentException noValue(String path, Object value, Shape of) {
    String text =
        value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : String.valueOf(value);
    return new IllegalArgumentException(
        "'" + text + "' is not a value of " + path + ' ' + of + ".");
  }

  private static void putObjectScalar(
      ObjectWriter out, Scalar scalar, @Nullable Object value, String path) {
    String text =
        value == null
            ? null
            : value instanceof byte[] bytes
                ? HexFormat.of().formatHex(bytes)
                : String.valueOf(value);
    try {
      switch (scalar) {
        case BOOLEAN -> out.putBoolean(bool(requireNonNull(text)));
        case INT8 -> out.putByte(Byte.parseByte(requireNonNull(text)));
        case INT16 -> out.putShort(Short.parseShort(requireNonNull(text)));
        case CHAR -> out.putChar(character(requireNonNull(text)));
        case INT32 -> out.putInt(Integer.parseInt(requireNonNull(text)));
        case INT64 -> out.putLong(Long.parseLong(requireNonNull(text)));
        case FLOAT32 -> out.putFloat(Float.parseFloat(requireNonNull(text)));
        case FLOAT64 -> out.putDouble(Double.parseDouble(requireNonNull(text)));
        case TEXT -> out.putText(text);
        case BYTES -> out.putBytes(text == null ? null : HexFormat.of().parseHex(text));
        case INTEGER -> out.putInteger(text == null ? null : new BigInteger(text));
        case DECIMAL -> out.putDecimal(text == null ? null : new BigDecimal(text));
        case UUID -> out.putUuid(text == null ? null : uuid(text));
        case INSTANT -> out.putInstant(text == null ? null : Instant.parse(text));
        case DATE -> out.putDate(text == null ? null : LocalDate.parse(text));
        case TIME -> out.putTime(text == null ? null : LocalTime.parse(text));
        case DATETIME -> out.putDateTime(text == null ? null : LocalDateTime.parse(text));
        case DURATION -> out.putDuration(text == null ? null : Duration.parse(text));
      }
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a value of " + path + ' ' + scalar + ".", e);
    }
  }

  private static String requireNonNull(@Nullable String text) {
    return Objects.requireNonNull(text);
  }

  private static char character(String text) {
    if (text.length() != 1) {
      throw new IllegalArgumentException("Expected one character.");
    }
    return text.charAt(0);
  }

  // ----------------------------------------------------------------------------------------- keys

  /** A part of a key, with the dotted path of its component. */
  private record Leaf(String name, Shape shape) {}

  private static List<Leaf> leaves(Shape key) {
    List<Leaf> all = new ArrayList<>();
    collect("", key, all);
    return all;
  }

  private static void collect(String name, Shape shape, List<Leaf> all) {
    if (shape instanceof Composite c) {
      for (Component each : c.components()) {
        collect(name.isEmpty() ? each.name() : name + '.' + each.name(), each.shape(), all);
      }
    } else {
      all.add(new Leaf(name.isEmpty() ? "key" : name, shape));
    }
  }

  /** Returns the parts of a key by name, in order; a key without parts has the name {@code key}. */
  public static Map<String, Shape> parts(Shape key) {
    Map<String, Shape> all = new LinkedHashMap<>();
    leaves(key).forEach(leaf -> all.put(leaf.name, leaf.shape));
    return all;
  }

  /**
   * Reads a key; returns its parts by name.
   *
   * @throws IllegalArgumentException if the bytes are not such a key
   */
  public static Map<String, @Nullable Object> key(Shape key, byte[] bytes) {
    try {
      ObjectReader in = new ObjectReader().of(bytes);
      Map<String, @Nullable Object> all = new LinkedHashMap<>();
      for (Leaf leaf : leaves(key)) {
        all.put(leaf.name, part(leaf.shape, in));
      }
      requireEnd(in);
      return all;
    } catch (IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("The bytes are not a key: they end too early.", e);
    }
  }

  private static Object part(Shape shape, ObjectReader in) {
    if (shape instanceof Enumeration e) {
      return constant(e, KeyParts.getChar(in));
    }
    return switch ((Scalar) shape) {
      case BOOLEAN -> KeyParts.getBoolean(in);
      case INT8 -> KeyParts.getByte(in);
      case INT16 -> KeyParts.getShort(in);
      case CHAR -> KeyParts.getChar(in);
      case INT32 -> KeyParts.getInt(in);
      case INT64 -> KeyParts.getLong(in);
      case FLOAT32 -> KeyParts.getFloat(in);
      case FLOAT64 -> KeyParts.getDouble(in);
      case TEXT -> KeyParts.getText(in);
      case BYTES -> KeyParts.getBytes(in);
      case UUID -> KeyParts.getUuid(in);
      case INSTANT -> KeyParts.getInstant(in);
      case DATE -> KeyParts.getDate(in);
      case TIME -> KeyParts.getTime(in);
      case DATETIME -> KeyParts.getDateTime(in);
      case DURATION -> KeyParts.getDuration(in);
      case INTEGER, DECIMAL -> throw unordered(shape);
    };
  }

  private static IllegalArgumentException unordered(Shape shape) {
    return new IllegalArgumentException(shape + " has no ordered encoding.");
  }

  /**
   * Creates a key, or a prefix of one, from the text of its first parts.
   *
   * @throws IllegalArgumentException if there are too many, or one is not a value of its part
   */
  public static byte[] key(Shape key, List<String> texts) {
    List<Leaf> leaves = leaves(key);
    requireParts(texts.size(), leaves.size());
    ObjectWriter out = new ObjectWriter();
    for (int i = 0; i < texts.size(); i++) {
      Leaf leaf = leaves.get(i);
      put(out, leaf.shape, texts.get(i));
    }
    return out.toArray();
  }

  /**
   * Creates a prefix of the entry keys of an index from text; null elements stand for null.
   *
   * @throws IllegalArgumentException if there are too many, or one is not a value of its part
   */
  public static byte[] entry(ObjectEntries index, List<@Nullable String> texts) {
    List<Shape> types = index.types();
    requireParts(texts.size(), types.size());
    ObjectWriter out = new ObjectWriter();
    for (int i = 0; i < texts.size(); i++) {
      String text = texts.get(i);
      out.putByte(text == null ? EntryParts.NULL : EntryParts.PRESENT);
      if (text != null) {
        put(out, types.get(i), text);
      }
    }
    return out.toArray();
  }

  private static void requireParts(int given, int max) {
    if (given > max) {
      throw new IllegalArgumentException(
          "The key has " + max + " parts, but " + given + " were given.");
    }
  }

  private static void put(ObjectWriter out, Shape shape, String text) {
    try {
      if (shape instanceof Enumeration e) {
        int n = e.constants().indexOf(text);
        if (n < 0) {
          throw new IllegalArgumentException("Expected one of " + e.constants() + ".");
        }
        KeyParts.putChar(out, (char) n);
      } else {
        putScalar(out, (Scalar) shape, text);
      }
    } catch (RuntimeException e) {
      throw new IllegalArgumentException("'" + text + "' is not a value of " + shape + ".", e);
    }
  }

  private static void putScalar(ObjectWriter out, Scalar scalar, String text) {
    switch (scalar) {
      case BOOLEAN -> KeyParts.putBoolean(out, bool(text));
      case INT8 -> KeyParts.putByte(out, Byte.parseByte(text));
      case INT16 -> KeyParts.putShort(out, Short.parseShort(text));
      case CHAR -> KeyParts.putChar(out, character(text));
      case INT32 -> KeyParts.putInt(out, Integer.parseInt(text));
      case INT64 -> KeyParts.putLong(out, Long.parseLong(text));
      case FLOAT32 -> KeyParts.putFloat(out, Float.parseFloat(text));
      case FLOAT64 -> KeyParts.putDouble(out, Double.parseDouble(text));
      case TEXT -> KeyParts.putText(out, text);
      case BYTES -> KeyParts.putBytes(out, HexFormat.of().parseHex(text));
      case UUID -> KeyParts.putUuid(out, uuid(text));
      case INSTANT -> KeyParts.putInstant(out, Instant.parse(text));
      case DATE -> KeyParts.putDate(out, LocalDate.parse(text));
      case TIME -> KeyParts.putTime(out, LocalTime.parse(text));
      case DATETIME -> KeyParts.putDateTime(out, LocalDateTime.parse(text));
      case DURATION -> KeyParts.putDuration(out, Duration.parse(text));
      case INTEGER, DECIMAL -> throw unordered(scalar);
    }
  }

  private static boolean bool(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("Expected true or false.");
    };
  }

  /** Parses a UUID more strictly than {@link UUID#fromString}, which accepts shorter text. */
  private static UUID uuid(String text) {
    UUID uuid = UUID.fromString(text);
    if (!uuid.toString().equals(text.toLowerCase(Locale.ROOT))) {
      throw new IllegalArgumentException("Expected 36 characters.");
    }
    return uuid;
  }
}
