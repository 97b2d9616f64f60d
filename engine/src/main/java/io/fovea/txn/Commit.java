package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.KeyBuffer;
import io.fovea.btree.PlaceTable;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.io.KillPoint;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The commit of one transaction, with next-key items: the order of steps, which is the same under
 * all protocols. What (a) to (d) and (f) do is {@link Control}'s; below it stands as TicToc has it.
 *
 * <pre>
 *      pages of the file, as many as splits may need    before any lock: this may wait, or refuse
 *      log space, and the redo point stays here
 *      pin the items of keys that were not read
 *  (a) lock the written items, in hash order            nobody else changes these keys or the gaps
 *  (b) for each key that appears or disappears:         below them from here on
 *        find the first installed key above, try-lock its item, look again
 *      pages of a long value move, in a transaction that does only that  {@link ChainMove}
 *      pass the gate: no snapshot begins from here on    {@link CommitGate}
 *  (c) commitTs = max(wts of every read, 1 + rts of every locked item, 1 + {@link ScanMarks} of the trees)
 *  (d) every read still has its wts; its rts is raised to commitTs, unless another holds the lock
 *      long values go to chains of new pages            nobody knows these
 *  (e) append to the log                                it has happened now, if this becomes durable
 *      install in the trees, and add to their counts    {@link CountDeltas}
 *  (f) every locked item := (commitTs, commitTs), unlocked
 *      leave the gate
 *      free the pages of old long values; the redo point may go on
 *      [wait until the record is durable: {@link TxEngine#await}, with nothing held]
 * </pre>
 *
 * <b>Order of locks.</b> Written items are waited for in the order of their hash, so that waiting
 * can't form a circle; successors come when those are held and are only tried. Every wait is
 * bounded all the same and ends in an abort, because successors do not keep the order.
 *
 * <p><b>Successors.</b> A key that appears splits a gap that belongs to the item of the first
 * installed key above it; one that disappears gives its gap to that item. Any transaction that
 * scanned the gap has read that item, so it must be locked and its timestamps must move. Between
 * finding a successor and locking it another commit may have installed a key in between: hence the
 * second look. Once the item is held and was still the successor after that, nobody can install a
 * key in the gap, for he would need the same item. Own keys that are not yet installed do not
 * count: all keys of one transaction in one gap have the same successor, and all of them are locked
 * themselves.
 *
 * <p><b>After the append nothing may fail.</b> So the pages that splits may need are promised
 * before it, and a full disk refuses the commit there ({@link CommitAppender}). What is lacking
 * afterwards all the same (a frame, while pages can't be written; space, where a split took more
 * than was foreseen) is waited for, asleep, with the locks held and without a limit: it comes back
 * when the device does. A change of a tree happens as a whole or not at all, so an attempt leaves
 * nothing. A page that can't be read is tried again some times: it was looked at before, and has
 * left the pool since.
 *
 * <p>What can't pass poisons the engine: a page that stays unreadable, the end of the log, a close
 * that does not wait any longer, any other failure. The locks stay as they are, so that nobody sees
 * half a transaction, and so does the session, so that no checkpoint leaves the record behind: what
 * is missing in the pages comes from the log when the database is opened again. Before the append
 * everything may fail, and then nothing has happened.
 *
 * <p><b>Locks before durability.</b> The locks go before the record is durable, so others may build
 * on what may yet be lost. They can't tell anybody: what they write has a record behind this one,
 * and what they only read they wait for as well (see {@link Tx#readLsn}).
 */
final class Commit {
  private static final String READ = IoOp.READ.word();

  /** Between two attempts to install an entry: the first pause, which doubles, and the longest. */
  private static final long PAUSE_NANOS = 50_000;

  private static final int PAUSE_DOUBLED_MAX = 8;

  /** How often a page of one entry is read in vain before the engine stops. */
  private static final int READS_MAX = 32;

  /** How often an entry meets an error of the JVM before the engine stops, and what it waits. */
  private static final int ERRORS_MAX = 8;

  private static final long ERROR_PAUSE_NANOS = 1_000_000;

  /** So many items are loaded ahead at a time. */
  private static final int LOADED_MAX = 32;

  /** How long a commit that changes the catalog waits for those that are being installed. */
  private static final long MOMENT_NANOS = 60_000_000_000L;

  private final TxLife life;
  private final Workspace work;
  private final EngineHealth health;
  private final ReadSet reads;
  private final WriteSet writes;
  private final Control control;
  private final LogSession session;
  private final CommitAppender appender;
  private final TxSwitches switches;
  private final CommitGate gate;
  private final CommitGate.Pass pass;
  private final CountDeltas counts;
  private final KeyBuffer successor;
  private boolean hasSuccessor;

  /** Whether what the last commit had is gone: false where an error has cut its end short. */
  private boolean clean = true;

  private long[] order = new long[64];

  /** What was loaded ahead means nothing. */
  private long seen;

  Commit(TxLife life, Workspace work, Control control, TxReads reader) {
    TxShared shared = life.shared;
    this.life = life;
    this.work = work;
    this.health = life.health;
    this.reads = work.reads;
    this.writes = work.writes;
    this.control = control;
    this.session = shared.session();
    this.counts = new CountDeltas(life.id);
    this.appender = new CommitAppender(life, work, reader, session, counts);
    this.switches = shared.switches;
    this.gate = shared.gate;
    this.pass = shared.gate.pass(life.id);
    this.successor = new KeyBuffer(shared.pageSize, shared.memory);
  }

  /**
   * Commits.
   *
   * @return up to where the log must be durable before anybody is told; 0: nothing to wait for
   */
  long run() {
    int n = orderWrites();
    CatalogPart catalog = changed(work.catalog);
    if (n == 0 && catalog == null) {
      // What is locked all the same was read under the lock: the dummy write protects it.
      control.publish(control.decide());
      return work.readLsn;
    }
    if (!clean) {
      clear();
    }
    clean = false;
    boolean failed = true;
    try {
      boolean first = control.pessimistic.waitsForBodies();
      if (!first) {
        appender.begin();
      }
      if (writes.pinsLater()) {
        pinWrites(n);
      }
      lockWrites(n);
      lockSuccessors();
      if (first) {
        appender.begin();
      }
      if (work.move != null) {
        move(work.move);
      }
      long commitTs = catalog == null ? decide() : decideAtMoment(catalog);
      gate.decided(pass, commitTs);
      switches.probe().at(TxSwitches.Stage.VALIDATED, control.locked);
      if (catalog != null) {
        catalog.decided();
      }
      if (control.versioned) {
        stageVersions();
      }
      if (catalog == null && !writesAnything()) {
        // What was decided under the locks is a read all the same: the dummy write protects it.
        control.publish(commitTs);
        failed = false;
        return work.readLsn;
      }
      counts.collect(writes, catalog);
      appender.stageLong();
      appender.ready();
      long end = appender.append();
      KillPoint.here("commit.appended");
      control.installing();
      installAll();
      if (catalog != null) {
        catalog.install(session);
      }
      KillPoint.here("commit.installed");
      switches.probe().at(TxSwitches.Stage.INSTALLED, control.locked);
      counts.apply(session.recordStart());
      control.publish(commitTs);
      gate.passed(pass);
      appender.release();
      failed = false;
      return end;
    } catch (Throwable t) {
      if (!appender.happened()) {
        control.release();
        undo(t);
        throw t;
      }
      health.poison(t, leavesPagesWhole(t));
      control.forget();
      if (session.logging()) {
        throw inDoubt(t);
      }
      throw t;
    } finally {
      try {
        if (!(failed && appender.happened())) {
          gate.passed(pass);
          session.end();
          appender.releasePages(false);
        }
      } finally {
        clear();
      }
    }
  }

  /** What is kept between commits becomes as new. */
  private void clear() {
    appender.clear();
    counts.clear();
    clean = true;
  }

  /** Moves the pages of a long value, but for the first, of which the commit is. */
  private void move(ChainMove how) {
    MemorySegment s = writes.scratch.segment();
    for (int e = 0; e < writes.size(); e++) {
      if (writes.kind(e) == WriteSet.MOVE
          && !how.rest(s, writes.keyOffset(e), writes.keyLength(e), work.position, session)) {
        writes.discard(e, WriteSet.NONE);
      }
    }
  }

  /** Nobody commits: gives back the pages that are kept for the next commit. */
  void releasePages() {
    appender.releasePages(true);
  }

  private void undo(Throwable t) {
    try {
      appender.undo();
    } catch (RuntimeException | Error e) {
      t.addSuppressed(e); // pages that nobody uses
    }
  }

  /** One that only looks for tables is nothing that a commit has to do. */
  static @Nullable CatalogPart changed(@Nullable CatalogPart catalog) {
    return catalog != null && catalog.changes() ? catalog : null;
  }

  private long decide() {
    changes();
    gate.enter(pass);
    return control.decide();
  }

  /** Says what will be changed, for scans by leaves. */
  private void changes() {
    if (life.shared.marks.watched()) {
      work.changed = writes.treeBits();
    }
    gate.changes(pass, work.changed);
  }

  /**
   * A commit that changes the catalog decides alone, with the gate closed: what has decided before
   * comes before it, what decides later comes behind it, and nothing is in between ({@link
   * CommitGate}).
   */
  private long decideAtMoment(CatalogPart catalog) {
    control.requireUsedThere();
    changes();
    catalog.deciding();
    long[] commitTs = new long[1];
    gate.atMoment(
        () -> {
          gate.enterAtMoment(pass);
          commitTs[0] = control.decide();
        },
        MOMENT_NANOS,
        life::checkDeadline);
    return commitTs[0];
  }

  /** Whether the transaction has happened, so that nothing may end it any more. */
  boolean happened() {
    return appender.happened();
  }

  /** Deletes of what is not there have been discarded. */
  private boolean writesAnything() {
    for (int e = 0, size = writes.size(); e < size; e++) {
      if (writes.kind(e) != WriteSet.NONE) {
        return true;
      }
    }
    return false;
  }

  private static DurabilityLostException inDoubt(Throwable t) {
    return new DurabilityLostException(
        "The commit is in the log, but its changes could not be put into the pages, so the database"
            + " stopped. The transaction has committed if its record is found when the database is"
            + " opened again.",
        t,
        true);
  }

  /**
   * Whether a failure came where no page is latched, as these do: then every page is as a whole
   * change has left it, and what the commit has not locked may still be read.
   */
  private static boolean leavesPagesWhole(Throwable t) {
    return t instanceof PoolExhaustedException
        || t instanceof StorageFullException
        || t instanceof StorageException
        || t instanceof DurabilityLostException
        || t instanceof DatabaseClosedException;
  }

  /** Sleeps before another attempt; throws where nobody waits any more. */
  private void pause(int attempt, RuntimeException lacking) {
    health.requireWaits(lacking);
    Waits.sleep(PAUSE_NANOS << Math.min(attempt, PAUSE_DOUBLED_MAX));
  }

  /** The entries that write anything, as (high bits of the item's hash, index), in order. */
  private int orderWrites() {
    int size = writes.size();
    if (size == 0) {
      return 0;
    }
    if (order.length < size) {
      order = new long[Math.max(size, order.length * 2)];
    }
    int n = 0;
    for (int e = 0; e < size; e++) {
      if (writes.kind(e) != WriteSet.NONE) {
        order[n++] = (writes.item(e) & ~INDEX_MASK) | e;
      }
    }
    Arrays.sort(order, 0, n);
    return n;
  }

  private static final long INDEX_MASK = TxConfig.ENTRIES_MAX - 1;

  private int entry(int i) {
    return (int) (order[i] & INDEX_MASK);
  }

  // ---------------------------------------------------------------- (a)

  /**
   * Pins the items of keys that were written and not read, before anything is locked: a pin may
   * wait for a moment. The lines of the next few are loaded ahead of their pins.
   */
  private void pinWrites(int n) {
    for (int from = 0; from < n; from += LOADED_MAX) {
      int to = Math.min(n, from + LOADED_MAX);
      for (int i = from; i < to; i++) {
        int e = entry(i);
        if (writes.slot(e) == Control.LATER) {
          seen += control.timestamps.load(writes.item(e));
        }
      }
      for (int i = from; i < to; i++) {
        int e = entry(i);
        if (writes.slot(e) == Control.LATER) {
          writes.slot(e, control.pinToLock(writes.item(e)));
        }
      }
    }
  }

  private void lockWrites(int n) {
    control.beginLocking();
    for (int i = 0; i < n; i++) {
      int e = entry(i);
      int slot = writes.slot(e);
      control.lockWrite(writes.item(e), slot);
      // A read that is stale already can't be saved; find that out before others wait for us.
      int handle = writes.handle(e);
      if (control.plain
          && !control.pessimistic.on()
          && handle >= 0
          && !switches.noValidation()
          && Word.wts(control.timestamps.word(slot)) != Word.wts(reads.word(handle))) {
        throw life.abort(AbortCause.VALIDATION, "a key that was read and written has changed");
      }
    }
  }

  // ---------------------------------------------------------------- (b)

  /** In the order of the writes, not of the hashes: keys that ascend share their successor. */
  private void lockSuccessors() {
    int last = -1;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (writes.kind(e) == WriteSet.NONE) {
        continue;
      }
      if (writes.kind(e) == WriteSet.MOVE) {
        continue; // no key appears or disappears
      }
      boolean exists = writes.kind(e) != WriteSet.DELETE;
      byte existed = writes.existed(e);
      if (exists && existed == WriteSet.PRESENT) {
        continue;
      }
      boolean covered = last >= 0 && inGapAbove(last, e);
      if (existed == WriteSet.UNKNOWN) {
        existed = covered ? decideAbsence(e) : decideExistence(e);
      }
      if (exists != (existed == WriteSet.PRESENT)) {
        if (covered) {
          follow(e);
        } else {
          lockSuccessor(e);
          last = e;
        }
      } else if (!exists) {
        writes.discard(e, WriteSet.NONE); // deletes what is not there
      }
    }
  }

  /**
   * Whether a key lies between one whose successor we hold and that successor. There was no
   * installed key in that gap when the lock was taken and none can have come since, for it would
   * need the same lock: so this key has the same successor, and is not there itself. Nothing is to
   * be looked for: neither the key nor, when it is installed, its leaf, which is that of the entry
   * before or the next one ({@link WriteSet#follow}).
   */
  private boolean inGapAbove(int lower, int e) {
    MemorySegment s = writes.scratch.segment();
    return writes.tree(e) == writes.tree(lower)
        && Mem.compare(
                s,
                writes.keyOffset(e),
                writes.keyLength(e),
                s,
                writes.keyOffset(lower),
                writes.keyLength(lower))
            > 0
        && (!hasSuccessor
            || Mem.compare(
                    s,
                    writes.keyOffset(e),
                    writes.keyLength(e),
                    successor.segment(),
                    0,
                    successor.length())
                < 0);
  }

  private void follow(int e) {
    if (work.placed) {
      writes.follow(e);
    }
  }

  /** A key in a gap that is empty, and stays so: we hold the item of its upper end. */
  private byte decideAbsence(int e) {
    writes.before(e, WriteSet.ABSENT);
    return WriteSet.ABSENT;
  }

  /** Under the item's lock: nobody else can make the key appear or disappear. */
  private byte decideExistence(int e) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    work.place(e, p);
    int attempt = 0;
    int length;
    while (true) {
      tree.locate(s, writes.keyOffset(e), writes.keyLength(e), p);
      length = p.found ? tree.valueLength(p) : WriteSet.ABSENT;
      if (tree.valid(p)) {
        break;
      }
      p.clear();
      life.pause(attempt++);
    }
    writes.before(e, length);
    writes.place(e, p);
    return writes.existed(e);
  }

  private void lockSuccessor(int e) {
    BTree tree = writes.tree(e);
    for (long held = 0; ; ) {
      long item = successor(tree, e);
      if (item == held) {
        if (control.versioned && hasSuccessor) {
          stageSuccessor(tree, item);
        }
        return;
      }
      switches.probe().at(TxSwitches.Stage.SUCCESSOR_FOUND, control.locked);
      if (isNextWrite(e, item) || !control.lockGap(item)) {
        return; // held since before the look: keys that follow each other share their successor
      }
      if (switches.oneLook()) {
        return;
      }
      held = item; // one that we hold too much is published like the rest: a dummy write
    }
  }

  /**
   * Whether an item is that of the next entry, which is locked since (a). It is so for each key of
   * a range that is deleted but the last: to find the item's place once more was a fifth of the
   * time.
   */
  private boolean isNextWrite(int e, long item) {
    int next = e + 1;
    return next < writes.size()
        && writes.item(next) == item
        && writes.kind(next) != WriteSet.NONE
        && control.locksWrites();
  }

  // ---------------------------------------------------------------- versions

  /** What the written records are now, for those who must go on seeing it. */
  private void stageVersions() {
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (control.locked.contains(writes.slot(e))) {
        BTree tree = writes.tree(e);
        int key = writes.keyOffset(e);
        int length = writes.keyLength(e);
        work.place(e, p);
        tree.locate(s, key, length, p);
        control.mvto.stage(tree, writes.item(e), writes.slot(e), s, key, length, p);
      }
    }
  }

  /** The record stays as it is, but its item gets new timestamps, for the gap below it. */
  private void stageSuccessor(BTree tree, long item) {
    Position p = work.position;
    MemorySegment s = successor.segment();
    int length = successor.length();
    tree.find(s, 0, length, p);
    control.mvto.stage(tree, item, control.pin(item), s, 0, length, p);
  }

  private long successor(BTree tree, int e) {
    Position p = work.position;
    work.place(e, p);
    hasSuccessor =
        tree.successor(
            writes.scratch.segment(), writes.keyOffset(e), writes.keyLength(e), p, successor);
    return hasSuccessor
        ? Items.of(tree, successor.segment(), 0, successor.length())
        : Items.atEnd(tree);
  }

  // ---------------------------------------------------------------- (e), (f)

  private void installAll() {
    for (int e = 0, size = writes.size(); e < size; e++) {
      if (writes.kind(e) == WriteSet.NONE) {
        continue;
      }
      int reads = 0;
      int errors = 0;
      for (int attempt = 0; ; attempt++) {
        try {
          switches.probe().at(TxSwitches.Stage.INSTALLING, control.locked);
          install(e);
          break;
        } catch (PoolExhaustedException | StorageFullException lacking) {
          pause(attempt, lacking);
        } catch (StorageException unread) {
          if (!unread.operation().equals(READ) || ++reads == READS_MAX) {
            throw unread;
          }
          pause(attempt, unread);
        } catch (VirtualMachineError lacking) {
          // No memory, or no stack: as long as the pool goes on, nothing was changed.
          if (writes.tree(e).pool().stopping().stopped() != null || ++errors >= ERRORS_MAX) {
            throw lacking;
          }
          Waits.sleep(ERROR_PAUSE_NANOS);
        }
      }
    }
  }

  private void install(int e) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    if (writes.follows(e)) {
      p.found = false; // not the key of the entry before, but the place behind it
    } else {
      work.place(e, p);
    }
    int key = writes.keyOffset(e);
    int length = writes.keyLength(e);
    byte kind = writes.kind(e);
    if (appender.isChain(e)) {
      tree.upsertChain(s, key, length, appender.first(e), appender.length(e), p, session);
    } else if (kind == WriteSet.DELETE) {
      tree.remove(s, key, length, true, p, session);
    } else if (kind == WriteSet.PATCH) {
      installPatches(e, tree, s, key, length, p);
    } else {
      tree.upsertInline(
          s, key, length, s, writes.valueOffset(e), writes.valueLength(e), p, session);
      PlaceTable places = tree.places();
      if (places != null && writes.existed(e) == WriteSet.ABSENT) {
        places.learn(tree, writes.item(e), p);
      }
    }
  }

  private void installPatches(int e, BTree tree, MemorySegment s, int key, int length, Position p) {
    for (int patch = writes.firstPatch(e); patch >= 0; patch = writes.nextPatch(patch)) {
      boolean done =
          tree.patch(
              s,
              key,
              length,
              writes.patchAt(patch),
              s,
              patch + WriteSet.PATCH_HEADER,
              writes.patchLength(patch),
              p,
              session);
      if (!done) {
        throw new IllegalStateException("A record that was validated can't be patched.");
      }
    }
  }
}
