/**
 * What a file says about itself: the superblock, and whether it was closed.
 *
 * <p>Purpose: finds out whether a file is a database and of which kind, refuses what can't be
 * opened, and keeps what must survive a close. The log and what follows a crash come here too.
 *
 * <p>May import: error, memory, io, buffer, btree, index, txn. Threading: {@link
 * io.fovea.recovery.SuperblockFile} is guarded by itself.
 */
@NullMarked
package io.fovea.recovery;

import org.jspecify.annotations.NullMarked;
