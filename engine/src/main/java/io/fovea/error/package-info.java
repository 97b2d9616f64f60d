/**
 * The exceptions that Fovea throws: one sealed, unchecked hierarchy, so that callers can tell by
 * type what happened and whether a retry helps, and the compiler can check a switch for
 * completeness. Messages say what was found, what was expected, where, and what to do.
 *
 * <p>Depends only on the JDK.
 *
 * <p>Threading: exceptions are immutable.
 */
@NullMarked
package io.fovea.error;

import org.jspecify.annotations.NullMarked;
