/**
 * Transactional YCSB: the workloads A to F of Cooper et al., "Benchmarking cloud serving systems
 * with YCSB", SoCC 2010, and the seven of the dissertation on foveated and peripheral timestamp
 * storage, 3.4.1, whose transactions have several operations on distinct keys.
 *
 * <p>One table of records under 24-byte keys, which are scattered: neighbours in number are
 * strangers in key order, and what is popular lies all over the tree. A client is one thread's, or
 * one of those that share it, with generators, a key and rows of its own.
 *
 * <p>What a run has done is checked after it ({@link io.fovea.tpcc.ycsb.Check}): the records, what
 * they have counted, and who wrote them last.
 */
package io.fovea.tpcc.ycsb;
