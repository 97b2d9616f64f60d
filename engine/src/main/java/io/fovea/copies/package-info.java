/**
 * Copies of pages as they were, for snapshots.
 *
 * <pre>
 *   PageCopies     which snapshots are open; copies a page before its first change since the newest
 *   PageSnapshot   one moment: its number, and whether it can still be read
 *   CopyTable      page id and number ─► where the copy is
 *   CopyArea       where copies are: memory first, then a file
 *   CopySpiller    moves copies from memory to the file
 * </pre>
 *
 * <p>Purpose: a reader of one moment disturbs nobody, and nobody disturbs it.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory}, {@code io.fovea.io}.
 *
 * <p>Threading: any thread. A page is copied by the thread that has latched it exclusively.
 *
 * <p>Order: page latch, then a stripe of the table, then the area. Who opens, closes or gives up a
 * snapshot, and who moves copies to the file, holds the lock of {@code PageCopies} before these two
 * and latches no page.
 */
@NullMarked
package io.fovea.copies;

import org.jspecify.annotations.NullMarked;
