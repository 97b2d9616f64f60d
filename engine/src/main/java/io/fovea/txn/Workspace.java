package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import org.jspecify.annotations.Nullable;

/** A transaction's private state: its reads and writes, with their locations. */
final class Workspace {
  final ReadSet reads = new ReadSet();
  final WriteSet writes;

  final LeafReads leaves;

  final Position position = new Position();

  /** Whether operations start at remembered locations. */
  final boolean keepsLocations;

  /** Whether it has read only one record, not in the read set: {@link SingleReadFastPath}. */
  boolean singleRead;

  /** The result of {@link Tx#readLsn}. {@link Tx} resets it: a store can't fail, a call can. */
  long readLsn;

  /** The changes and reads of the catalog; null for most. {@link Tx} ends it. */
  @Nullable CatalogPart catalog;

  /** Moves the pages of a long value, if the transaction does only that; null for most. */
  @Nullable ChainMove move;

  /** The tables that it has used, as bits: {@code 1L << (id & 63)}. */
  long tables;

  /** The tables that it drops, as bits. */
  long dropped;

  /** The trees that its commit changes, as bits of {@link ScanTimestamps}. */
  long changed = ScanTimestamps.ALL;

  /**
   * Whether nothing of a transaction is left. False after errors at its end; then {@link Tx} clears
   * at the next begin, because a remaining write would be committed.
   */
  boolean clean = true;

  Workspace(TxLife life) {
    TxShared shared = life.shared;
    this.leaves = new LeafReads(shared);
    this.keepsLocations = shared.config.keepsLocations();
    this.writes = new WriteSet(new Scratch(shared.config.scratchBytesMax(), life, shared.memory));
  }

  /** Copies the known location of a written key to a position. */
  void locationOf(int e, Position p) {
    int handle = writes.handle(e);
    if (!keepsLocations) {
      p.clear();
    } else if (handle >= 0) {
      reads.locate(handle, p);
    } else {
      writes.locate(e, p);
      if (p.frame < 0) {
        setHint(e, p);
      }
    }
  }

  /** Returns the leaf where a written key was last seen or missed: a hint; 0 if unknown. */
  long leaf(int e) {
    int handle = writes.handle(e);
    return handle >= 0 ? reads.pid(handle) : writes.leaf(e);
  }

  private void setHint(int e, Position p) {
    BTree tree = writes.tree(e);
    KeyLocationCache locations = tree.keyLocations();
    if (locations != null) {
      locations.setHint(tree, writes.item(e), p);
    }
  }

  void dependsOnLsn(long lsn) {
    if (lsn > readLsn) {
      readLsn = lsn;
    }
  }

  /** Forgets the transaction; writes first, because nothing before that can fail. */
  void clear() {
    writes.clear();
    singleRead = false;
    changed = ScanTimestamps.ALL;
    leaves.clear();
    reads.clear();
    writes.scratch.clear();
    clean = true;
  }
}
