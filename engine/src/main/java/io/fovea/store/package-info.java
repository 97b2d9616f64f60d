/**
 * Opens, owns and closes the parts of a database: lock, devices, superblocks, pool, log,
 * transactions.
 *
 * <pre>
 *   Opening        opens all parts in order of dependence    DatabaseCreation  cleanup after failures
 *   Store          an open database, as StoreComponents      StatementContexts  of its threads
 *   Closing        transactions end, pages are written, resources are released
 *   Journal        the log with recovery and checkpoints, from opening to closing
 *   TimestampFile  timestamps in pages                       Leaks, CloseListeners
 *   StoreConfig    how a store is opened                     LogSizes, HostResources  limits
 * </pre>
 *
 * <p>Contract: no page is written before the file is known to be a database and is marked as in
 * use. A failed opening leaves no new files, and changes existing ones only by recovery.
 *
 * <p>May import: config, error, memory, io, wal, buffer, btree, txn, index, recovery. Threading:
 * one thread opens a store and one thread closes it; everything else is thread-safe.
 */
@NullMarked
package io.fovea.store;

import org.jspecify.annotations.NullMarked;
