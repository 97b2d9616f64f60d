package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.HintedLeaf;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Lookahead;
import io.fovea.btree.Position;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads that start from a hint, and the locations that a transaction knows. Hints are checked; a
 * wrong one costs only time.
 *
 * <pre>
 *   lookahead        descends for many keys at once; get uses its hints one by one
 *   getHinted        a hint from outside of the tree: an entry of an index
 *   peek             a search that is not a read
 *   locationOf       where a key was when this transaction last read it
 * </pre>
 */
final class TxHints {
  private static final int NOT_ASKED = -1;

  private final TxLife life;
  private final Workspace work;
  private final TxReads reader;
  private final HintCounters hintCounters = new HintCounters();

  /** Created on demand: most contexts never read several keys at once. */
  private @Nullable Lookahead ahead;

  private int hinted = NOT_ASKED;
  private final Timestamps timestamps;

  private final boolean stamped;

  /** Keeps the loads from being optimized away; the value has no meaning. */
  private long loaded;

  TxHints(TxLife life, Workspace work, TxReads reader, ConcurrencyControl concurrencyControl) {
    this.life = life;
    this.work = work;
    this.reader = reader;
    this.timestamps = concurrencyControl.timestamps;
    this.stamped = concurrencyControl.stamped;
  }

  void count(Position into) {
    Lookahead a = ahead;
    if (a != null) {
      a.count(into);
    }
  }

  Lookahead lookahead() {
    Lookahead a = ahead;
    if (a == null) {
      a = new Lookahead();
      ahead = a;
    }
    return a;
  }

  void descend(BTree tree, int n, int bytes) {
    Lookahead a = lookahead();
    if (stamped) {
      long seen = 0;
      for (int i = 0; i < n; i++) {
        seen += timestamps.load(a.hash(tree, i));
      }
      loaded += seen;
    }
    a.descend(tree, bytes);
  }

  int getHinted(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position hint) {
    life.operation();
    hinted = NOT_ASKED;
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = work.writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      return reader.getOwn(w, item, key, keyOffset, out, outOffset, cap);
    }
    if (work.reads.find(item) >= 0) {
      return reader.read(tree, item, key, keyOffset, keyLength, out, outOffset, cap, null);
    }
    Position p = work.position;
    p.copyFrom(hint);
    hinted = HintedLeaf.locate(tree, key, keyOffset, keyLength, p, cap);
    if ((hinted & HintedLeaf.NO_PAGE) != 0) {
      tree.find(key, keyOffset, keyLength, p);
    }
    return reader.readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, -1, -1);
  }

  int peek(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position position) {
    life.operation();
    Position p = work.position;
    KeyLocationCache locations = tree.keyLocations();
    if (locations != null) {
      return peekAtLocation(
          locations, tree, key, keyOffset, keyLength, out, outOffset, cap, position);
    }
    tree.find(key, keyOffset, keyLength, p);
    return peekAt(tree, p, out, outOffset, cap, position);
  }

  private int peekAtLocation(
      KeyLocationCache locations,
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position position) {
    Position p = work.position;
    long item = tree.keyHash(key, keyOffset, keyLength);
    boolean right = locations.find(tree, item, key, keyOffset, keyLength, p, cap);
    int length = peekAt(tree, p, out, outOffset, cap, position);
    if (!right) {
      locations.cache(tree, item, p);
    }
    return length;
  }

  private static int peekAt(
      BTree tree, Position p, MemorySegment out, long outOffset, int cap, Position position) {
    int length = p.found ? tree.copyValue(p, out, outOffset, cap) : TxReads.ABSENT;
    position.copyFrom(p);
    return tree.valid(p) ? length : TxReads.ABSENT;
  }

  int hinted() {
    return hinted;
  }

  HintCounters hintCounters() {
    return hintCounters;
  }

  void locationOfRead(int handle, Position p) {
    work.reads.locate(handle, p);
  }

  void locationOf(BTree tree, MemorySegment key, long keyOffset, int keyLength, Position p) {
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = work.writes.find(tree, item, key, keyOffset, keyLength);
    int handle = w >= 0 ? work.writes.handle(w) : work.reads.find(item);
    if (handle >= 0) {
      work.reads.locate(handle, p);
    } else {
      p.clear();
    }
  }
}
