package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import io.fovea.buffer.PageHeader;
import io.fovea.error.AbortCause;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The first read of a transaction that only reads, and that somebody repeats: it pins no item, and
 * has no timestamps to validate, as long as it stays the only one.
 *
 * <pre>
 *   leaf version → content → item not locked ({@link Timestamps#unlocked}) → leaf version again
 *        │
 *        └─ the next operation enters it first: pin → word, unlocked → leaf version once more → read set
 * </pre>
 *
 * <p><b>Claim.</b> A transaction T that reads one item i and nothing else can be put right behind
 * the commit U whose value it saw: under conflicts T has one edge in, from U, and one out, to W
 * that writes i next. A circle through T would be a way from W to U, and without T there is the
 * edge from U to W already: so there is none. It needs no timestamp, and nobody needs to know that
 * it read.
 *
 * <p><b>Half a commit.</b> The item is looked at between two equal looks at the leaf's version, and
 * is not locked. By the argument in {@link TxReads} the content is that of this moment, and no
 * commit was installing i then. So if T shows anything of U, U has installed all of its changes,
 * and whoever learns of U by T, and looks at U's other records afterwards, finds them installed.
 * {@link Timestamps#unlocked} says why a look that makes no entry can be believed.
 *
 * <p><b>The second operation.</b> Of two reads both need timestamps. {@link TxLife#operation} has
 * {@link #enter} done before anything else is done: it pins i, and looks at its word, unlocked, and
 * then at the leaf's version, which must be that of the first read. Then the content is that of the
 * moment when the word was looked at, as for any read, only that the reader took it earlier. Where
 * the version is another one the transaction is aborted, and its next attempt goes by items: a
 * change of a neighbour in the leaf is enough, or that its page has left its frame, which is why
 * this is for transactions that somebody repeats. Where {@link #enter} fails without an abort, as
 * at a lock that a broken commit has left, or where timestamps can't be read, the read is still
 * alone, and the next operation enters it before it does anything.
 *
 * <p><b>What it costs who reads more.</b> Some nanoseconds in one of {@value #PAUSE} transactions:
 * a context in which a second operation came lets that many begin by items.
 */
final class SingleReadFastPath {
  /** It was not done: the caller reads as ever, from where the position is. */
  static final int NOT_ALONE = -2;

  private static final int PAUSE = 16;

  /** The same where the leaf had changed. */
  private static final int PAUSE_FAILED = 1024;

  private final TxLife life;
  private final Workspace work;
  private final ConcurrencyControl concurrencyControl;
  private final Timestamps timestamps;

  /** Whether what is read must be durable before anybody is told. */
  private final boolean waits;

  /** Whether the next read may be one. */
  private boolean allowed;

  private int pause;

  // what was read
  private final Position at = new Position();

  /** Stays: a reference that is stored at each read would cost a fence. */
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

  /** A transaction begins. */
  void begin() {
    allowed = false;
  }

  /** It only reads, reserves nothing, and somebody repeats it; nothing is read yet. */
  void allow() {
    if (pause > 0) {
      pause--;
    } else {
      allowed = concurrencyControl.plain;
    }
  }

  /** Whether an operation that has begun may be one: it is the first. Asked once. */
  boolean take() {
    boolean may = allowed && life.first();
    allowed = false;
    return may;
  }

  /**
   * Reads, if nobody is just changing the record.
   *
   * @return as {@link Tx#get}, or {@link #NOT_ALONE}
   */
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
    KeyLocationCache places = in.places();
    boolean learns = false;
    if (places == null) {
      in.find(key, keyOffset, keyLength, p);
    } else {
      learns = !places.find(in, of, key, keyOffset, keyLength, p, cap);
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
    work.sawLsn(lsn);
    at.copyFrom(p);
    if (tree != in) {
      tree = in;
    }
    item = of;
    length = n;
    work.lone = true;
    life.deferToNextOperation();
    if (learns) {
      places.learnHere(in, of, p); // the page stays where it is: the second operation looks there
    }
    return n;
  }

  /** In the line that the search began with. To be validated like all else. */
  static long pageLsn(BTree tree, Position p) {
    return PageHeader.pageLsn(tree.pool().pages(), tree.pool().base(p.frame));
  }

  /** Another operation begins: what was read alone becomes a read like all others. */
  void enter() {
    BTree in = tree;
    if (!work.lone || in == null) {
      return;
    }
    pause = PAUSE;
    addRead(in);
    work.lone = false; // last: whoever fails before has not entered it, and the next one does
  }

  private void addRead(BTree in) {
    int slot = concurrencyControl.pin(item);
    long word = concurrencyControl.look(slot);
    while (TidWord.isLocked(word)) {
      requireSamePage(in); // who has it locked may have changed it: then waiting is in vain
      concurrencyControl.await(slot);
      word = concurrencyControl.look(slot);
    }
    requireSamePage(in);
    int entry = work.reads.add(item, slot, TidWord.withoutLock(word));
    work.reads.place(entry, at.frame, at.version, at.pid, at.slot, length);
  }

  private void requireSamePage(BTree in) {
    if (!in.valid(at)) {
      pause = PAUSE_FAILED;
      throw life.abort(
          AbortCause.VALIDATION, "the page of the first read has changed before the second");
    }
  }
}
