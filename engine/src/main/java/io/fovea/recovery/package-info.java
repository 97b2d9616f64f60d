/**
 * Superblocks, checkpoints, recovery, backups.
 *
 * <pre>
 *   SuperblockFile  the two superblocks of a file         Superblock    the bytes of one
 *   Checkpointer    moves the redo point on               LogGate, LogSpaceAccounting  when the log may be used
 *   TablesLog       which trees are tables, for who follows changes
 *   Recovery        the steps after a crash
 *     Analysis      first pass: images, ownership ─ ImageAhead (reads their pages in advance)
 *     Replay        second pass: changes of records       TreeTable     the trees that it meets
 *   PageAudit      whose page is it? ─ PageScan, PidMap  SchemaRecord  changes of the catalog, logged
 *   Backup          a copy of a database that is used ─► BackupTarget: DirectoryTarget, TarTarget
 * </pre>
 *
 * <p>Contract: a file is refused unless it is a database that can be opened; after {@code Recovery}
 * it has all that was acknowledged and nothing else. Why is argued in
 * docs/internals/log-and-recovery.md.
 *
 * <p>May import: error, memory, io, wal, buffer, btree, txn. Threading: {@link
 * io.fovea.recovery.SuperblockFile} is guarded by itself; checkpoints and backups exclude one
 * another; recovery runs before anybody else uses the store.
 */
@NullMarked
package io.fovea.recovery;

import org.jspecify.annotations.NullMarked;
