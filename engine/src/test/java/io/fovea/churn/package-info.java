/**
 * Finds leaks: a process repeats all kinds of work and measures what it holds.
 *
 * <pre>
 *   ChurnTest ──starts──► Churn ──threads──► Activity        one kind of work, with its own check
 *       ▲                   │ all stop, twice
 *       └──── lines ──── ResourceUsage                   heap, memory, descriptors, files ...
 * </pre>
 */
@NullMarked
package io.fovea.churn;

import org.jspecify.annotations.NullMarked;
