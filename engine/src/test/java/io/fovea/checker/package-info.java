/**
 * Checks serializability: histories of transactions on lists, and a checker that finds cycles.
 *
 * <pre>
 *   Workload ─► ListClient ─► Database                 transactions of many threads
 *                   │
 *                   └─► Txn: Op, Op, ...               what each transaction did and saw
 *                            │
 *   Seats ─► SeatTxn ─► SeatChecker ─► Graph          the same for rows that exchange unique values
 *
 *   History ─► Checker: Versions ─► Graph ─► Anomaly   orders from reads, edges, cycles as text
 *      │
 *      └─► Edn                                         for Elle
 * </pre>
 *
 * <p>docs/internals/testing.md describes what is checked, and {@link io.fovea.checker.Versions} why
 * the order of versions is known.
 */
@NullMarked
package io.fovea.checker;

import org.jspecify.annotations.NullMarked;
