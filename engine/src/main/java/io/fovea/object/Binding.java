package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.Scalar;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/**
 * How the values of a Java type are stored: their shape, and who writes and reads them.
 *
 * <p>Values that are null, empty optionals included, take one byte. An optional is stored like a
 * value that may be null.
 */
abstract sealed class Binding
    permits ScalarBinding, EnumBinding, OptionalBinding, CollectionBinding, RecordBinding {
  final Class<?> type;
  final Shape shape;

  private @Nullable Plan plan;

  Binding(Class<?> type, Shape shape) {
    this.type = type;
    this.shape = shape;
  }

  /** Takes a writer and a value. */
  abstract MethodHandle writer();

  /** Takes a reader, and gives a value. */
  abstract MethodHandle reader();

  /**
   * Reads what was stored with another shape, from which this one differs in nothing that counts.
   */
  abstract Decoder decoder(Shape file);

  /** What a component is in records that were written without it, if it is written down as text. */
  abstract @Nullable Object initial(String text);

  /** Whether a component may be missing in older records without a word about it. */
  boolean hasInitial() {
    return false;
  }

  /** For the elements of a collection, which are not known to the JIT one by one. */
  Plan plan() {
    Plan made = plan;
    if (made == null) {
      made = PlanTemplate.of(writer(), reader());
      plan = made;
    }
    return made;
  }

  /** A shape without its being there or not. */
  static Shape inner(Shape shape) {
    return shape instanceof Maybe m ? m.of() : shape;
  }

  /** Whether it is stored without a byte that says whether it is there. */
  static boolean isBare(Shape shape) {
    return shape instanceof Scalar s && s.ordinal() <= Scalar.FLOAT64.ordinal();
  }

  static MethodHandle method(Class<?> in, String name, Class<?> result, Class<?>... arguments) {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      try {
        return lookup.findVirtual(in, name, MethodType.methodType(result, arguments));
      } catch (IllegalAccessException | NoSuchMethodException e) {
        return lookup.findStatic(in, name, MethodType.methodType(result, arguments));
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
