/**
 * Secondary indexes and the encoding of keys.
 *
 * <p>Purpose: turns values into byte strings whose order is the order of the values ({@link
 * io.fovea.index.Tuple}), and records into the entries of their secondary indexes ({@link
 * io.fovea.index.EntryPlan}). The transactions that write those entries are begun above.
 *
 * <p>May import: error, memory, io, buffer, btree. Threading: plans are immutable; the static
 * methods work on the caller's memory.
 */
@NullMarked
package io.fovea.index;

import org.jspecify.annotations.NullMarked;
