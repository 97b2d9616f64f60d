/**
 * Is it serializable? Histories of transactions on lists, and a checker that looks for cycles.
 *
 * <pre>
 *   Workload ─► ListClient ─► Database                 what is done, by many threads
 *                   │
 *                   └─► Txn: Op, Op, ...               what each transaction asked for and saw
 *                            │
 *   Seats ─► SeatTxn ─► SeatChecker ─► Graph          the same of rows that exchange unique values
 *
 *   History ─► Checker: Versions ─► Graph ─► Anomaly   orders from reads, edges, cycles in words
 *      │
 *      └─► Edn                                         for Elle
 * </pre>
 *
 * <p>What is checked, and why an order of versions can be found, is in docs/internals/testing.md
 * and in {@link io.fovea.checker.Versions}.
 */
@NullMarked
package io.fovea.checker;

import org.jspecify.annotations.NullMarked;
