/**
 * A driver after TPC-C (revision 5.11): loads the nine tables, runs the five transaction types and
 * checks the twelve consistency conditions of clause 3.3.2.
 *
 * <p>It sees Fovea's public API only. A worker is one thread with generators, keys, rows and
 * batches of its own, made once; nothing is allocated per transaction.
 *
 * <p>Where it differs from the specification, and says so in what it prints: there are no terminals
 * and no screens, a Delivery runs at once instead of from a queue, and without {@code --wait} there
 * are no keying and think times, so the figure is called "tpmC-like".
 *
 * <p>Beside it: {@code ycsb}, {@code lookups} and {@code sweep}. {@link io.fovea.tpcc.Main} is the
 * front door of all of them, so that no other package imports this one. What they share is below
 * them: options and how a database is opened in {@code settings}, all else in {@code bench}.
 */
package io.fovea.tpcc;
