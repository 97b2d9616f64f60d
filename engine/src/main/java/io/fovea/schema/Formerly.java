package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gives the earlier names of a component. The component keeps the values stored under those names.
 *
 * <p>Annotate record components only. Fields are a target for Kotlin, whose compiler copies the
 * annotation of a {@code @JvmRecord} property from its field to the component.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface Formerly {
  /** {@return the earlier names, the latest first} */
  String[] value();
}
