/**
 * Option values, and the reports passed to listeners set by options.
 *
 * <p>The lowest package: it depends only on the JDK, and every other package may use it. A choice
 * therefore has the same type everywhere, from the option to the class that branches on it.
 * Immutable and thread-safe.
 */
@NullMarked
package io.fovea.config;

import org.jspecify.annotations.NullMarked;
