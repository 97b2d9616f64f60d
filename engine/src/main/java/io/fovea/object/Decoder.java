package io.fovea.object;

import org.jspecify.annotations.Nullable;

/** Reads values of an older stored form and converts them to the current form. */
@FunctionalInterface
interface Decoder {
  /** Reads one value, or null if it is null. */
  @Nullable Object read(ObjectReader in);
}
