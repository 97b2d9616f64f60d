package io.fovea.object;

import io.fovea.error.FoveaException;
import io.fovea.schema.Shape;
import java.lang.invoke.MethodType;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Converts the values of an earlier type of a component to its current type. Safe for use by any
 * thread if the function is.
 *
 * @param component the component, for messages
 * @param from the stored form of the earlier type
 * @param by the function, which is never called with null
 */
record Conversion(String component, Binding from, Function<Object, @Nullable Object> by) {
  /**
   * Returns a decoder of stored values.
   *
   * @param type the current type
   * @param initial replaces null if the type is primitive
   */
  Decoder decoder(Shape file, Class<?> type, @Nullable Object initial) {
    Decoder stored = from.decoder(file);
    Class<?> boxed = MethodType.methodType(type).wrap().returnType();
    Object none = type.isPrimitive() ? initial : type == Optional.class ? Optional.empty() : null;
    return in -> {
      Object old = stored.read(in);
      Object made = old == null ? null : apply(old);
      if (made != null && !boxed.isInstance(made)) {
        throw new ConversionFailedException(
            "The converter of component "
                + component
                + " returned a "
                + made.getClass().getName()
                + " instead of a "
                + type.getName()
                + ".",
            null);
      }
      if (old != null && made == null && type.isPrimitive()) {
        throw new ConversionFailedException(
            "The converter of component "
                + component
                + " returned null, but the component is of type "
                + type
                + ".",
            null);
      }
      return made == null ? none : made;
    };
  }

  private @Nullable Object apply(Object old) {
    try {
      return by.apply(old);
    } catch (FoveaException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new ConversionFailedException(
          "The converter of component " + component + " threw " + e + ".", e);
    }
  }
}
