/**
 * Inspection of whole databases: verifies an open, quiescent database, or the files of a database
 * that no process has open; and restores a database from backups.
 *
 * <p>Contract: {@link io.fovea.inspection.Inspection} changes nothing on disk; a file that was not
 * closed is recovered in memory. Damage is part of the result, not an exception. {@link
 * io.fovea.inspection.OpenFile} decodes pages and log records as they are on disk. {@link
 * io.fovea.inspection.Restoring} inspects the copy of a backup in the same way before the copy gets
 * its final name.
 *
 * <p>May import: everything below it, including the exported packages {@code schema}, {@code
 * config} and {@code error}. Threading: each object is used by one thread.
 */
@NullMarked
package io.fovea.inspection;

import org.jspecify.annotations.NullMarked;
