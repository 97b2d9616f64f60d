/**
 * Meters of a database, for applications that use Micrometer.
 *
 * <p>Purpose: {@link io.fovea.micrometer.FoveaMetrics} publishes {@link io.fovea.Database#stats} in
 * a registry.
 *
 * <p>May import: the engine's API and Micrometer. Threading: thread-safe.
 */
@NullMarked
package io.fovea.micrometer;

import org.jspecify.annotations.NullMarked;
