/**
 * Fovea's API: databases, tables, secondary indexes, rows, keys and transactions.
 *
 * <p>Purpose: everything that an application needs, without the engine behind it. Start with {@link
 * io.fovea.Database#open(java.nio.file.Path, Options)}. Close what implements {@link
 * AutoCloseable}: databases and snapshots, explicit transactions, cursors, change feeds and file
 * readers.
 *
 * <p>May import: every package of the engine below it. No package of the engine imports this one.
 *
 * <p>Threading: any thread may use databases, tables, indexes, specifications and options. A
 * transaction, and the rows, batches and cursors read in it, belong to the thread that began it,
 * which is checked. Platform and virtual threads are treated alike.
 *
 * <p>Failures throw an {@link io.fovea.error.FoveaException}. A null argument that may not be null
 * throws a {@link java.lang.NullPointerException} that names it.
 */
@NullMarked
package io.fovea;

import org.jspecify.annotations.NullMarked;
