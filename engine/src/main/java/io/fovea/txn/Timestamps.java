package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.TransactionAbortedException;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The timestamps of all items: exact for those in use, wherever {@link TimestampStore} says for the
 * others.
 *
 * <pre>
 *               pin                                           release (its slot is wanted, a sweep)
 *  Periphery ---------> exact table: item | stamp | word ------------------------------> Periphery
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
 * <p>{@link Pins} does this, and says why no slot is released under its user; {@link Entries} makes
 * and releases entries.
 *
 * <p>No call allocates, except that a context's list of pins grows to the transaction's size. Only
 * making and releasing an entry takes a lock, a column's, for a short while.
 */
public final class Timestamps {
  /**
   * The epoch also advances every so many exits of a context: what is idle has to end some time.
   */
  private static final int EXITS_PER_EPOCH = 1024;

  /** How often a context that exits looks whether the sketch should have another size. */
  private static final int EXITS_PER_SIZING = 1024;

  private final TimestampStore kind;
  private final TimestampTable table;
  private final ColdTimestamps coldTimestamps;
  private final Epochs epochs;
  private final Entries entries;
  private final Pins pins;
  private final SketchSizer sizer;
  private final AtomicBoolean sizing = new AtomicBoolean();
  private final TimestampContext[] contexts;
  private final boolean byEpoch;
  private final boolean byReference;
  private volatile long resizes;

  /**
   * An empty Focus-Sketch of a fixed size: every item has the timestamps (0, 0).
   *
   * @param maxContexts contexts are numbered from 0 below this
   * @param activeTimestampBytes memory of the exact table that is always used
   * @param budgetBytes what the exact table may take when transactions pin more than that
   * @param sketchRows 1 to 8
   * @param sketchColumns a power of two
   * @param release how it is known that an entry is no longer in use
   */
  public Timestamps(
      int maxContexts,
      long activeTimestampBytes,
      long budgetBytes,
      int sketchRows,
      int sketchColumns,
      TimestampConfig.Release release) {
    this(
        maxContexts,
        TimestampConfig.sketch(
            activeTimestampBytes, budgetBytes, sketchRows, sketchColumns, release),
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
    TimestampConfig.Release release = config.effectiveRelease();
    boolean forEver = kind == TimestampStore.MEMORY;
    byEpoch = release == TimestampConfig.Release.EPOCH && !forEver;
    byReference = release != TimestampConfig.Release.EPOCH && !forEver;
    table = new TimestampTable(config.firstBytes(), config.budgetBytes(), config.wideBits());
    coldTimestamps = new ColdTimestamps(config, pages);
    epochs = new Epochs(maxContexts);
    entries = new Entries(table, coldTimestamps, epochs, kind, byEpoch);
    boolean immediate = release == TimestampConfig.Release.IMMEDIATE && !forEver;
    pins = new Pins(kind, table, coldTimestamps, epochs, entries, byEpoch, immediate);
    sizer = new SketchSizer(config.sketchColumns(), config.sketchColumnsMax());
    contexts = new TimestampContext[maxContexts];
    for (int i = 0; i < maxContexts; i++) {
      contexts[i] = new TimestampContext(i);
      contexts[i].sweepColumn = (int) ((long) i * table.columns() / maxContexts);
    }
  }

  /** Says what a thread does that waits for a lock of the table for long. */
  void whileWaiting(Runnable look) {
    table.whileWaiting(look);
  }

  // ---------------------------------------------------------------- a transaction's begin and end

  /** Begins a transaction's use. To be called before its first pin, by the thread that runs it. */
  public void enter(int ctx) {
    TimestampContext c = contexts[ctx];
    assert !c.entered : "context " + ctx + " was entered twice";
    c.entered = true;
    c.counts = byReference;
    c.epoch = byEpoch ? epochs.enter(ctx) : byReference ? Pins.COUNTING : Pins.FOR_EVER;
    c.approximateBefore = c.approximate;
  }

  /**
   * Has a transaction count references from its begin on: it holds nobody back, and is never
   * expelled. After {@link #enter}, before the first pin.
   */
  public void enterForLong(int ctx) {
    TimestampContext c = contexts[ctx];
    if (byEpoch && !c.counts) {
      pins.convert(c);
    }
  }

  /**
   * Ends a transaction's use: its slots may go to other items. To be called after it has unlocked
   * what it had locked, and before it waits for its commit to be durable.
   */
  public void exit(int ctx) {
    TimestampContext c = contexts[ctx];
    assert c.entered : "context " + ctx + " left without having entered";
    table.recover(c);
    if (c.counts) {
      pins.dropPins(c);
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
    if (pins.turns()) {
      epochs.advance(epochs.now());
    }
    if (exits % EXITS_PER_SIZING == 0 && sizer.adapts() && kind == TimestampStore.FOCUS_SKETCH) {
      size();
    }
  }

  /**
   * Gives the sketch the size that its telemetry asks for; a thread that comes while another does
   * goes.
   */
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
        doubtful += c.suspectedFalseConflicts;
        released += c.released;
      }
      Sketch sketch = coldTimestamps.sketch();
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
    coldTimestamps.sketch().resize(columns, table::quiesce);
    resizes++;
  }

