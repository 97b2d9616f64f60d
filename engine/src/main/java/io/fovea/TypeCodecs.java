package io.fovea;

import io.fovea.object.TypeCodec;
import java.lang.invoke.MethodType;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Codecs for types that Fovea does not store itself, in components and keys of an {@link
 * ObjectSpec}. Each stores the values of a type in the form of another one, which may be any type
 * that a component can have.
 *
 * <pre>{@code
 * static final TypeCodecs CODECS =
 *     TypeCodecs.of(Currency.class, String.class, Currency::getCurrencyCode, Currency::getInstance)
 *         .and(Color.class, Integer.class, Color::getRGB, Color::new);
 *
 * static final ObjectSpec<Long, Product> PRODUCTS =
 *     ObjectSpec.of("products", Long.class, Product.class, CODECS);
 * }</pre>
 *
 * <p>The file contains values of the other type only: keys and indexes sort them by its order, and
 * {@link io.fovea.schema.Initial} gives them in its form. A component may therefore change from one
 * of the types to the other. To change the stored form compatibly, use a record.
 *
 * <p>The functions are never called with null, must not return null, and must be thread-safe. They
 * may be called at any time, including by transactions that will be aborted. In a key, equal values
 * must have equal stored forms.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.2.0
 */
public final class TypeCodecs {
  static final TypeCodecs NONE = new TypeCodecs(Map.of());

  private final Map<Class<?>, TypeCodec> byType;

  private TypeCodecs(Map<Class<?>, TypeCodec> byType) {
    this.byType = byType;
  }

  /**
   * {@return the codec of a single type}
   *
   * @param <T> the type
   * @param <S> the stored type
   * @param type the type, as components are declared; not generic
   * @param stored the type to store, not generic
   * @param encode converts a value to the stored type
   * @param decode converts a stored value back to an equal one
   * @throws IllegalArgumentException if Fovea stores the type as a {@link
   *     io.fovea.schema.Shape.Scalar} without a codec
   */
  public static <T, S> TypeCodecs of(
      Class<T> type,
      Class<S> stored,
      Function<? super T, ? extends S> encode,
      Function<? super S, ? extends T> decode) {
    return NONE.and(type, stored, encode, decode);
  }

  /**
   * {@return these codecs and that of another type}
   *
   * @param <T> the type
   * @param <S> the stored type
   * @param type as in {@link #of}
   * @param stored as in {@link #of}
   * @param encode as in {@link #of}
   * @param decode as in {@link #of}
   * @throws IllegalArgumentException as {@link #of}, and if there is a codec of the type already
   */
  public <T, S> TypeCodecs and(
      Class<T> type,
      Class<S> stored,
      Function<? super T, ? extends S> encode,
      Function<? super S, ? extends T> decode) {
    Objects.requireNonNull(encode, "encode");
    Objects.requireNonNull(decode, "decode");
    if (TypeCodec.isScalar(type)) {
      throw new IllegalArgumentException(type.getName() + " is stored without a codec.");
    }
    @SuppressWarnings("unchecked") // the class of int is Class<Integer>, like its wrapper
    Class<S> boxed = (Class<S>) MethodType.methodType(stored).wrap().returnType();
    Map<Class<?>, TypeCodec> more = new LinkedHashMap<>(byType);
    if (more.put(type, TypeCodec.of(type, boxed, true, encode, decode)) != null) {
      throw new IllegalArgumentException("There is already a codec of " + type.getName() + ".");
    }
    return new TypeCodecs(Map.copyOf(more));
  }

  Map<Class<?>, TypeCodec> byType() {
    return byType;
  }

  @Override
  public String toString() {
    return "TypeCodecs" + byType.keySet().stream().map(Class::getName).sorted().toList();
  }
}
