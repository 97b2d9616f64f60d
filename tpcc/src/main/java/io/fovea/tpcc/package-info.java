/**
 * A TPC-C-like driver (revision 5.11): loads the nine tables, runs the five transaction types and
 * checks the twelve consistency conditions of clause 3.3.2.
 *
 * <p>Uses only the public API of Fovea. A worker is one thread with its own generators, keys, rows
 * and batches, created once; transactions allocate nothing.
 *
 * <p>Departures from the specification: no terminals and no screens, a Delivery runs at once
 * instead of from a queue, and without {@code --wait} there are no keying and think times, so the
 * result is called "tpmC-like".
 *
 * <p>{@link io.fovea.tpcc.Main} is also the entry point of {@code ycsb}, {@code lookups} and {@code
 * sweep}, so no other package imports this one. Shared code is below: options and database opening
 * in {@code settings}, everything else in {@code bench}.
 */
package io.fovea.tpcc;
