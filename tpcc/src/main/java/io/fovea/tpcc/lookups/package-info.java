/**
 * Lookups of single small records in a working set that fits the pool or not, grows or drifts
 * ({@link io.fovea.tpcc.lookups.WorkingSet}), with a model of the cost of misses ({@link
 * io.fovea.tpcc.lookups.CostModel}).
 *
 * <p>A client is a platform or virtual thread with its own generator, keys and rows, created once.
 * Imports {@code settings} and {@code bench}.
 */
package io.fovea.tpcc.lookups;
