/**
 * Tables with secondary indexes, below the API.
 *
 * <p>Purpose: maintains entries when records change ({@link io.fovea.index.IndexMaintenance}), and
 * the record locations that entries store ({@link io.fovea.index.IndexHints}). All handles of a
 * table or an index share a {@link io.fovea.index.TableCore} or {@link io.fovea.index.IndexCore}.
 * {@link io.fovea.index.StatementContext} is the scratch memory of a transaction, and excludes its
 * operations from the close of the engine.
 *
 * <pre>
 *   IndexMaintenance statements that change tables with indexes
 *   EntryPlan        an entry from a record       EntryMaker          an entry from user code
 *   ObjectPlan       an entry from an object      RecordExpiry        visibility of expired records
 *   IndexStage       stages of a build or a drop  IndexHints          hints: set, used, repaired
 *   Filling          entries during a build       UniqueBuildJournal  changes during a build
 *   HintCodec        the bytes of a hint          RepairPolicy        whether repairs pay off
 *   RecordBuffer     a row in memory              StatementContext    scratch memory
 * </pre>
 *
 * <p>Contract: a statement takes effect entirely or not at all; otherwise the transaction can only
 * roll back. Records and keys are passed as memory and offsets; the layers above check their owner
 * and permitted use.
 *
 * <p>May import: error, schema, object, memory, buffer, btree, encoding, txn. Threading: plans,
 * cores and hints are safe for any thread; a context belongs to the thread of its transaction.
 */
@NullMarked
package io.fovea.index;

import org.jspecify.annotations.NullMarked;
