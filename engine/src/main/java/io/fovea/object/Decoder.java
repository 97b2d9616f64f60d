package io.fovea.object;

import org.jspecify.annotations.Nullable;

/** Reads values as they were stored once, and makes of them what they are now. */
@FunctionalInterface
interface Decoder {
  /** Reads one; null where none is there. */
  @Nullable Object read(ObjectReader in);
}
