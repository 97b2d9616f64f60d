package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.LeafRun;
import io.fovea.btree.Position;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Installs the changes of a commit in the trees, step (e) of {@link Commit}, which documents waits
 * and failures.
 *
 * <pre>
 *   an entry that appears, and all that {@link WriteSet#follower follow} it     runs of {@link LeafRun}
 *   a patch, and the next patches of records last seen in its page              runs
 *   another value                                                              a run of one
 *   a delete, a long value, a chain move                                       alone
 * </pre>
 *
 * <p><b>The order is free.</b> All keys are locked until everything is installed and published, and
 * the log contains the record of all changes. So neither a reader, which meets a lock, nor
 * recovery, which replays the record after all page images, depends on the order. Which changes
 * share a leaf is a hint; {@link LeafRun} checks it.
 */
final class CommitInstaller {
  private static final String READ = IoOp.READ.word();

  /** The first pause between two attempts, and how often it doubles. */
  private static final long PAUSE_NANOS = 50_000;

  private static final int PAUSE_DOUBLED_MAX = 8;

  private static final int READS_MAX = 32;

  /** The number of JVM errors for one entry that stops the engine, and the pause after each. */
  private static final int ERRORS_MAX = 8;

  private static final long ERROR_PAUSE_NANOS = 1_000_000;

  /** Used instead of an entry: the whole run. */
  private static final int RUN = -1;

  private final Workspace work;
  private final EngineHealth health;
  private final ReadSet reads;
  private final WriteSet writes;
  private final ConcurrencyControl concurrencyControl;
  private final LogSession session;
  private final CommitAppender appender;

  private final LeafRun run = new LeafRun();

  private final int[] entries = new int[LeafRun.CHANGES_MAX];

  /** Where the last change was made; {@linkplain WriteSet#follow following} entries come next. */
  private final Position inserted = new Position();

  CommitInstaller(
      TxLife life,
      Workspace work,
      ConcurrencyControl concurrencyControl,
      CommitAppender appender,
      LogSession session) {
    this.work = work;
    this.health = life.health;
    this.reads = work.reads;
    this.writes = work.writes;
    this.concurrencyControl = concurrencyControl;
    this.session = session;
    this.appender = appender;
  }

  void clear() {
    inserted.clear();
  }

  void all() {
    for (int e = 0, size = writes.size(); e < size; e++) {
      if (writes.kind(e) != WriteSet.NONE && !writes.follows(e)) {
        e = from(e);
      }
    }
  }

  /** Installs an entry with its run; returns the last entry of the sequence that it covers. */
  private int from(int e) {
    BTree tree = writes.tree(e);
    int last = e;
    run.begin(writes.scratch.segment());
    add(tree, e);
    if (writes.kind(e) == WriteSet.PATCH) {
      while (sharesPage(last, last + 1)) {
        add(tree, ++last);
      }
    } else {
      for (int f = writes.follower(e); f >= 0; f = writes.follower(f)) {
        add(tree, f);
      }
    }
    flush(tree);
    return last;
  }

  /** Returns whether two entries are patches of records that were seen in one page. */
  private boolean sharesPage(int e, int next) {
    if (next >= writes.size()
        || writes.kind(next) != WriteSet.PATCH
        || writes.tree(next) != writes.tree(e)
        || !work.keepsLocations) {
      return false;
    }
    int a = writes.handle(e);
    int b = writes.handle(next);
    return a >= 0 && b >= 0 && reads.pid(a) != 0 && reads.pid(a) == reads.pid(b);
  }

  /** Adds an entry to the run, or flushes the run and installs the entry alone. */
  private void add(BTree tree, int e) {
    byte kind = writes.kind(e);
    if (kind == WriteSet.DELETE || appender.isChain(e)) {
      flush(tree);
      installWithRetries(tree, e);
    } else if (kind == WriteSet.PATCH) {
      addPatches(tree, e);
    } else {
      flushIfFull(tree);
      entries[run.size()] = e;
      run.value(
          writes.keyOffset(e), writes.keyLength(e), writes.valueOffset(e), writes.valueLength(e));
    }
  }

  private void addPatches(BTree tree, int e) {
    int handle = writes.handle(e);
    int slot = work.keepsLocations && handle >= 0 ? reads.leafSlot(handle) : -1;
    for (int patch = writes.firstPatch(e); patch >= 0; patch = writes.nextPatch(patch)) {
      flushIfFull(tree);
      entries[run.size()] = e;
      run.patch(
          writes.keyOffset(e),
          writes.keyLength(e),
          slot,
          writes.patchAt(patch),
          patch + WriteSet.PATCH_HEADER,
          writes.patchLength(patch));
    }
  }

  private void flushIfFull(BTree tree) {
    if (run.isFull()) {
      flush(tree);
    }
  }

  private void flush(BTree tree) {
    if (run.size() > 0) {
      installWithRetries(tree, RUN);
      run.begin(writes.scratch.segment());
    }
  }

  private void installWithRetries(BTree tree, int e) {
    int unreadable = 0;
    int errors = 0;
    for (int attempt = 0; ; attempt++) {
      try {
        if (e == RUN) {
          installRun(tree);
        } else {
          install(tree, e);
        }
        return;
      } catch (PoolExhaustedException | StorageFullException lacking) {
        pause(attempt, lacking);
      } catch (StorageException unread) {
        if (!unread.operation().equals(READ) || ++unreadable == READS_MAX) {
          throw unread;
        }
        pause(attempt, unread);
      } catch (VirtualMachineError lacking) {
        // Out of memory or stack: while the pool runs, no change is incomplete.
        if (tree.pool().poolStop().stopped() != null || ++errors >= ERRORS_MAX) {
          throw lacking;
        }
        Waits.sleep(ERROR_PAUSE_NANOS);
      }
    }
  }

  /** Sleeps before another attempt; throws if the commit may no longer wait. */
  private void pause(int attempt, RuntimeException lacking) {
    health.requireWaits(lacking);
    Waits.sleep(PAUSE_NANOS << Math.min(attempt, PAUSE_DOUBLED_MAX));
  }

  private void installRun(BTree tree) {
    Position p = work.position;
    locationOf(entries[Math.min(run.done(), run.size() - 1)], p);
    if (!run.install(tree, p, session)) {
      throw new IllegalStateException("A validated record could not be patched.");
    }
    inserted.copyFrom(p);
    KeyLocationCache locations = tree.keyLocations();
    if (locations != null) {
      cacheLocation(locations, tree, p);
    }
  }

  /** Caches the locations of new keys in the run's last leaf. */
  private void cacheLocation(KeyLocationCache locations, BTree tree, Position p) {
    for (int i = run.firstOfLeaf(), n = run.size(); i < n; i++) {
      int e = entries[i];
      if (writes.existed(e) == WriteSet.ABSENT) {
        p.slot = run.slot(i);
        locations.cache(tree, writes.item(e), p);
      }
    }
  }

  private void locationOf(int e, Position p) {
    if (writes.follows(e)) {
      p.copyFrom(inserted);
      p.found = false; // the slot after that key, not the key
      p.slot++;
    } else {
      work.locationOf(e, p);
    }
  }

  private void install(BTree tree, int e) {
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    locationOf(e, p);
    int key = writes.keyOffset(e);
    int length = writes.keyLength(e);
    if (appender.isChain(e)) {
      tree.upsertChain(s, key, length, appender.first(e), appender.length(e), p, session);
    } else {
      tree.remove(s, key, length, true, p, session);
      p.slot--; // the next key moves to this slot
    }
    inserted.copyFrom(p);
  }
}
