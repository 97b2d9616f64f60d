package io.fovea.index;

import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The shapes that the objects of a table have had. The first byte of each object is its version,
 * counted from 1.
 *
 * @param key the shape of the keys, which never changes
 * @param versions the shapes of the values, oldest first
 */
public record ObjectHistory(Shape key, List<Shape.Composite> versions) {
  public static final int VERSION_MAX = 255;

  public ObjectHistory {
    versions = List.copyOf(versions);
    if (versions.isEmpty() || versions.size() > VERSION_MAX) {
      throw new IllegalArgumentException(
          "Objects have 1 to 255 versions, not " + versions.size() + ".");
    }
  }

  /** Returns the history of a new table; null unless the table contains objects. */
  public static @Nullable ObjectHistory first(@Nullable ObjectShapes shapes) {
    return shapes == null ? null : new ObjectHistory(shapes.key(), List.of(shapes.value()));
  }

  public int version() {
    return versions.size();
  }

  public Shape.Composite shape(int version) {
    return versions.get(version - 1);
  }

  /** Returns the latest version of a shape; 0 if there is none. */
  public int version(Shape value) {
    return versions.lastIndexOf(value) + 1;
  }

  /** Returns this history with one more version. */
  public ObjectHistory next(Shape.Composite value) {
    List<Shape.Composite> more = new ArrayList<>(versions);
    more.add(value);
    return new ObjectHistory(key, more);
  }

  public ObjectShapes shapes() {
    return new ObjectShapes(key, versions.getLast());
  }
}
