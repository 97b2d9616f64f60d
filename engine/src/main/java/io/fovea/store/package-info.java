/**
 * What is behind a database: lock, devices, superblocks, pool, log, transactions.
 *
 * <pre>
 *   Opening        lock, device, superblock, pool, log, transactions    DatabaseCreation  of one that fails
 *   Store          what is behind a database, as StoreComponents      Slots   of its threads
 *   Closing        transactions end, pages are written, all is given back
 *   Journal        the log with recovery and checkpoints, from opening to closing
 *   TimestampFile  timestamps in pages                                  Leaks, CloseListeners
 *   StoreConfig    how a store is opened     LogSizes, HostResources  what is refused
 * </pre>
 *
 * <p>Purpose: opens them in the order in which one needs the other ({@link
 * io.fovea.store.Opening}), lends them to the rooms above ({@link io.fovea.store.Store}), and
 * closes them in the opposite order, with a log or without ({@link io.fovea.store.Journal}).
 * Refuses what the machine can't have.
 *
 * <p>Contract: no page is written before the file was found to be a database, and says that it is
 * in use; of an opening that fails nothing is left, and nothing that was there is changed but by
 * recovery.
 *
 * <p>May import: config, error, memory, io, wal, buffer, btree, txn, index, recovery. Threading:
 * one thread opens, one closes; the rest by any.
 */
@NullMarked
package io.fovea.store;

import org.jspecify.annotations.NullMarked;
