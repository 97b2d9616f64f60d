/**
 * B-trees of byte strings over the buffer pool.
 *
 * <p>Purpose: ordered maps from keys (byte strings in {@code memcmp} order) to values (byte
 * strings), each a tree of pages. The package has no notion of transactions: it keeps trees correct
 * under any number of threads, and tells readers whether what they read is consistent. {@code
 * docs/internals/btree.md} explains how and why.
 *
 * <pre>
 *   BTree            the facade: find, locate, copyValue, successor, upsert, delete, patch
 *   Position         position of a key; a checked hint for the next operation
 *   LeafScan         forward and backward, a leaf at a time
 *   LeafRun          several changes of one leaf under one latch
 *   Lookahead        hints for several keys at once, their cache misses overlapped
 *   HintedLeaf       lookups by hints stored outside the tree
 *   KeyLocationCache key locations for point reads
 *   BulkLoader       ascending keys into an empty tree
 *   TreeDrop         frees a tree in steps
 *   TreeCompaction   moves nodes to pages nearer to the front of the file
 *   TreeVerifier     checks every page
 *   TreeWalk         all records, without a transaction
 *   RangeCut         removes a range, whole leaves at a time
 *   RangeEstimate    estimates what lies between two keys
 *   --- reading
 *   Descent          to a node, from the root or a hint  Successor        the next key, across leaves
 *   Siblings         from leaf to leaf by a hint         ReadAhead        leaves that a scan will need
 *   --- changing
 *   LeafWriter       record changes in one leaf          StructureChange  rules of splits and merges
 *   Splitter         splits; a root that grows           Merger           merges; a root that shrinks
 *   Separators       short separators, where to split    LongValues       writes and frees chains
 *   StructureRecord  log records of structure changes
 *   --- one page
 *   BTreeNode        layout of a node                    NodeSearch       search in a node
 *   NodeEditor       changes of a node                   NodeCheck        checks before changes
 *   OverflowChain    layout and reads of long values     TreeDamage       torn, damaged, or misused
 *   LoggedChains     long values from the log alone
 *   LatchErrorGuard  releases latched pages after errors
 * </pre>
 *
 * <p>Each layer uses only the layers below it. {@code BTree} is above its parts, and the classes of
 * the first group except {@code Position} are above {@code BTree}.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory}, {@code io.fovea.wal}, {@code
 * io.fovea.buffer}.
 *
 * <p>Threading: any number of threads may use a {@link io.fovea.btree.BTree}. {@link
 * io.fovea.btree.Position}, {@link io.fovea.btree.KeyBuffer}, {@link io.fovea.btree.LeafScan} and
 * {@link io.fovea.btree.BulkLoader} belong to one thread at a time. Two threads must not write the
 * same key at once (the layer above holds a lock on it).
 *
 * <p>Latch order: parent before child, left before right. Only the first latch is waited for; the
 * others are tried, and if one is not free, all are released. No page of a tree is latched while
 * another is loaded, allocated or waited for. Readers take no latch, unless they were disturbed
 * often; then they take one shared latch at a time. New pages are latched by their creator until
 * they are reachable, so no thread waits for them.
 *
 * <p>Log: the caller logs key changes and passes the position of the record; this package logs
 * structure changes, as page images, in latch order. A method that may change the structure takes a
 * session that has begun, and requests log space with nothing latched.
 */
@NullMarked
package io.fovea.btree;

import org.jspecify.annotations.NullMarked;
