package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.function.Function;

/**
 * Converts the values of a component that has changed its type. An object stored with the earlier
 * type is converted when it is read, and stored with the new type when it is next written.
 *
 * <pre>{@code
 * record Person(
 *     @Id long number,
 *     @Converted(from = int.class, by = YearOfBirth.class) LocalDate born) {}
 *
 * final class YearOfBirth implements Function<Integer, LocalDate> {
 *   public LocalDate apply(Integer year) {
 *     return LocalDate.ofYearDay(year, 1);
 *   }
 * }
 * }</pre>
 *
 * <p>Repeat the annotation for several earlier types. Each converter produces the current type. A
 * converter from exactly the stored type is used even if the change needs none, as from {@code int}
 * to {@code long}; a value of a narrower type is widened for a converter.
 *
 * <p>A converter is never called with null: null stays null, or becomes an empty {@link
 * java.util.Optional}. A primitive component needs an {@link Initial}, which replaces null, unless
 * the earlier type is primitive too. The result must be of the component's class. An exception
 * other than a {@link io.fovea.error.FoveaException} is the cause of an {@link
 * io.fovea.error.InvalidUseException} that names the table, the key and the component.
 *
 * <p>One instance of the class is created by {@link io.fovea.ObjectSpec} and used by any number of
 * threads. It may be called several times for one object, including by transactions that will be
 * aborted. {@link io.fovea.ObjectSpec#convert} is the same for a function.
 *
 * <p>Fields are a target only for Kotlin. Its compiler copies the annotation of a property of a
 * {@code @JvmRecord} class from the field to the record component.
 *
 * @since 0.2.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
@Repeatable(Converted.All.class)
public @interface Converted {
  /** {@return the earlier type of the component, not generic} */
  Class<?> from();

  /** {@return a class with a constructor without parameters} */
  Class<? extends Function<?, ?>> by();

  /**
   * Contains the annotations of a component with several earlier types.
   *
   * @since 0.2.0
   */
  @Retention(RetentionPolicy.RUNTIME)
  @Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
  @interface All {
    /** {@return the annotations} */
    Converted[] value();
  }
}
