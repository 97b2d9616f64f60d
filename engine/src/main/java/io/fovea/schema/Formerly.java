package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How a component was called in objects that are stored already: it keeps their values.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Formerly {
  /**
   * Its earlier names.
   *
   * @return the latest first
   */
  String[] value();
}
