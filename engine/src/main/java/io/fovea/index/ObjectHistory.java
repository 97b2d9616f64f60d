package io.fovea.index;

import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The shapes that the objects of a table have had. Each object says in its first byte which one it
 * has: versions count from 1.
 *
 * @param key what keys are, the same for ever
 * @param versions what values were, and are
 */
public record ObjectHistory(Shape key, List<Shape.Composite> versions) {
  /** The most versions. */
  public static final int VERSION_MAX = 255;

  public ObjectHistory {
    versions = List.copyOf(versions);
    if (versions.isEmpty() || versions.size() > VERSION_MAX) {
      throw new IllegalArgumentException(
          "Objects have 1 to 255 versions, not " + versions.size() + ".");
    }
  }

  /** Of a new table; null for one of other values. */
  public static @Nullable ObjectHistory first(@Nullable ObjectShapes shapes) {
    return shapes == null ? null : new ObjectHistory(shapes.key(), List.of(shapes.value()));
  }

  /** The version that is written now. */
  public int version() {
    return versions.size();
  }

  /** What a version is. */
  public Shape.Composite shape(int version) {
    return versions.get(version - 1);
  }

  /** The latest version of a shape; 0 if there is none. */
  public int version(Shape value) {
    return versions.lastIndexOf(value) + 1;
  }

  /** The same with one version more. */
  public ObjectHistory next(Shape.Composite value) {
    List<Shape.Composite> more = new ArrayList<>(versions);
    more.add(value);
    return new ObjectHistory(key, more);
  }

  /** What a specification says that writes the newest version. */
  public ObjectShapes shapes() {
    return new ObjectShapes(key, versions.getLast());
  }
}
