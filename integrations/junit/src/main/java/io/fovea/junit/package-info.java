/**
 * Databases for JUnit Jupiter tests.
 *
 * <p>Purpose: {@link io.fovea.junit.FoveaDatabase} opens a database for a test or a test class,
 * injects it, and verifies and closes it afterward.
 *
 * <p>May import: the engine's API and JUnit Jupiter's. Threading: tests may run in parallel.
 */
@NullMarked
package io.fovea.junit;

import org.jspecify.annotations.NullMarked;
