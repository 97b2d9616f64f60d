/**
 * Lookups of single records: a table of small records, of which a working set is read that fits the
 * pool or does not, grows or drifts ({@link io.fovea.tpcc.lookups.WorkingSet}), and what the misses
 * explain of what comes out ({@link io.fovea.tpcc.lookups.CostModel}).
 *
 * <p>A client is one thread's, or a virtual thread of its own, with a generator, keys and rows made
 * once. Imports {@code settings} and {@code bench}.
 */
package io.fovea.tpcc.lookups;
