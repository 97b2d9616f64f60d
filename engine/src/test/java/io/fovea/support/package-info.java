/**
 * What the tests of several rooms need: a simulated disk that loses power and fails, devices that
 * are slow, mix what they are asked for and refuse some of it, and the surroundings that models are
 * tried in.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory}, {@code io.fovea.io}, and nothing
 * above them.
 *
 * <p>Threading: everything here may be used by any thread. What is random comes from one seed; a
 * single-threaded run with the same seed is the same run.
 */
@NullMarked
package io.fovea.support;

import org.jspecify.annotations.NullMarked;
