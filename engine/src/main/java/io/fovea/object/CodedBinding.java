package io.fovea.object;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Shape;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Values that a codec converts to another type, in whose form they are stored. */
final class CodedBinding extends Binding {
  private final TypeCodec codec;
  private final Binding of;

  CodedBinding(Class<?> type, TypeCodec codec, Binding of) {
    super(type, of.shape);
    this.codec = codec;
    this.of = of;
  }

  /** Returns the stored form. */
  Binding of() {
    return of;
  }

  /**
   * Returns whether the order of the stored form is documented, so that it may be part of a key.
   */
  boolean isOrdered() {
    return codec.ordered();
  }

  /** Returns a handle that converts a value to its stored form; null becomes null. */
  MethodHandle encoder() {
    return handle("encode").asType(MethodType.methodType(of.type, type));
  }

  /** Like {@link #encoder}, but rejects null. */
  MethodHandle keyEncoder() {
    return handle("encodePart").asType(MethodType.methodType(of.type, type));
  }

  /** Returns a handle that converts a stored form to a value; null becomes null. */
  MethodHandle factory() {
    return handle("decode").asType(MethodType.methodType(type, of.type));
  }

  private MethodHandle handle(String name) {
    return method(CodedBinding.class, name, Object.class, Object.class).bindTo(this);
  }

  @Nullable Object encode(@Nullable Object value) {
    return value == null ? null : apply(codec.encode(), value, "encoded");
  }

  Object encodePart(@Nullable Object value) {
    return apply(codec.encode(), KeyParts.requireNonNull(value), "encoded");
  }

  @Nullable Object decode(@Nullable Object stored) {
    return stored == null ? null : apply(codec.decode(), stored, "decoded");
  }

  private Object apply(Function<Object, @Nullable Object> by, Object to, String what) {
    Object made = by.apply(to);
    if (made == null) {
      throw new InvalidUseException(
          "The codec of " + type.getName() + " has " + what + " a value as null.");
    }
    return made;
  }

  @Override
  MethodHandle writer() {
    return MethodHandles.filterArguments(of.writer(), 1, encoder());
  }

  @Override
  MethodHandle reader() {
    return MethodHandles.filterReturnValue(of.reader(), factory());
  }

  @Override
  Decoder decoder(Shape file) {
    Decoder stored = of.decoder(file);
    return in -> decode(stored.read(in));
  }

  @Override
  @Nullable Object initial(String text) {
    return decode(of.initial(text));
  }
}
