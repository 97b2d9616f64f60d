/**
 * Looks at whole databases: verifies one that is open and at rest, or the files of one that nobody
 * has open; and makes one of a backup.
 *
 * <p>Contract: {@link io.fovea.inspection.Inspection} changes nothing on disk; what a file that was
 * not closed needs is recovered in memory. Damage is a part of what is found, and no exception.
 * {@link io.fovea.inspection.OpenFile} shows pages and log records in words, as they are on disk.
 * {@link io.fovea.inspection.Restoring} looks at the copy of a backup in that way before it gives
 * it its name.
 *
 * <p>May import: everything below it, with the exported rooms {@code schema}, {@code config} and
 * {@code error}. Threading: one thread each.
 */
@NullMarked
package io.fovea.inspection;

import org.jspecify.annotations.NullMarked;
