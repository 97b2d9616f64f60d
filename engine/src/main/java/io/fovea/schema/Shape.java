package io.fovea.schema;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The structure of the objects of a table, as stored in its file: for a record, the names and
 * shapes of its components.
 *
 * <p>{@link io.fovea.ObjectSpec} derives shapes from Java classes; tools read them from files
 * without requiring the classes. Two shapes are equal if their {@code toString} is:
 *
 * <pre>{@code
 * record(owner TEXT, balance DECIMAL, state enum(OPEN, CLOSED), tags list(TEXT))
 * }</pre>
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public sealed interface Shape {
  /**
   * A value without parts.
   *
   * @since 0.1.0
   */
  enum Scalar implements Shape {
    /** True or false; 1 byte. */
    BOOLEAN,
    /** An integer of 1 byte. */
    INT8,
    /** An integer of 2 bytes. */
    INT16,
    /** A UTF-16 unit; 2 bytes. */
    CHAR,
    /** An integer of 4 bytes. */
    INT32,
    /** An integer of 8 bytes. */
    INT64,
    /** An IEEE 754 number of 4 bytes. */
    FLOAT32,
    /** An IEEE 754 number of 8 bytes. */
    FLOAT64,
    /** Text of any length in UTF-8. */
    TEXT,
    /** A byte string of any length. */
    BYTES,
    /** An integer of any size. */
    INTEGER,
    /** A decimal number of any size, with its scale. */
    DECIMAL,
    /** A universally unique identifier; 16 bytes. */
    UUID,
    /** A point in time with nanoseconds; 12 bytes. */
    INSTANT,
    /** A date without a zone; 8 bytes. */
    DATE,
    /** A time of day without a zone; 8 bytes. */
    TIME,
    /** A date and time of day without a zone; 16 bytes. */
    DATETIME,
    /** A span of time with nanoseconds; 12 bytes. */
    DURATION;

    /**
     * Returns whether this scalar can hold all values of another without loss, as with narrower
     * integers and narrower IEEE 754 numbers.
     *
     * @param file the other scalar
     * @return true if it can
     */
    public boolean holds(Scalar file) {
      return this == file
          || this == FLOAT64 && (file == FLOAT32 || file == INT8 || file == INT16 || file == INT32)
          || isInteger() && file.isInteger() && file.ordinal() < ordinal()
          || this == INTEGER && file.isInteger();
    }

    private boolean isInteger() {
      return this == INT8 || this == INT16 || this == INT32 || this == INT64;
    }
  }

  /**
   * One of several constants.
   *
   * @param constants the names, in the order of their numbers
   * @since 0.1.0
   */
  record Enumeration(List<String> constants) implements Shape {
    /**
     * Checks the names.
     *
     * @throws IllegalArgumentException if one appears twice or is not an identifier
     */
    public Enumeration {
      constants = List.copyOf(constants);
      constants.forEach(Shape::requireIdentifier);
      requireDistinct(constants, "constant");
    }

    @Override
    public String toString() {
      return "enum(" + String.join(", ", constants) + ")";
    }
  }

  /**
   * An optional value.
   *
   * @param of the shape of the value
   * @since 0.1.0
   */
  record Maybe(Shape of) implements Shape {
    @Override
    public String toString() {
      return "optional(" + of + ")";
    }
  }

  /**
   * A list of values.
   *
   * @param of the shape of each value
   * @since 0.1.0
   */
  record Sequence(Shape of) implements Shape {
    @Override
    public String toString() {
      return "list(" + of + ")";
    }
  }

  /**
   * A set of values.
   *
   * @param of the shape of each value
   * @since 0.1.0
   */
  record Collected(Shape of) implements Shape {
    @Override
    public String toString() {
      return "set(" + of + ")";
    }
  }

  /**
   * A map.
   *
   * @param key the shape of each key
   * @param value the shape of each value
   * @since 0.1.0
   */
  record Mapping(Shape key, Shape value) implements Shape {
    @Override
    public String toString() {
      return "map(" + key + ", " + value + ")";
    }
  }

  /**
   * A record of named components.
   *
   * @param components in the order in which they are stored
   * @param dropped names of removed components; not stored in the file
   * @since 0.1.0
   */
  record Composite(List<Component> components, Set<String> dropped) implements Shape {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if two have the same name
     */
    public Composite {
      components = List.copyOf(components);
      dropped = Set.copyOf(dropped);
      requireDistinct(components.stream().map(Component::name).toList(), "component");
    }

    /**
     * Finds a component in an older shape.
     *
     * @param component a component of this shape
     * @param file the shape of stored records
     * @return its index in the stored shape, found by its name, or otherwise by an earlier name; -1
     *     if absent
     */
    public static int find(Component component, Composite file) {
      return component.findIn(file.components);
    }

    /**
     * Returns the shape of a component.
     *
     * @param name its name
     * @return its shape; null if no component has that name
     */
    public @Nullable Shape component(String name) {
      int at = Component.ordinal(name, components);
      return at < 0 ? null : components.get(at).shape();
    }

    @Override
    public boolean equals(@Nullable Object o) {
      return o instanceof Composite c && components.equals(c.components);
    }

    @Override
    public int hashCode() {
      return components.hashCode();
    }

    @Override
    public String toString() {
      return components.stream()
          .map(Component::toString)
          .collect(Collectors.joining(", ", "record(", ")"));
    }
  }

  /**
   * One of several records: a sealed interface.
   *
   * @param records the permitted records in the order of their numbers: their names and shapes,
   *     each a {@link Composite}
   * @since 0.2.0
   */
  record OneOf(List<Component> records) implements Shape {
    /**
     * Checks the records.
     *
     * @throws IllegalArgumentException if two have the same name, or one is not a {@link Composite}
     */
    public OneOf {
      records = List.copyOf(records);
      requireDistinct(records.stream().map(Component::name).toList(), "record");
      for (Component c : records) {
        if (!(c.shape() instanceof Composite)) {
          throw new IllegalArgumentException(c + " is not a record.");
        }
      }
    }

    /**
     * Finds a record in an older shape.
     *
     * @param record a record of this shape
     * @param file the shape of stored values
     * @return its index in the stored shape, found by its name, or otherwise by an earlier name; -1
     *     if absent
     */
    public static int find(Component record, OneOf file) {
      return record.findIn(file.records);
    }

    @Override
    public String toString() {
      return records.stream()
          .map(Component::toString)
          .collect(Collectors.joining(", ", "oneof(", ")"));
    }
  }

  /**
   * A component of a {@link Composite}, or a record of a {@link OneOf}.
   *
   * @param name a Java identifier
   * @param shape the shape of its values
   * @param formerly its earlier names, the latest first; not stored in the file
   * @param initial its value in records written without it, as in {@link Initial}; null if it must
   *     be present; not stored in the file
   * @param converted the shapes of its earlier types that have a converter, as in {@link
   *     Converted}; not stored in the file
   * @since 0.1.0
   */
  record Component(
      String name,
      Shape shape,
      List<String> formerly,
      @Nullable String initial,
      List<Shape> converted) {
    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it is not an identifier
     */
    public Component {
      Objects.requireNonNull(shape, "shape");
      formerly = List.copyOf(formerly);
      converted = List.copyOf(converted);
      requireIdentifier(name);
    }

    /**
     * Creates a component without converters.
     *
     * @param name its name
     * @param shape the shape of its values
     * @param formerly its earlier names, the latest first
     * @param initial its value in records written without it, or null
     */
    public Component(String name, Shape shape, List<String> formerly, @Nullable String initial) {
      this(name, shape, formerly, initial, List.of());
    }

    /**
     * Creates a component as stored in a file.
     *
     * @param name its name
     * @param shape the shape of its values
     */
    public Component(String name, Shape shape) {
      this(name, shape, List.of(), null);
    }

    private int findIn(List<Component> file) {
      int at = ordinal(name, file);
      for (String former : formerly) {
        at = at >= 0 ? at : ordinal(former, file);
      }
      return at;
    }

    private static int ordinal(String name, List<Component> file) {
      for (int i = 0; i < file.size(); i++) {
        if (file.get(i).name().equals(name)) {
          return i;
        }
      }
      return -1;
    }

    /** {@return whether it has a value in records written without it} */
    public boolean hasInitial() {
      return initial != null;
    }

    @Override
    public boolean equals(@Nullable Object o) {
      return o instanceof Component c && name.equals(c.name) && shape.equals(c.shape);
    }

    @Override
    public int hashCode() {
      return 31 * name.hashCode() + shape.hashCode();
    }

    @Override
    public String toString() {
      return name + ' ' + shape;
    }
  }

  private static void requireIdentifier(String name) {
    if (name.isEmpty() || !name.codePoints().allMatch(Character::isJavaIdentifierPart)) {
      throw new IllegalArgumentException("\"" + name + "\" is not a Java identifier.");
    }
  }

  private static void requireDistinct(Collection<String> names, String what) {
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (!seen.add(name)) {
        throw new IllegalArgumentException("There is already a " + what + " \"" + name + "\".");
      }
    }
  }
}
