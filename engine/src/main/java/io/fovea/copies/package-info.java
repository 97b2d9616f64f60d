/**
 * Copies of pages for snapshots.
 *
 * <pre>
 *   PageCopies     the open snapshots; copies a page before its first change since the newest
 *   PageSnapshot   one snapshot: its number, and whether it can still be read
 *   CopyTable      page id and number ─► location of the copy
 *   CopyArea       storage of copies: memory first, then a file
 *   CopySpiller    moves copies from memory to the file
 * </pre>
 *
 * <p>Readers of a snapshot and writers do not block each other.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory}, {@code io.fovea.io}.
 *
 * <p>Threading: any thread. A page is copied by the thread that has latched it exclusively.
 *
 * <p>Lock order: page latch, then a stripe of the table, then the area. A thread that opens, closes
 * or evicts a snapshot, or moves copies to the file, takes the lock of {@code PageCopies} before
 * the latter two; opening, closing and moving latch no page.
 */
@NullMarked
package io.fovea.copies;

import org.jspecify.annotations.NullMarked;
