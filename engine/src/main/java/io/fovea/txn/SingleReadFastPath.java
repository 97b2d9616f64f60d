package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import io.fovea.buffer.PageHeader;
import io.fovea.error.AbortCause;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The first read of a retried read-only transaction: it pins no item and validates no timestamp as
 * long as it remains the only read.
 *
 * <pre>
 *   leaf version → content → item not locked ({@link Timestamps#unlocked}) → leaf version again
 *        │
 *        └─ before the next operation: pin → word, unlocked → leaf version once more → read set
 * </pre>
 *
 * <p><b>Claim.</b> A transaction T that reads only item i can follow the commit U whose value it
 * saw: T has one conflict edge in, from U, and one out, to the next writer W of i. A cycle through
 * T would need a path from W to U, and the edge from U to W exists without T.
 *
 * <p><b>No half commit.</b> The item is found unlocked between two equal versions of the leaf. By
 * the argument in {@link TxReads} the content is current, and no commit was installing i. So if T
 * returns anything of U, U has installed all its changes. {@link Timestamps#unlocked} explains why
 * a check without an entry is valid.
 *
 * <p><b>The second operation.</b> Before it, {@link TxLife#operation} calls {@link #enter}: it pins
 * i, reads its word, unlocked, and checks that the leaf still has the version of the first read.
 * Then the content was current when the word was read, as for any read. If the version differs,
 * because of a neighbor or an eviction, the transaction aborts and its next attempt uses items. If
 * {@link #enter} fails without an abort, the read remains a single one, and the next operation
 * tries again. After a second operation, a context runs the next {@value #PAUSE} transactions
 * without the fast path.
 */
final class SingleReadFastPath {
  /** Result: not read; the caller reads as usual, from the position. */
  static final int NOT_ALONE = -2;

  private static final int PAUSE = 16;

  /** The number of transactions to pause for if the leaf had changed. */
  private static final int PAUSE_FAILED = 1024;

  private final TxLife life;
  private final Workspace work;
  private final ConcurrencyControl concurrencyControl;
  private final Timestamps timestamps;

  /** Whether what is read must be durable before it is returned. */
  private final boolean waits;

  /** Whether the next operation may use the fast path, if it is the first one. */
  boolean allowed;

  private int pause;

  // the read
  private final Position at = new Position();

  /** Kept between transactions: storing a reference at each read would cost a fence. */
  private @Nullable BTree tree;

  private long item;
  private int length;

  SingleReadFastPath(TxLife life, Workspace work, ConcurrencyControl concurrencyControl) {
    this.life = life;
    this.work = work;
    this.concurrencyControl = concurrencyControl;
    this.timestamps = concurrencyControl.timestamps;
    this.waits = life.shared.waits;
  }

  void begin() {
    allowed = false;
  }

  /** Allows the fast path for a retried read-only transaction, before its first read. */
  void allow() {
    if (pause > 0) {
      pause--;
    } else {
      allowed = concurrencyControl.plain;
    }
  }

  /** Returns whether the current operation may use the fast path, if {@link #allowed}. */
  boolean take() {
    allowed = false;
    return life.isFirstOperation();
  }

  /** Reads as {@link Tx#get}, or returns {@link #NOT_ALONE} if the record is being changed. */
  int read(
      BTree in,
      long of,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap) {
    Position p = work.position;
    KeyLocationCache locations = in.keyLocations();
    boolean learns = false;
    if (locations == null) {
      in.find(key, keyOffset, keyLength, p);
    } else {
      learns = !locations.find(in, of, key, keyOffset, keyLength, p, cap);
    }
    int n = p.found ? in.copyValue(p, out, outOffset, cap) : TxReads.ABSENT;
    boolean torn = n < 0 && p.found;
    if (torn || !timestamps.unlocked(of)) {
      return NOT_ALONE;
    }
    long lsn = waits ? pageLsn(in, p) : 0;
    if (!in.valid(p)) {
      return NOT_ALONE;
    }
    work.dependsOnLsn(lsn);
    at.copyFrom(p);
    if (tree != in) {
      tree = in;
    }
    item = of;
    length = n;
    work.singleRead = true;
    life.deferToNextOperation();
    if (learns) {
      locations.cacheWithoutPromotion(
          in, of, p); // without moving the page, whose version the second operation checks
    }
    return n;
  }

  /** Returns the page LSN, from the cache line where the search began; it must be validated. */
  static long pageLsn(BTree tree, Position p) {
    return PageHeader.pageLsn(tree.pool().pages(), tree.pool().base(p.frame));
  }

  /** Turns the single read into an ordinary one, before another operation. */
  void enter() {
    BTree in = tree;
    if (!work.singleRead || in == null) {
      return;
    }
    pause = PAUSE;
    addRead(in);
    work.singleRead = false; // last: after an earlier failure the next operation tries again
  }

  private void addRead(BTree in) {
    int slot = concurrencyControl.pin(item);
    long word = concurrencyControl.readWord(slot);
    while (TidWord.isLocked(word)) {
      requireSamePage(in); // the holder may have changed it: then waiting is useless
      concurrencyControl.await(slot);
      word = concurrencyControl.readWord(slot);
    }
    requireSamePage(in);
    int entry = work.reads.add(item, slot, TidWord.withoutLock(word));
    work.reads.putLocation(entry, at.frame, at.version, at.pid, at.slot, length);
  }

  private void requireSamePage(BTree in) {
    if (!in.valid(at)) {
      pause = PAUSE_FAILED;
      throw life.abort(
          AbortCause.VALIDATION, "the page of the first read has changed before the second");
    }
  }
}
