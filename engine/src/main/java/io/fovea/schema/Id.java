package io.fovea.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks the component of a record that is its key in a table. It is stored only in the key. A key
 * of several parts is a separate record.
 *
 * <pre>{@code
 * record Account(@Id long id, String owner, BigDecimal balance) {}
 * }</pre>
 *
 * <p>Fields are a target only for Kotlin. Its compiler copies the annotation of a property of a
 * {@code @JvmRecord} class from the field to the record component.
 *
 * @since 0.1.0
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface Id {}
