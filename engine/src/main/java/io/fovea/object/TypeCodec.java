package io.fovea.object;

import java.net.URI;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Stores the values of a type in the form of another type. Safe for use by any thread if its
 * functions are.
 *
 * @param stored the other type, with its own stored form
 * @param ordered whether the values can be parts of keys, which sort like the stored values
 * @param encode converts a value, never null
 * @param decode converts a stored value, never null
 */
public record TypeCodec(
    Class<?> stored,
    boolean ordered,
    Function<Object, @Nullable Object> encode,
    Function<Object, @Nullable Object> decode) {
  /** Sorts like {@link OffsetDateTime#compareTo}: at the same instant, by the local time. */
  record OffsetTime(Instant instant, int offset) {
    static OffsetTime of(OffsetDateTime time) {
      return new OffsetTime(time.toInstant(), time.getOffset().getTotalSeconds());
    }

    OffsetDateTime time() {
      return instant.atOffset(ZoneOffset.ofTotalSeconds(offset));
    }
  }

  /** Keeps the instant if the rules of the zone change. */
  record ZonedTime(Instant instant, String zone) {
    static ZonedTime of(ZonedDateTime time) {
      return new ZonedTime(time.toInstant(), time.getZone().getId());
    }

    ZonedDateTime time() {
      return instant.atZone(ZoneId.of(zone));
    }
  }

  /**
   * The codecs of the engine. Equal URIs may differ in case, and the order of zoned times depends
   * on the rules of their zones, so neither can be in a key.
   */
  static final Map<Class<?>, TypeCodec> BUILT_IN =
      Map.of(
          OffsetDateTime.class,
          of(OffsetDateTime.class, OffsetTime.class, true, OffsetTime::of, OffsetTime::time),
          ZonedDateTime.class,
          of(ZonedDateTime.class, ZonedTime.class, false, ZonedTime::of, ZonedTime::time),
          URI.class,
          of(URI.class, String.class, false, URI::toString, URI::create));

  public TypeCodec {
    Objects.requireNonNull(stored, "stored");
    Objects.requireNonNull(encode, "encode");
    Objects.requireNonNull(decode, "decode");
  }

  /** Returns whether values of a type are stored without a codec. */
  public static boolean isScalar(Class<?> type) {
    return ScalarBinding.of(type) != null;
  }

  /** Creates a codec. */
  public static <T, S> TypeCodec of(
      Class<T> type,
      Class<S> stored,
      boolean ordered,
      Function<? super T, ? extends S> encode,
      Function<? super S, ? extends T> decode) {
    return new TypeCodec(
        stored,
        ordered,
        value -> encode.apply(type.cast(value)),
        value -> decode.apply(stored.cast(value)));
  }
}
