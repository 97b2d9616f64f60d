/**
 * Values of options, and reports to listeners of options.
 *
 * <p>The lowest package: it depends only on the JDK, and every other package may use it. So a
 * choice has one type, from the option to the class that branches on it. Immutable and thread-safe.
 */
@NullMarked
package io.fovea.config;

import org.jspecify.annotations.NullMarked;
