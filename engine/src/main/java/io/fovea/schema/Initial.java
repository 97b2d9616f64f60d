package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The value of a component in objects stored before the class had it. Without this annotation, an
 * {@link java.util.Optional} or a collection is empty.
 *
 * <p>Fields are a target only for Kotlin. Its compiler copies the annotation of a property of a
 * {@code @JvmRecord} class from the field to the record component.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface Initial {
  /**
   * The value as text in the form of the component's class: {@code "17"}, {@code "true"}, {@code
   * "2026-11-25"}, the name of a constant, bytes in hexadecimal digits.
   *
   * @return the text; empty text stands for 0, false or empty text, and for null if the type has
   *     none of these
   */
  String value() default "";
}
