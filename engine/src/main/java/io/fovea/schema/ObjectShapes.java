package io.fovea.schema;

import java.util.Objects;

/**
 * The shapes of the keys and values of a table of objects.
 *
 * @param key the keys, without optional parts and collections
 * @param value the values, in their newest version
 * @since 0.1.0
 */
public record ObjectShapes(Shape key, Shape.Composite value) {
  /** Checks that both are present. */
  public ObjectShapes {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
  }

  /** Returns text like {@code INT64 → record(owner TEXT)}. */
  @Override
  public String toString() {
    return key + " → " + value;
  }
}
