package io.fovea.schema;

import java.util.Objects;

/**
 * What the keys and the values of a table of objects are made of.
 *
 * @param key the keys, without optional parts and collections
 * @param value the values, as they are written now
 * @since 0.1.0
 */
public record ObjectShapes(Shape key, Shape.Composite value) {
  /** Checks that both are there. */
  public ObjectShapes {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
  }

  /** As in {@code INT64 → record(owner TEXT)}. */
  @Override
  public String toString() {
    return key + " → " + value;
  }
}
