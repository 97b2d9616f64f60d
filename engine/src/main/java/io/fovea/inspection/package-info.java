/**
 * Looks at whole databases: verifies one that is open and at rest, or the files of one that nobody
 * has open.
 *
 * <p>Contract: {@link io.fovea.inspection.Inspection} changes nothing on disk; what a file that was
 * not closed needs is recovered in memory. Damage is a part of what is found, and no exception.
 *
 * <p>May import: everything below it, with the exported rooms {@code schema} and {@code error}.
 * Threading: one thread each.
 */
@NullMarked
package io.fovea.inspection;

import org.jspecify.annotations.NullMarked;
