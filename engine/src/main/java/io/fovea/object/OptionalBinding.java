package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Maybe;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Optional values, stored like nullable values. */
final class OptionalBinding extends Binding {
  private final Binding of;

  OptionalBinding(Binding of) {
    super(Optional.class, of.shape instanceof Maybe ? of.shape : new Maybe(of.shape));
    this.of = of;
  }

  /** Returns the stored form of the value inside. */
  Binding of() {
    return of;
  }

  /** Returns a handle that converts an optional to its value, or to null. */
  MethodHandle opener() {
    return method(OptionalBinding.class, "open", Object.class, Optional.class)
        .asType(MethodType.methodType(of.type, Optional.class));
  }

  @Override
  MethodHandle writer() {
    return MethodHandles.filterArguments(of.writer(), 1, opener());
  }

  static @Nullable Object open(@Nullable Optional<?> value) {
    return value == null ? null : value.orElse(null);
  }

  @Override
  MethodHandle reader() {
    MethodHandle close =
        method(Optional.class, "ofNullable", Optional.class, Object.class)
            .asType(MethodType.methodType(Optional.class, of.type));
    return MethodHandles.filterReturnValue(of.reader(), close);
  }

  @Override
  Decoder decoder(Shape file) {
    Decoder inside = of.decoder(file);
    return in -> Optional.ofNullable(inside.read(in));
  }

  @Override
  boolean hasInitial() {
    return true;
  }

  @Override
  Object initial(String text) {
    return Optional.ofNullable(text.isEmpty() ? null : of.initial(text));
  }
}
