package io.fovea.object;

import org.jspecify.annotations.Nullable;

/** Writes and reads objects of one class. Safe for use by any thread. */
public interface Plan {
  /** Writes an object. */
  void write(ObjectWriter out, @Nullable Object object);

  /** Reads an object. */
  @Nullable Object read(ObjectReader in);
}
