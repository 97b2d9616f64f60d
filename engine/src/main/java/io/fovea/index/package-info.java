/**
 * Tables with secondary indexes, below the API.
 *
 * <p>Purpose: keeps entries where records change ({@link io.fovea.index.IndexMaintenance}), and
 * knows the places of records that entries remember ({@link io.fovea.index.IndexHints}). {@link
 * io.fovea.index.TableCore} and {@link io.fovea.index.IndexCore} are what all handles of a table or
 * an index share; {@link io.fovea.index.StatementContext} is the scratch memory of a transaction,
 * and says who may touch the engine while it closes.
 *
 * <pre>
 *   IndexMaintenance   statements that change tables with indexes
 *   EntryPlan      an entry from a record               EntryMaker    an entry from a user's code
 *   ObjectPlan     an entry from an object              RecordExpiry  records that have expired
 *   IndexStage     how indexes come and go              IndexHints    hints: set, used, repaired
 *   Filling        what is done for one that is built   UniqueBuildJournal   and noted of a unique one
 *   HintCodec      the bytes of a hint                  RepairPolicy  whether repairs are worth it
 *   RecordBuffer   a row, as memory                     StatementContext  scratch memory of a transaction
 * </pre>
 *
 * <p>Contract: a statement is done as a whole or not at all, or else the transaction is broken down
 * and can't commit. Records and keys come as memory and offsets; what they belong to, and whether
 * their user may use them, is asked above.
 *
 * <p>May import: error, schema, object, memory, buffer, btree, encoding, txn. Threading: plans,
 * cores and hints by any thread; a slot belongs to the thread of its transaction.
 */
@NullMarked
package io.fovea.index;

import org.jspecify.annotations.NullMarked;
