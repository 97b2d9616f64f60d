/**
 * Superblocks, checkpoints, recovery, backups.
 *
 * <pre>
 *   SuperblockFile  the two superblocks of a file         Superblock    the contents of one
 *   Checkpointer    advances the redo point               LogGate, LogSpaceAccounting  the pool's and the file's view of the log
 *   TablesLog       which trees are tables, for change subscribers
 *   Recovery        the steps after a crash
 *     Analysis      first pass: images, ownership ─ ImageAhead (prefetches their pages)
 *     Replay        second pass: record changes           TreeTable     the trees in it
 *   PageAudit       accounts for every page ─ PageScan, PidMap   SchemaRecord  logged catalog changes
 *   Backup          a copy of a database in use ─► BackupTarget: DirectoryTarget, TarTarget
 * </pre>
 *
 * <p>Contract: a file is rejected unless it is a database that can be opened; after {@code
 * Recovery} it contains everything that was acknowledged, and otherwise only whole transactions.
 * The argument is in docs/internals/log-and-recovery.md.
 *
 * <p>May import: error, memory, io, wal, buffer, btree, txn. Threading: {@link
 * io.fovea.recovery.SuperblockFile} is internally synchronized; checkpoints and backups exclude one
 * another; recovery runs before any other thread uses the store.
 */
@NullMarked
package io.fovea.recovery;

import org.jspecify.annotations.NullMarked;
