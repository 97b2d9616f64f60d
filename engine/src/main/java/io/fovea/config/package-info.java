/**
 * The values that options take: what a user chooses and the engine acts on, and what it reports to
 * listeners of options.
 *
 * <p>The lowest package: it depends on nothing but the JDK, and every other one may use it. So a
 * choice has one type, from the option down to the class that branches on it. Everything here is
 * immutable and for any thread.
 */
@NullMarked
package io.fovea.config;

import org.jspecify.annotations.NullMarked;
