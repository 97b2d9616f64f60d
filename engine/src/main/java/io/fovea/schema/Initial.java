package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What a component is in objects that were stored before the class had it. Components that are an
 * {@link java.util.Optional} or a collection need none: they are empty then.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Initial {
  /**
   * The value, as the class of the component reads it: {@code "17"}, {@code "true"}, {@code
   * "2026-11-25"}, the name of a constant; bytes in hexadecimal digits.
   *
   * @return the text; an empty one stands for 0, false, an empty text, and else for null
   */
  String value() default "";
}
