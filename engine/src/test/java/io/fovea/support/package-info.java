/**
 * Shared test tools: a simulated disk that loses power and fails, devices that are slow, reorder
 * operations and fail, and the environments of model tests.
 *
 * <p>May import {@code io.fovea.error}, {@code io.fovea.memory} and {@code io.fovea.io}, and
 * nothing above them.
 *
 * <p>Threading: everything is thread-safe. Randomness comes from one seed; a single-threaded run
 * repeats exactly.
 */
@NullMarked
package io.fovea.support;

import org.jspecify.annotations.NullMarked;
