package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Components that a record class had once, and whose values are given up: they stay in the file
 * until their objects are written next, and can't be read any more.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Dropped {
  /**
   * Their names.
   *
   * @return the names
   */
  String[] value();
}
