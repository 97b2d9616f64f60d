/**
 * Transactions: timestamps, read and write sets, commit.
 *
 * <p>Serializable by TicToc (Yu et al., SIGMOD 2016) with timestamps in FPSketch (Hwang, University
 * of Washington 2025, chapter 3), or by one of five other protocols. Writes stay in a private
 * workspace until commit; a page never holds anything uncommitted. The argument why this is
 * serializable, phantoms included, is in docs/internals/transactions.md; the rules it rests on are
 * named in {@code TxReads}, {@code ScanBatches} and {@code Commit}.
 *
 * <pre>
 *   TxEngine         all transactions of a database: begin, end, failure, durability
 *   Tx               one transaction: the facade of its parts
 *   TxScan           a scan
 *   Attempts         the attempts to do one piece of work until it commits
 *   Timestamps       the timestamps of all items
 *   TxConfig         settings of an engine               TimestampConfig  those of timestamps
 *   --- the parts of a transaction
 *   TxReads          point reads                         TxHints          reads that begin from a hint
 *   TxWrites         insert, put, patch, delete          TxScans          the open scans
 *   ScanBatches      installed keys of a scan            ScanRange        the interval of a scan
 *   OwnWrites        own writes ahead of a scan
 *   Commit           the steps of a commit               CommitAppender   what a commit logs
 *   ConcurrencyControl  what the protocol decides           Workspace        read set, write set
 *   TxLife           may it go on, and how it waits      Items            what is read and locked
 *   --- the protocols
 *   TicToc, Silo, Sto, Mvto, TwoPhaseLocking, Occ, PessimisticLocking
 *   --- what all transactions share
 *   TxShared         all of it                           EngineHealth     works, stops, has failed
 *   Admission        who gets a context                  CommitDurability  waits for the log
 *   Reservations     who is pessimistic                  GracePeriod      when all have ended
 *   ProtocolMemory   lock words, history, versions
 *   --- timestamps
 *   Pins             slots that belong to an item        Entries          entries come and go
 *   TimestampTable   the exact table                     Epochs           who may still use what
 *   ColdTimestamps   where timestamps of others are      Sketch           an upper bound for them
 * </pre>
 *
 * <p>Parts use those below them. No part knows {@code Tx} or {@code TxEngine}; a protocol knows
 * {@code ConcurrencyControl}, whose part it is.
 *
 * <p>May import: config, error, memory, io, wal, buffer, btree. Threading: a {@link
 * io.fovea.txn.Tx} belongs to the thread that began it; {@link io.fovea.txn.TxEngine} and {@link
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
