/**
 * Transactional YCSB: workloads A to F of Cooper et al., "Benchmarking cloud serving systems with
 * YCSB", SoCC 2010, and the seven of the dissertation on foveated and peripheral timestamp storage,
 * 3.4.1, whose transactions have several operations on distinct keys.
 *
 * <p>One table of records with 24-byte keys. Keys are scattered: neighbors in number are far apart
 * in key order, and popular records are spread over the whole tree. A client has its own thread, or
 * shares one, with its own generators, key and rows.
 *
 * <p>After a run, {@link io.fovea.tpcc.ycsb.Check} verifies the records, their counts, and their
 * last writers.
 */
package io.fovea.tpcc.ycsb;
