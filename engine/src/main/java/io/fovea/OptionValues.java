package io.fovea;

import java.util.function.Consumer;

/**
 * The values of one class of options, mutable only while new options are being built: options keep
 * them in a final field.
 *
 * @param <V> the class itself
 */
abstract class OptionValues<V extends OptionValues<V>> implements Cloneable {
  /** Returns a changed copy. */
  @SuppressWarnings("unchecked") // a copy is of the same class
  final V with(Consumer<? super V> change) {
    try {
      V copy = (V) clone();
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }
}
