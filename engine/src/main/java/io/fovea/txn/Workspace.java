package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import org.jspecify.annotations.Nullable;

/**
 * The private workspace of a transaction: what it has read and written, and where that was. Nobody
 * else sees any of it before the commit.
 */
final class Workspace {
  final ReadSet reads = new ReadSet();
  final WriteSet writes;

  /** The leaves that it has read as a whole. */
  final LeafReads leaves;

  /** Where the operation that is under way stands. */
  final Position position = new Position();

  /** Whether places that were seen are begun from. */
  final boolean placed;

  /** Whether it has read one record, which is in no read set yet: {@link SingleReadFastPath}. */
  boolean lone;

  /** As {@link Tx#readLsn}. {@link Tx} sets it back: a store can't fail, a call can. */
  long readLsn;

  /** What the transaction does to the catalog; null for nearly all. {@link Tx} ends it. */
  @Nullable CatalogPart catalog;

  /** How it moves the pages of a long value, if it does only that; null for nearly all. */
  @Nullable ChainMove move;

  /** The tables that it has used, as bits: {@code 1L << (id & 63)}. */
  long tables;

  /** The tables that it drops, as bits. */
  long dropped;

  /** The trees that its commit changes, as bits of {@link ScanMarks}. */
  long changed = ScanMarks.ALL;

  /**
   * Whether nothing of a transaction is left: from the end of {@link #clear} to the next begin.
   * Where errors have cut the end of a transaction short it is false, and {@link Tx} clears at the
   * next begin: a write that was left would be committed by a transaction that has written nothing.
   */
  boolean clean = true;

  Workspace(TxLife life) {
    TxShared shared = life.shared;
    this.leaves = new LeafReads(shared);
    this.placed = shared.config.placesRemembered();
    this.writes = new WriteSet(new Scratch(shared.config.scratchBytesMax(), life, shared.memory));
  }

  /** Puts what is known of the place of a written key into a position. */
  void place(int e, Position p) {
    int handle = writes.handle(e);
    if (!placed) {
      p.clear();
    } else if (handle >= 0) {
      reads.locate(handle, p);
    } else {
      writes.locate(e, p);
      if (p.frame < 0) {
        guess(e, p);
      }
    }
  }

  /** The leaf where a written key was seen, or missed, last: a hint; 0 where that is not known. */
  long leaf(int e) {
    int handle = writes.handle(e);
    return handle >= 0 ? reads.pid(handle) : writes.leaf(e);
  }

  /** Where others have seen the key last. */
  private void guess(int e, Position p) {
    BTree tree = writes.tree(e);
    KeyLocationCache places = tree.places();
    if (places != null) {
      places.guess(tree, writes.item(e), p);
    }
  }

  /** A leaf was read whose last change is at a position of the log. */
  void sawLsn(long lsn) {
    if (lsn > readLsn) {
      readLsn = lsn;
    }
  }

  /** Forgets the transaction. What it would change goes first: nothing before that can fail. */
  void clear() {
    writes.clear();
    lone = false;
    changed = ScanMarks.ALL;
    leaves.clear();
    reads.clear();
    writes.scratch.clear();
    clean = true;
  }
}
