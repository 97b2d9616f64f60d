/**
 * Transactions: timestamps, read and write sets, commit.
 *
 * <p>Serializable by TicToc (Yu et al., SIGMOD 2016) with timestamps in FPSketch (the dissertation
 * on foveated and peripheral timestamp storage, chapter 3). Writes stay in a private workspace
 * until commit; a page never holds anything uncommitted. The argument why this is serializable,
 * phantoms included, is in docs/CONCURRENCY.md; the rules it rests on are named in {@link
 * io.fovea.txn.Tx}, {@link io.fovea.txn.TxScan} and {@code Commit}.
 *
 * <p>May import: error, memory, io, wal, buffer, btree, index. Threading: a {@link io.fovea.txn.Tx}
 * belongs to the thread that began it; {@link io.fovea.txn.TxEngine} and {@link
 * io.fovea.txn.Timestamps} are shared.
 *
 * <p>Order: log space before item locks (by hash, then successors by try-lock) before page latches;
 * neither an item nor log space is waited for while a page is latched. Where a commit needs more
 * log space with locks held (long values, parts), it may wait for it: nobody who has log space
 * waits for a lock for long. Durability is waited for with nothing held.
 */
@NullMarked
package io.fovea.txn;

import org.jspecify.annotations.NullMarked;
