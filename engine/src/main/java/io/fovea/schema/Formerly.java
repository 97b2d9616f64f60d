package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gives the earlier names of a component. The component keeps the values stored under those names.
 * On a record that a sealed interface permits, gives the earlier simple names of its class.
 *
 * <p>Fields are a target only for Kotlin. Its compiler copies the annotation of a property of a
 * {@code @JvmRecord} class from the field to the record component.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD, ElementType.TYPE})
public @interface Formerly {
  /** {@return the earlier names, the latest first} */
  String[] value();
}
