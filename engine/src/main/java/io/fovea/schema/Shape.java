package io.fovea.schema;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the objects of a table are made of, as its file remembers it: for a record the names of its
 * components and what each of them is.
 *
 * <p>Shapes are made from Java classes by {@link io.fovea.ObjectSpec}, and are found in files by
 * tools that don't have these classes. Two shapes are equal if they say the same of a file, which
 * is what {@code toString} says:
 *
 * <pre>{@code
 * record(owner TEXT, balance DECIMAL, state enum(OPEN, CLOSED), tags list(TEXT))
 * }</pre>
 *
 * <p>A value; any thread.
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
    /** A number of IEEE 754; 4 bytes. */
    FLOAT32,
    /** A number of IEEE 754; 8 bytes. */
    FLOAT64,
    /** Text of any length, in UTF-8. */
    TEXT,
    /** Bytes of any number. */
    BYTES,
    /** An integer of any size. */
    INTEGER,
    /** A decimal number of any size, with its scale. */
    DECIMAL,
    /** A universally unique identifier; 16 bytes. */
    UUID,
    /** A point of time, in nanoseconds; 12 bytes. */
    INSTANT,
    /** A date without a zone; 8 bytes. */
    DATE,
    /** A time of day without a zone; 8 bytes. */
    TIME,
    /** A date with a time of day, without a zone; 16 bytes. */
    DATETIME,
    /** A span of time, in nanoseconds; 12 bytes. */
    DURATION;

    /**
     * Whether values of another scalar fit this one as they are: narrower integers, and a narrower
     * number of IEEE 754.
     *
     * @param file the other one
     * @return true if none loses anything
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
   * One of some names.
   *
   * @param constants the names, in the order of their numbers
   * @since 0.1.0
   */
  record Enumeration(List<String> constants) implements Shape {
    /**
     * Checks the names.
     *
     * @throws IllegalArgumentException if one appears twice or is no identifier
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
   * A value or none.
   *
   * @param of what it is if it is there
   * @since 0.1.0
   */
  record Maybe(Shape of) implements Shape {
    @Override
    public String toString() {
      return "optional(" + of + ")";
    }
  }

  /**
   * Values in order.
   *
   * @param of what each of them is
   * @since 0.1.0
   */
  record Sequence(Shape of) implements Shape {
    @Override
    public String toString() {
      return "list(" + of + ")";
    }
  }

  /**
   * Different values.
   *
   * @param of what each of them is
   * @since 0.1.0
   */
  record Collected(Shape of) implements Shape {
    @Override
    public String toString() {
      return "set(" + of + ")";
    }
  }

  /**
   * Values by keys.
   *
   * @param key what each key is
   * @param value what each value is
   * @since 0.1.0
   */
  record Mapping(Shape key, Shape value) implements Shape {
    @Override
    public String toString() {
      return "map(" + key + ", " + value + ")";
    }
  }

  /**
   * Components by names.
   *
   * @param components in the order in which they are stored
   * @param dropped names of older components that are given up; no part of what a file remembers
   * @since 0.1.0
   */
  record Composite(List<Component> components, Set<String> dropped) implements Shape {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if two have one name
     */
    public Composite {
      components = List.copyOf(components);
      dropped = Set.copyOf(dropped);
      requireDistinct(components.stream().map(Component::name).toList(), "component");
    }

    /**
     * Where a component was.
     *
     * @param component one of this shape
     * @param file the shape of records in a file
     * @return its place among those of the file, by its name or else by an earlier one; -1 if it is
     *     not there
     */
    public static int find(Component component, Composite file) {
      int at = place(component.name(), file);
      for (String name : component.formerly()) {
        at = at >= 0 ? at : place(name, file);
      }
      return at;
    }

    /**
     * What a component is.
     *
     * @param name its name
     * @return its shape; null if there is none of that name
     */
    public @Nullable Shape component(String name) {
      int at = place(name, this);
      return at < 0 ? null : components.get(at).shape();
    }

    private static int place(String name, Composite file) {
      for (int i = 0; i < file.components.size(); i++) {
        if (file.components.get(i).name().equals(name)) {
          return i;
        }
      }
      return -1;
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
   * A component of a {@link Composite}.
   *
   * @param name its name, a Java identifier
   * @param shape what it is
   * @param formerly its earlier names, the latest first; no part of what a file remembers
   * @param initial what it is in records that were written without it, as {@link Initial} writes
   *     it; null where it may not be missing; no part of what a file remembers
   * @since 0.1.0
   */
  record Component(String name, Shape shape, List<String> formerly, @Nullable String initial) {
    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it is no identifier
     */
    public Component {
      Objects.requireNonNull(shape, "shape");
      formerly = List.copyOf(formerly);
      requireIdentifier(name);
    }

    /**
     * A component as a file has it.
     *
     * @param name its name
     * @param shape what it is
     */
    public Component(String name, Shape shape) {
      this(name, shape, List.of(), null);
    }

    /**
     * Whether there is a value for it in records that were written without it.
     *
     * @return true if it has an {@link #initial}
     */
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
      throw new IllegalArgumentException("\"" + name + "\" is no name of Java.");
    }
  }

  private static void requireDistinct(Collection<String> names, String what) {
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (!seen.add(name)) {
        throw new IllegalArgumentException("There is a " + what + " \"" + name + "\" already.");
      }
    }
  }
}
