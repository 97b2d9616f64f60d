/**
 * A database as a bean of a Spring Boot application.
 *
 * <p>Purpose: {@link io.fovea.spring.boot.FoveaAutoConfiguration} opens the database that the
 * properties {@code fovea.*} describe, and closes it after all beans that use it. Health and meters
 * follow if Spring Boot Actuator is on the class path.
 *
 * <p>May import: the engine's API, {@code io.fovea.micrometer} and Spring Boot, of which only the
 * types that versions 3.5 and 4.1 have in common, except in the two classes for health.
 *
 * <p>Threading: the context creates and closes the beans on one thread; a {@link io.fovea.Database}
 * serves any thread.
 */
@NullMarked
package io.fovea.spring.boot;

import org.jspecify.annotations.NullMarked;
