/**
 * Meters of a database, for applications that use Micrometer.
 *
 * <p>Purpose: {@link io.fovea.metrics.FoveaMetrics} binds what {@link io.fovea.Database#stats} says
 * to a registry. Micrometer is optional: without it on the path, this package is not to be touched.
 *
 * <p>May import: the API. Threading: any thread.
 */
@NullMarked
package io.fovea.metrics;

import org.jspecify.annotations.NullMarked;
