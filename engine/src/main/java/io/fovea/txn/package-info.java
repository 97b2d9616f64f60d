/**
 * Transactions: timestamps, read and write sets, commit.
 *
 * <p>Serializable by TicToc (Yu et al., SIGMOD 2016) with timestamps in FPSketch (Hwang, University
 * of Washington 2025, chapter 3), or by one of five other protocols. Writes stay in a private
 * workspace until the commit; a page never contains uncommitted data. The proof is in
 * docs/internals/transactions.md; {@code TxReads}, {@code ScanBatches} and {@code Commit} name the
 * rules on which it rests.
 *
 * <pre>
 *   TxEngine         all transactions of a database: begin, end, failure, durability
 *   Tx               one transaction: begin, end, hints, and its parts
 *   TxScan           a scan
 *   Attempts         the attempts to commit a piece of work
 *   BodyCounters     runs and aborts of named bodies
 *   Timestamps       the timestamps of all items
 *   TxConfig         settings of an engine               TimestampConfig  those of timestamps
 *   --- the parts of a transaction
 *   TxReads          point reads                         TxWrites         insert, put, patch, delete
 *   ScanBatches      installed keys of a scan            ScanRange        the interval of a scan
 *   OwnWrites        own writes ahead of a scan
 *   Commit           the steps of a commit               CommitAppender   its log records
 *   ConcurrencyControl  the protocol                     Workspace        read set, write set
 *   TxLife           checks and waits
 *   --- the protocols
 *   TicToc, Silo, Sto, Mvto, TwoPhaseLocking, Occ, PessimisticLocking
 *   --- what all transactions share
 *   TxShared         all of it                           EngineHealth     works, stops, has failed
 *   Admission        the queue for contexts              GracePeriod      when all have ended
 *   Reservations     the pessimistic transaction         ProtocolMemory   lock words, history, versions
 *   --- timestamps
 *   TimestampTable   the exact table                     Entries          creates and releases entries
 *   Epochs           when entries may be released
 *   ColdTimestamps   timestamps of unused items          Sketch           an upper bound for them
 * </pre>
 *
 * <p>Each part may use those below it. No part knows {@code Tx} or {@code TxEngine}; a protocol
 * knows {@code ConcurrencyControl}, whose part it is.
 *
 * <p>May import: config, error, memory, io, wal, buffer, btree. Threading: a {@link
 * io.fovea.txn.Tx} belongs to the thread that began it; {@link io.fovea.txn.TxEngine} and {@link
 * io.fovea.txn.Timestamps} are shared.
 *
 * <p>Order: log space before item locks (by hash, then successors by try-lock) before page latches;
 * no thread waits for an item or for log space while it latches a page. A commit that needs more
 * log space with locks held (long values, parts) may wait for it, because no holder of log space
 * waits long for a lock. A thread that waits for durability holds nothing.
 */
@NullMarked
package io.fovea.txn;

import org.jspecify.annotations.NullMarked;
