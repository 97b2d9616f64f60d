/**
 * Meters of a database, for applications that use Micrometer.
 *
 * <p>Purpose: {@link io.fovea.micrometer.FoveaMetrics} binds what {@link io.fovea.Database#stats}
 * says to a registry.
 *
 * <p>May import: the engine's API and Micrometer. Threading: any thread.
 */
@NullMarked
package io.fovea.micrometer;

import org.jspecify.annotations.NullMarked;
