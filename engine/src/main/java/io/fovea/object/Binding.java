package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.Scalar;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/**
 * The stored form of a Java type: its shape, with handles that write and read its values.
 *
 * <p>A null value takes one byte, as does an empty optional. An optional is stored like a nullable
 * value.
 */
abstract sealed class Binding
    permits ScalarBinding,
        EnumBinding,
        OptionalBinding,
        CollectionBinding,
        RecordBinding,
        OneOfBinding,
        CodedBinding {
  final Class<?> type;
  final Shape shape;

  private @Nullable Plan plan;

  Binding(Class<?> type, Shape shape) {
    this.type = type;
    this.shape = shape;
  }

  /** Returns a handle that takes a writer and a value. */
  abstract MethodHandle writer();

  /** Returns a handle that takes a reader and returns a value. */
  abstract MethodHandle reader();

  /** Returns a decoder of values that were stored with another, compatible shape. */
  abstract Decoder decoder(Shape file);

  /** Returns the value, given as text, of a component in records that were written without it. */
  abstract @Nullable Object initial(String text);

  /** Returns whether older records may lack a component that has no annotation. */
  boolean hasInitial() {
    return false;
  }

  /** Returns a plan for the elements of a collection, whose type the JIT can't know at the call. */
  Plan plan() {
    Plan made = plan;
    if (made == null) {
      made = PlanTemplate.of(writer(), reader());
      plan = made;
    }
    return made;
  }

  /** Returns a shape without its optionality. */
  static Shape inner(Shape shape) {
    return shape instanceof Maybe m ? m.of() : shape;
  }

  /** Returns whether values are stored without a byte for null. */
  static boolean lacksPresenceByte(Shape shape) {
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
