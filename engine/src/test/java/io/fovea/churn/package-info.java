/**
 * Whether anything is left of what was done: a process that does everything again and again, and
 * what it holds at the end.
 *
 * <pre>
 *   ChurnTest ──starts──► Churn ──threads──► Deed        one kind of work, with its own check
 *       ▲                   │ all stand still, twice
 *       └──── lines ──── Vitals                          heap, memory, descriptors, files ...
 * </pre>
 */
@NullMarked
package io.fovea.churn;

import org.jspecify.annotations.NullMarked;
