package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The timestamps of all items: exact for those in use, wherever {@link StoreKind} says for the
 * others.
 *
 * <pre>
 *               pin                                           release (its slot is wanted, a sweep)
 *  Periphery ---------> exact entry: item | stamp | word ------------------------------> Periphery
 *  (bound)     lock column; word := get(item)    |      lock column; stamp := 0 by CAS; put(item)
 *                                                |
 *                                 in use: word, tryLock, extend, publish
 * </pre>
 *
 * <b>Rule.</b> From {@code pin} to {@code exit} a transaction's slot belongs to its item, and the
 * item's timestamps change by what transactions do only (Property 1 of the dissertation: no
 * spontaneous increase of what is in use). It rests on the <i>stamp</i>, the one word on which
 * those who pin and those who release meet:
 *
 * <pre>
 *    63   62          43 42                          0
 *  +----+--------------+------------------------------+
 *  |live| references   | epoch of the last use        |      0 = the slot is free
 *  +----+--------------+------------------------------+
 * </pre>
 *
 * <ul>
 *   <li>Pin, by epoch: read the stamp; if it is live and below the own epoch, CAS it up;
 *       <i>then</i> read the item again. Pin, by reference: CAS one reference more; then read the
 *       item again.
 *   <li>Release: under the column's lock, if there are no references, the epoch is older than that
 *       of every running transaction and the word is not locked, CAS the stamp to 0.
 * </ul>
 *
 * <p><b>Why no slot is released under its user.</b> Let T run in epoch e, not expelled, and let its
 * pin of x in slot s succeed, and let t be the moment at which T read or wrote a stamp of at least
 * e. No release of s after t succeeds while T runs: it would need a stamp below {@code oldest},
 * which never exceeds e ({@link Epochs}), while stamps of a live slot only grow; and slot s must be
 * released before it can be free and get a smaller one. A release that read the stamp before t
 * fails in its CAS if T changed it, and need not be considered if T did not, for then it had read e
 * or more. So the item in s does not change from t on, and T reads it after t: if it is x, x it
 * stays. That second reading is needed: between T's first reading of x and t, the slot may have
 * been released and given to y, with the very stamp that T then replaces (the ABA case); then T has
 * kept y for a while, which harms no one, and looks elsewhere. For references the same holds with
 * "one reference of T's" in place of "at least e", and there T takes the reference back.
 *
 * <p><b>Why the item and the word belong to the stamp.</b> An entry's item and word are written
 * before its stamp (release), and T reads them after it (acquire). What the last user left in the
 * word is visible to a release: users leave by a release store of their publication (read in {@code
 * oldest}'s scan) or by the atomic add that gives the reference back (read in the CAS).
 *
 * <p><b>A miss is never believed.</b> Without the column's lock a search may miss an entry that is
 * coming into being. So a miss is repeated under the lock, where entries of the column neither come
 * nor go; one item has never two entries.
 *
 * <p><b>Epoch or reference.</b> By epoch, a pin of an item that was used in this epoch stores
 * nothing, so readers of a hot item share its line; a reference count makes each a writer of it.
 * But one long transaction holds the epoch back, and with it every entry that anyone uses
 * meanwhile. So a transaction that notices (on its way to a new entry) that it runs since {@link
 * #LAG} epochs turns its pins into references and gives its epoch up: see {@link #convert}. One
 * that is idle cannot notice. It is <i>expelled</i> when, and only when, the whole budget is in use
 * and it is in the way: its slots may be released under it from then on, and {@link #holds} tells
 * it so, after its validation and before anything of it becomes visible.
 *
 * <p>No call allocates, except that a context's list of pins grows to the transaction's size. Only
 * making and releasing an entry takes a lock, a column's, for a short while.
 */
public final class Timestamps {
  /** How it is known that an exact entry is no longer in use. */
  public enum Release {
    /** No transaction is running that is as old as the last use. */
    EPOCH,
    /** Each user has added one and taken it away again. */
    REFERENCE_COUNT,
    /**
     * The same, and who takes the last one away lets the entry go: the dissertation's algorithm 2.
     */
    IMMEDIATE
  }

  /** The own epoch of who counts references: above all stamps, so that the short way never fits. */
  static final long COUNTING = Long.MAX_VALUE;

  /** The epoch of all where entries stay for ever: below all stamps, so that it always fits. */
  static final long FOR_EVER = 0;

  /** A transaction that runs since so many epochs counts references from then on. */
  static final long LAG = 8;

  private static final long EPOCH_MASK = Entries.EPOCH_MASK;
  private static final long REFERENCE = Entries.REFERENCE;
  private static final long REFERENCES_MASK = Entries.REFERENCES_MASK;

  /**
   * The epoch advances when one context has made many entries in it: 1 / this of what there is room
   * for in first buckets. While what is used fits into the table no other epoch is needed, and each
   * new one costs a store for each item that is used in it.
   */
  private static final int EPOCHS_PER_TABLE = 16;

  /** It advances when a context sees so many entries in it that find their first bucket in use. */
  private static final int SPILLS_PER_EPOCH = 16;

  /** It advances every so many exits of a context as well: what is idle has to end some time. */
  private static final int EXITS_PER_EPOCH = 1024;

  /** How often a pin that finds everything in use tries again, and how often with a new epoch. */
  private static final int ATTEMPTS_MAX = 256;

  private static final int ATTEMPTS_PER_EPOCH = 8;

  /** How often a context that exits looks whether the sketch should have another size. */
  private static final int EXITS_PER_SIZING = 1024;

  private final StoreKind kind;
  private final TimestampTable table;
  private final Periphery periphery;
  private final Epochs epochs;
  private final Entries entries;
  private final SketchSizer sizer;
  private final AtomicBoolean sizing = new AtomicBoolean();
  private final TimestampContext[] contexts;
  private final boolean byEpoch;
  private final boolean byReference;
  private final boolean immediate;
  private final boolean turns;
  private final int madePerEpoch;
  private volatile long resizes;

  /**
   * An empty Focus-Sketch of a fixed size: every item has the timestamps (0, 0).
   *
   * @param maxContexts contexts are numbered from 0 below this
   * @param exactBytes memory of the exact entries that is always used
   * @param budgetBytes what the exact entries may take when transactions pin more than that
   * @param sketchRows 1 to 8
   * @param sketchColumns a power of two
   * @param release how it is known that an entry is no longer in use
   */
  public Timestamps(
      int maxContexts,
      long exactBytes,
      long budgetBytes,
      int sketchRows,
      int sketchColumns,
      Release release) {
    this(
        maxContexts,
        TimestampConfig.sketch(exactBytes, budgetBytes, sketchRows, sketchColumns, release),
        null);
  }

  /**
   * An empty store: every item has the timestamps (0, 0).
   *
   * @param maxContexts contexts are numbered from 0 below this
   * @param config kind and sizes
   * @param pages where timestamps are that are not in memory; null for kinds that have them all
   *     there. Stays the caller's
   */
  public Timestamps(int maxContexts, TimestampConfig config, @Nullable TimestampPages pages) {
    if (maxContexts < 1) {
      throw new IllegalArgumentException(
          "Timestamps need at least one context, not " + maxContexts + ".");
    }
    kind = config.kind();
    Release release = config.effectiveRelease();
    boolean forEver = kind == StoreKind.MEMORY;
    byEpoch = release == Release.EPOCH && !forEver;
    byReference = release != Release.EPOCH && !forEver;
    immediate = release == Release.IMMEDIATE && !forEver;
    turns = byEpoch || kind.isCache();
    table = new TimestampTable(config.firstBytes(), config.budgetBytes(), config.wideBits());
    madePerEpoch =
        Math.max(1, table.columns() * TimestampTable.SLOTS_PER_BUCKET / EPOCHS_PER_TABLE);
    periphery = new Periphery(config, pages);
    epochs = new Epochs(maxContexts);
    entries = new Entries(table, periphery, epochs, kind, byEpoch);
    sizer = new SketchSizer(config.sketchColumns(), config.sketchColumnsMax());
    contexts = new TimestampContext[maxContexts];
    for (int i = 0; i < maxContexts; i++) {
      contexts[i] = new TimestampContext(i);
      contexts[i].sweepColumn = (int) ((long) i * table.columns() / maxContexts);
    }
  }

  // ---------------------------------------------------------------- a transaction's begin and end

  /** Begins a transaction's use. To be called before its first pin, by the thread that runs it. */
  public void enter(int ctx) {
    TimestampContext c = contexts[ctx];
    assert !c.entered : "context " + ctx + " was entered twice";
    c.entered = true;
    c.counts = byReference;
    c.epoch = byEpoch ? epochs.enter(ctx) : byReference ? COUNTING : FOR_EVER;
    c.approximateBefore = c.approximate;
  }

  /**
   * Has a transaction count references from its begin on: it holds nobody back, and is never
   * expelled. After {@link #enter}, before the first pin.
   */
  public void enterForLong(int ctx) {
    TimestampContext c = contexts[ctx];
    if (byEpoch && !c.counts) {
      convert(c);
    }
  }

  /**
   * Ends a transaction's use: its slots may go to other items. To be called after it has unlocked
   * what it had locked, and before it waits for its commit to be durable.
   */
  public void exit(int ctx) {
    TimestampContext c = contexts[ctx];
    assert c.entered : "context " + ctx + " left without having entered";
    if (c.counts) {
      dropPins(c);
    }
    if (byEpoch) {
      epochs.exit(ctx);
    }
    c.entered = false;
    c.forget();
    long exits = ++c.exits;
    if (exits % EXITS_PER_EPOCH == 0) {
      everySoOften(exits);
    }
    entries.sweep(c);
  }

  private void everySoOften(long exits) {
    if (turns) {
      epochs.advance(epochs.now());
    }
    if (exits % EXITS_PER_SIZING == 0 && sizer.adapts() && kind == StoreKind.FOCUS_SKETCH) {
      size();
    }
  }

  /** Gives the sketch the size that its telemetry asks for; who comes while another does goes. */
  private void size() {
    if (!sizing.compareAndSet(false, true)) {
      return;
    }
    try {
      long ended = 0;
      long doubtful = 0;
      long released = 0;
      for (TimestampContext c : contexts) {
        ended += c.exits;
        doubtful += c.doubtful;
        released += c.released;
      }
      Sketch sketch = periphery.sketch();
      int columns = sizer.next(ended, doubtful, released);
      if (columns != sketch.columns()) {
        resize(columns);
      }
    } finally {
      sizing.set(false);
    }
  }

  /** Gives the sketch another size, while all go on. One call at a time. */
  void resize(int columns) {
    periphery.sketch().resize(columns, entries::quiesce);
    resizes++;
  }

  /**
   * Says that the transaction of a context is being aborted because another one's change conflicts
   * with it. Only the size of the sketch depends on it. Between enter and exit, once.
   */
  public void conflict(int ctx) {
    TimestampContext c = contexts[ctx];
    if (c.approximate != c.approximateBefore) {
      c.doubtful++;
    }
  }

  /**
   * Whether the slots that were pinned since {@link #enter} have belonged to their items up to now.
   * Every commit must ask <i>after</i> its validation: if this is true, all that the transaction
   * read in its slots and did to them until then was right, and the items that it has locked stay
   * its own. If it is false, the transaction must unlock what it has locked, and abort.
   */
  public boolean holds(int ctx) {
    return !byEpoch || !epochs.expelled(ctx);
  }

  // ---------------------------------------------------------------- pins

  /**
   * The slot of an item's exact entry. It belongs to the item until {@link #exit}.
   *
   * <p>May wait for a moment when entries in use take up the whole budget, so it is not to be
   * called with a page latched.
   *
   * @param item not 0
   * @throws TransactionAbortedException if entries in use take up the whole budget
   */
  public int pin(int ctx, long item) {
    TimestampContext c = contexts[ctx];
    assert pinnable(c, item);
    int slot = table.home(item);
    // As in hold, without the first look at the item: nearly always this is the slot.
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & EPOCH_MASK) >= c.epoch && table.item(slot) == item) {
      c.remember(slot);
      return slot;
    }
    return pinBesides(c, slot, item);
  }

  private static boolean pinnable(TimestampContext c, long item) {
    if (item == 0 || !c.entered) {
      throw new AssertionError("item " + item + ", context entered: " + c.entered);
    }
    return true;
  }

  /**
   * Says that one pin of a slot is not needed any more. A courtesy, which saves memory where many
   * items are looked at for a moment: {@link #exit} unpins everything. Only the last pin is taken
   * back, an earlier one stays.
   */
  public void unpin(int ctx, int slot) {
    TimestampContext c = contexts[ctx];
    int last = c.pinned - 1;
    if (last >= 0 && c.pins[last] == slot) {
      c.pinned = last;
      if (c.counts) {
        table.addStamp(slot, -REFERENCE);
      }
    }
  }

  /** Keeps a slot that held the item a moment ago; false if it does no longer. */
  private boolean hold(TimestampContext c, int slot, long item) {
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & EPOCH_MASK) >= c.epoch) {
      return table.item(slot) == item;
    }
    return holdByStore(c, slot, item);
  }

  private boolean holdByStore(TimestampContext c, int slot, long item) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0) {
        return false;
      }
      long next = stamp;
      if (c.counts) {
        if (full(stamp)) {
          throw new TransactionAbortedException(
              AbortCause.TOO_LARGE, "One key is used a million times at once.");
        }
        next = entries.referenced(stamp);
      } else if ((stamp & EPOCH_MASK) < c.epoch) {
        next = stamp & ~EPOCH_MASK | c.epoch;
      }
      if (next == stamp || table.casStamp(slot, stamp, next)) {
        if (table.item(slot) == item) {
          return true;
        }
        if (c.counts) {
          table.addStamp(slot, -REFERENCE);
        }
        return false;
      }
    }
  }

  /** The way of an item that is not where it is looked for first. */
  private int pinBesides(TimestampContext c, int home, long item) {
    int column = table.column(item);
    long version = table.version(column);
    int slot = holdInBucket(c, home, item);
    if (slot < 0) {
      slot = pinElsewhere(c, item, column, version);
    }
    c.remember(slot);
    return slot;
  }

  /** The way of an item that is not in its first bucket, or nowhere. */
  private int pinElsewhere(TimestampContext c, long item, int column, long version) {
    long header = table.header(column);
    if (TimestampTable.spilled(header)) {
      for (int level = 1; level < table.levels(); level++) {
        if (TimestampTable.count(header, level) != 0) {
          int slot = holdInBucket(c, table.place(item, level), item);
          if (slot >= 0) {
            return slot;
          }
        }
      }
    }
    if (byEpoch && !c.counts && epochs.now() - c.epoch >= LAG) {
      convert(c);
    }
    periphery.fetch(c.index, item);
    long spilled = c.spilled;
    int slot;
    // What lies behind its own bucket has not been looked for: nothing, while the version stands.
    if ((TimestampTable.reach(header) == 0
            || table.bucketReach(table.place(item, table.levels() - 1)) == 0)
        && table.tryLock(column, version)) {
      try {
        slot = entries.make(c, item, column);
      } finally {
        table.unlock(column);
      }
    } else {
      slot = pinUnderLock(c, item, column);
    }
    for (int attempt = 0; slot < 0; attempt++) {
      makeRoom(c, attempt);
      slot = pinUnderLock(c, item, column);
    }
    if (turns) {
      made(c, c.spilled != spilled);
    }
    return slot;
  }

  private int pinUnderLock(TimestampContext c, long item, int column) {
    table.lock(column);
    try {
      int slot = holdInColumn(c, item, column);
      return slot >= 0 ? slot : entries.make(c, item, column);
    } finally {
      table.unlock(column);
    }
  }

  /** Asks for a new epoch when, in this one, many entries were made, or found no room. */
  private void made(TimestampContext c, boolean spilled) {
    long now = epochs.now();
    if (c.madeIn != now) {
      c.madeIn = now;
      c.made = 0;
    }
    c.made += spilled ? madePerEpoch / SPILLS_PER_EPOCH + 1 : 1;
    if (c.made >= madePerEpoch) {
      epochs.advance(now);
      periphery.settle(c.releasedMost);
    }
  }

  private int holdInBucket(TimestampContext c, int first, long item) {
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.item(first ^ i) == item && hold(c, first ^ i, item)) {
        return first ^ i;
      }
    }
    return -1;
  }

  /** The full search; under the lock, so that what it does not find is not there. */
  private int holdInColumn(TimestampContext c, long item, int column) {
    long header = table.header(column);
    for (int level = 0; level < table.levels(); level++) {
      if (level == 0 || TimestampTable.count(header, level) != 0) {
        int slot = holdInBucket(c, table.place(item, level), item);
        if (slot >= 0) {
          return slot;
        }
      }
    }
    int last = table.levels() - 1;
    int reach = TimestampTable.reach(header) == 0 ? 0 : table.bucketReach(table.place(item, last));
    for (int distance = 1; distance <= reach; distance++) {
      c.walked++;
      int slot = holdInBucket(c, table.placeBehind(item, column, last, distance), item);
      if (slot >= 0) {
        return slot;
      }
    }
    if (reach > 0) {
      entries.tidy(c, item, column);
    }
    return -1;
  }

  // ---------------------------------------------------------------- out of the epoch

  /**
   * Turns a transaction's pins into references, and gives its epoch up. While it does so both hold
   * the entries: the references are there before the epoch goes.
   *
   * <p>It may be expelled meanwhile, and slots be released. Then a reference is added to no free
   * slot; one added to a slot that has another item by now keeps that for a while. Whether it was
   * expelled is decided by one CAS of its publication: if it was not, all references were right.
   */
  private void convert(TimestampContext c) {
    int done = 0;
    while (done < c.pinned && addReference(c.pins[done])) {
      done++;
    }
    if (done < c.pinned || !epochs.leave(c.index)) {
      dropReferences(c, done);
      throw new TransactionAbortedException(
          AbortCause.TIMEOUT, "It was idle while others needed the memory for its timestamps.");
    }
    c.counts = true;
    c.epoch = COUNTING;
    c.converted++;
  }

  /** Adds a reference to a slot, unless it is free. */
  private boolean addReference(int slot) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0 || full(stamp)) {
        return false;
      }
      if (table.casStamp(slot, stamp, stamp + REFERENCE)) {
        return true;
      }
    }
  }

  private void dropReferences(TimestampContext c, int count) {
    for (int i = 0; i < count; i++) {
      int slot = c.pins[i];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  /** From the last to the first, each once: after an error it may be called again for the rest. */
  private void dropPins(TimestampContext c) {
    while (c.pinned > 0) {
      int last = c.pinned - 1;
      int slot = c.pins[last];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      c.pinned = last;
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  /** Whether {@link #enter} was called and {@link #exit} has not done its work. */
  boolean entered(int ctx) {
    return contexts[ctx].entered;
  }

  private static boolean full(long stamp) {
    return (stamp & REFERENCES_MASK) == REFERENCES_MASK;
  }

  /**
   * An item finds all its places in use: sees to it that what others have left can be released, and
   * waits a moment for those who run.
   *
   * <p>This transaction gives its own epoch up first, so whoever waits here is in nobody's way. The
   * epoch advances every few rounds, so that after the first half of them a transaction that still
   * stands in the way has had a dozen chances to end, or to notice by itself: it is expelled.
   */
  private void makeRoom(TimestampContext c, int attempt) {
    if (!byEpoch || attempt >= ATTEMPTS_MAX) {
      c.refused++;
      throw new TransactionAbortedException(
          AbortCause.TOO_LARGE,
          (kind == StoreKind.MEMORY ? "Records" : "Transactions that run")
              + " use all of the "
              + table.bytes()
              + (kind == StoreKind.MEMORY
                  ? " bytes for timestamps, which stay in memory: raise that budget."
                  : " bytes for timestamps: split this one, or raise that budget."));
    }
    if (!c.counts) {
      convert(c);
    }
    if (attempt % ATTEMPTS_PER_EPOCH == 0) {
      epochs.advance(epochs.now());
    } else {
      Waits.giveWay();
      epochs.scan();
    }
    if (attempt >= ATTEMPTS_MAX / 2 && epochs.expelOldest(LAG)) {
      c.expelled++;
      epochs.scan();
    }
  }

  // ---------------------------------------------------------------- what is done to an entry in
  // use

  /** The timestamps of a pinned item. A volatile read: it does not pass an earlier lock. */
  public long word(int slot) {
    return table.word(slot);
  }

  /** The item that a slot belongs to. */
  public long item(int slot) {
    return table.item(slot);
  }

  /**
   * Locks a pinned item for a commit, if it is not locked.
   *
   * @return whether it is this caller's now
   */
  public boolean tryLock(int slot) {
    while (true) {
      long word = table.word(slot);
      if (Word.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, Word.withLock(word))) {
        return true;
      }
    }
  }

  /** Unlocks an item that the caller has locked; nothing was written, the timestamps stay. */
  public void unlock(int slot) {
    long word = table.word(slot);
    assert Word.isLocked(word) : "slot " + slot + " is not locked";
    table.wordRelease(slot, Word.withoutLock(word));
  }

  /**
   * Gives an item that the caller has locked the timestamps (commitTs, commitTs) and unlocks it.
   * Partner of the read of the word: who sees the new wts sees what was installed before.
   */
  public void publish(int slot, long commitTs) {
    assert Word.isLocked(table.word(slot)) && commitTs > Word.rts(table.word(slot))
        : "publication of " + commitTs + " over " + Word.toString(table.word(slot));
    table.wordRelease(slot, Word.pack(commitTs, commitTs));
  }

  /**
   * TicToc's validation of one read: whether the version that was read is valid at {@code
   * commitTs}, and will stay so. Where its rts is smaller, it is raised to that.
   *
   * <p>The version that was read is known to be valid until the rts that was seen with it; up to
   * there nothing needs to be looked at. Beyond it the item must have the same wts still, and
   *
   * <ul>
   *   <li>if the caller has locked it: nobody else can change it, and the caller's {@link #publish}
   *       will set it to {@code commitTs}. Nothing to raise.
   *   <li>if its rts is {@code commitTs} or later: whoever writes next, be it one who has it locked
   *       now, does so at rts + 1 or later.
   *   <li>if another has locked it: that one may have taken the rts that is there now to choose its
   *       own timestamp, so raising it would be too late. Conflict.
   *   <li>else the rts is raised by CAS, which fails if it is locked meanwhile.
   * </ul>
   *
   * <p><b>When the distance overflows.</b> rts - wts does not fit into 15 bits: then {@link
   * Word#extended} raises wts as well, by a multiple of 2^15. Let the word be (w, r), unlocked, and
   * become (w', c). As r - w &lt; 2^15 and w' - w is a multiple of 2^15 and not 0, w' &gt; r. So
   * this is what a transaction D does that writes, at w' &gt; r, the very value that is there: a
   * serial history with D in it differs from one without it in no value that anyone reads. What
   * others do about D:
   *
   * <ul>
   *   <li>The caller read the value of w and commits at c &gt;= w': it counts as having read D's,
   *       which is the same, and valid until c.
   *   <li>A reader that saw (w, r) and commits at r or before is valid, before D. One that commits
   *       later finds w' instead of w and aborts: without need, since it cannot tell D from a
   *       writer. One that validates the same item twice aborts as well.
   *   <li>Whoever reads from now on sees w' and commits at w' or later, after D.
   *   <li>A writer that has the item locked is never met: the CAS expects an unlocked word. Both
   *       counter-examples of the dissertation (5.1) raise the timestamps of a locked item: there
   *       the writer has chosen its commit timestamp from the old rts, and the raised wts may equal
   *       or exceed it. A writer that locks after the CAS takes its timestamp from c.
   * </ul>
   *
   * @param seen the unlocked word that was read together with the value
   * @param lockedByMe whether the caller has locked this item
   */
  public boolean extend(int slot, long seen, long commitTs, boolean lockedByMe) {
    if (Word.rts(seen) >= commitTs) {
      return true;
    }
    while (true) {
      long word = table.word(slot);
      if (Word.wts(word) != Word.wts(seen)) {
        return false;
      }
      if (lockedByMe || Word.rts(word) >= commitTs) {
        return true;
      }
      if (Word.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, Word.extended(word, commitTs))) {
        return true;
      }
    }
  }

  // ---------------------------------------------------------------- around

  /** What was done so far. */
  public TimestampStats stats() {
    long materialised = 0;
    long approximate = 0;
    long released = 0;
    long spilled = 0;
    long refused = 0;
    long converted = 0;
    long expelled = 0;
    long doubtful = 0;
    for (TimestampContext c : contexts) {
      // Plain reads of what others count: each value is one that was there.
      released += c.released;
      materialised += c.materialised;
      approximate += c.approximate;
      spilled += c.spilled;
      refused += c.refused;
      converted += c.converted;
      expelled += c.expelled;
      doubtful += c.doubtful;
    }
    return new TimestampStats(
        kind,
        Math.max(0, materialised - released),
        table.slots(),
        materialised,
        approximate,
        released,
        spilled,
        refused,
        converted,
        expelled,
        doubtful,
        resizes,
        periphery.reads(),
        periphery.writes(),
        epochs.now(),
        periphery.sketchBytes(),
        table.bytes() + periphery.bytes());
  }

  /** Where the timestamps of items out of use are. */
  public StoreKind kind() {
    return kind;
  }

  /** How many columns the sketch has now. */
  int columns() {
    return periphery.sketch().columns();
  }

  /** How many buckets were looked at behind the items' own, by all contexts; for tests. */
  long walked() {
    long walked = 0;
    for (TimestampContext c : contexts) {
      walked += c.walked;
    }
    return walked;
  }

  /** For tests that can't wait for exits and spills. */
  Epochs epochs() {
    return epochs;
  }

  /** For tests that raise what must not be raised. */
  TimestampTable table() {
    return table;
  }

  /** Gives the memory back. No transaction may be running or begin. */
  public void close() {
    table.close();
    periphery.close();
  }
}