  /**
   * Says that the transaction of a context is being aborted because another one's change conflicts
   * with it. Only the size of the sketch depends on it. Between enter and exit, once.
   */
  public void conflict(int ctx) {
    TimestampContext c = contexts[ctx];
    if (c.approximate != c.approximateBefore) {
      c.suspectedFalseConflicts++;
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
   * The slot of an item's entry in the exact table. It belongs to the item until {@link #exit}.
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
    int slot = table.firstSlot(item);
    // As in hold, without the first look at the item: nearly always this is the slot.
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & Entries.EPOCH_MASK) >= c.epoch && table.item(slot) == item) {
      c.remember(slot);
      return slot;
    }
    return pins.pinBesides(c, slot, item);
  }

  /**
   * Whether an item is not locked, by a look that makes no entry and keeps none. For who reads one
   * item and nothing else ({@link SingleReadFastPath}).
   *
   * <p>Entries of a column come and go under its lock, which moves its version. So with an equal
   * version before and after, and nobody in between, an entry that was found was the item's all the
   * time, and its word was the item's; and where none was found, none was there: a lock is a bit in
   * an entry, and no entry goes that is locked, be its holder at work or broken ({@link
   * Entries#release}). The version's load acquires, so what is looked at is not older; the fence
   * keeps all of it before the second look.
   *
   * @param item not 0
   * @return false also where that can't be told so: then it has to be pinned
   */
  boolean unlocked(long item) {
    int column = table.column(item);
    long version = table.version(column);
    long header = table.header(column);
    if (version < 0 || TimestampTable.spilled(header) || TimestampTable.reach(header) != 0) {
      return false;
    }
    int first = table.firstSlot(item);
    boolean locked = false;
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.item(first ^ i) == item) {
        locked = TidWord.isLocked(table.word(first ^ i));
        break;
      }
    }
    VarHandle.acquireFence();
    return !locked && table.version(column) == version;
  }

  /**
   * Loads what {@link #pin} will look at. Loads for several items wait for memory together, where
   * pins one after the other wait one after the other, for each has an atomic instruction. Changes
   * nothing, and says nothing about the item.
   *
   * @param item not 0
   * @return anything; to be kept somewhere, so that the loads are made
   */
  long load(long item) {
    return table.load(item);
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
        table.addStamp(slot, -Entries.REFERENCE);
      }
    }
  }

  /** Whether {@link #enter} was called and {@link #exit} has not done its work. */
  boolean entered(int ctx) {
    return contexts[ctx].entered;
  }

  // ---------------------------------------------------------------- an entry in use

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
      if (TidWord.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, TidWord.withLock(word))) {
        return true;
      }
    }
  }

  /** Unlocks an item that the caller has locked; nothing was written, the timestamps stay. */
  public void unlock(int slot) {
    long word = table.word(slot);
    assert TidWord.isLocked(word) || table.closed() : "slot " + slot + " is not locked";
    table.wordRelease(slot, TidWord.withoutLock(word));
  }

  /**
   * Gives an item that the caller has locked the timestamps (commitTs, commitTs) and unlocks it.
   * Partner of the read of the word: a thread that sees the new wts sees what was installed before.
   */
  public void publish(int slot, long commitTs) {
    assert TidWord.isLocked(table.word(slot)) && commitTs > TidWord.rts(table.word(slot))
            || table.closed()
        : "publication of " + commitTs + " over " + TidWord.toString(table.word(slot));
    table.wordRelease(slot, TidWord.pack(commitTs, commitTs));
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
   *   <li>if its rts is {@code commitTs} or later: any thread that writes next, be it one who has
   *       it locked now, does so at rts + 1 or later.
   *   <li>if another has locked it: that one may have taken the rts that is there now to choose its
   *       own timestamp, so raising it would be too late. Conflict.
   *   <li>else the rts is raised by CAS, which fails if it is locked meanwhile.
   * </ul>
   *
   * <p><b>When the distance overflows.</b> rts - wts does not fit into 15 bits: then {@link
   * TidWord#extended} raises wts as well, by a multiple of 2^15. Let the word be (w, r), unlocked,
   * and become (w', c). As r - w &lt; 2^15 and w' - w is a multiple of 2^15 and not 0, w' &gt; r.
   * So this is what a transaction D does that writes, at w' &gt; r, the very value that is there: a
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
    if (TidWord.rts(seen) >= commitTs) {
      return true;
    }
    while (true) {
      long word = table.word(slot);
      if (TidWord.wts(word) != TidWord.wts(seen)) {
        return false;
      }
      if (lockedByMe || TidWord.rts(word) >= commitTs) {
        return true;
      }
      if (TidWord.isLocked(word)) {
        return false;
      }
      if (table.casWord(slot, word, TidWord.extended(word, commitTs))) {
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
      doubtful += c.suspectedFalseConflicts;
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
        coldTimestamps.reads(),
        coldTimestamps.writes(),
        epochs.now(),
        coldTimestamps.sketchBytes(),
        table.bytes() + coldTimestamps.bytes());
  }

  /** Where the timestamps of items out of use are. */
  public TimestampStore kind() {
    return kind;
  }

  /** How many columns the sketch has now. */
  int columns() {
    return coldTimestamps.sketch().columns();
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

  /** Gives the memory back. No transaction may begin; one that ends later reads zeros. */
  public void close() {
    table.close();
    coldTimestamps.close();
  }
}
