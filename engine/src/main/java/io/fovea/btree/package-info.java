/**
 * B-trees of byte strings over the buffer pool.
 *
 * <p>Purpose: ordered maps from keys (byte strings in {@code memcmp} order) to values (byte
 * strings), each a tree of pages with a root that never moves. The room knows nothing of
 * transactions: it keeps its own structure right under any number of threads, and tells a reader
 * whether what it read was of one moment.
 *
 * <pre>
 *   BTree            the facade: find, locate, copyValue, successor, upsert, delete, patch
 *   Position         where an operation stands; a checked hint for the next one
 *   LeafScan         forward and backward, a leaf at a time
 *   LeafRun          several changes of one leaf under one latch
 *   Lookahead        hints for several keys at once, their cache misses overlapped
 *   HintedLeaf       looks for a key where something outside of the tree remembers it
 *   BulkLoader       ascending keys into an empty tree
 *   TreeDrop         frees a tree, some pages at a time
 *   TreeCompaction   moves nodes to pages nearer to the front of the file
 *   TreeVerifier     walks every page
 *   TreeWalk         all records, without a transaction
 *   RangeEstimate    about how much lies between two keys
 *   --- reading
 *   Descent          from the root to a node             PointReads       one key and its value
 *   Successor        the next key, across leaves         Siblings         from leaf to leaf by a hint
 *   ReadAhead        leaves that a scan will need
 *   --- changing
 *   LeafWriter       changes of a record in one leaf     StructureChange  rules of splits and merges
 *   Splitter         splits; a root that grows           Merger           merges; a root that shrinks
 *   Separators       short separators, where to split    LongValues       chains that come and go
 *   StructureRecord  what is logged of all that
 *   --- one page
 *   BTreeNode        layout of a node                    NodeSearch       search in a node
 *   NodeEditor       changes of a node                   NodeCheck        what must be true of one
 *   OverflowChain    layout and reads of long values     TreeDamage       torn, damaged, or misused
 *   LoggedChains     long values from the log alone
 *   LatchErrorGuard        latched pages when something is thrown
 * </pre>
 *
 * <p>The layers use each other downwards only; {@code BTree} is above all parts that make it up,
 * and the classes of the first group but {@code Position} are above {@code BTree}.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory}, {@code io.fovea.wal}, {@code
 * io.fovea.buffer}.
 *
 * <p>Threading: a {@link io.fovea.btree.BTree} is used by any number of threads at once. {@link
 * io.fovea.btree.Position}, {@link io.fovea.btree.KeyBuffer}, {@link io.fovea.btree.LeafScan} and
 * {@link io.fovea.btree.BulkLoader} belong to one thread at a time. Two threads must not write one
 * key at once (the layer above holds a lock on it); they may write neighbours.
 *
 * <p>Latch order: parent before child, left before right, and only the first is ever waited for:
 * the others are tried, and if one is not to be had all are given back. No page of a tree is
 * latched while another is loaded, allocated or waited for. Readers latch nothing, unless they were
 * disturbed so often that they fall back to one shared latch at a time. New pages are latched by
 * their maker until they are reachable; nobody can wait for those.
 *
 * <p>Log: the caller logs what happens to a key and says where that record is; the room logs what
 * happens to the shape of the tree, as images of pages, in the order of the latches. A method that
 * may change the shape takes a session that has begun, and asks it for space with nothing latched.
 */
@NullMarked
package io.fovea.btree;

import org.jspecify.annotations.NullMarked;
