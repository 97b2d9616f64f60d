/**
 * Fovea's API: databases, tables, secondary indexes, rows, keys and transactions.
 *
 * <p>Purpose: everything that an application needs, and nothing of what is behind it. {@link
 * io.fovea.Database} is the way in; {@link io.fovea.Options} are values; {@link io.fovea.Database},
 * {@link io.fovea.Transaction} and {@link io.fovea.RowCursor} are the only things to close.
 *
 * <p>May import: every package of the engine below it. Only {@code metrics} imports this package.
 *
 * <p>Threading: databases, tables, indexes, specifications and options belong to every thread; a
 * transaction, and the rows, batches and cursors read in it, to the thread that began it, which is
 * checked. Platform and virtual threads are equal.
 *
 * <p>What can go wrong is an {@link io.fovea.error.FoveaException}; a null where no null may be is
 * a {@link java.lang.NullPointerException} that names the argument.
 */
@NullMarked
package io.fovea;

import org.jspecify.annotations.NullMarked;
