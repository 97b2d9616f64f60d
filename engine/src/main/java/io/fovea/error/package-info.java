/**
 * Every exception that Fovea throws at its users.
 *
 * <p>Purpose: one sealed, unchecked hierarchy, so that a caller can tell by type what happened and
 * whether doing the work again helps, and so that a compiler can check a switch over all of it.
 * Messages say what was found, what was expected, where, and what can be done about it.
 *
 * <p>May import: nothing of Fovea. This is the lowest room, and one of the three that the module
 * exports.
 *
 * <p>Threading: exceptions are values; nothing here has state that is shared.
 */
@NullMarked
package io.fovea.error;

import org.jspecify.annotations.NullMarked;
