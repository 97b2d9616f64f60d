package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeCounts;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.SnapshotDevice;
import io.fovea.changes.ChangePoint;
import io.fovea.config.Durability;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.copies.CopyLimits;
import io.fovea.copies.PageCopies;
import io.fovea.copies.PageSnapshot;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.io.Storage;
import io.fovea.memory.Threads;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Recovery;
import io.fovea.recovery.Superblock;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TxConfig;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Opens and closes snapshots: separate stores over the pages at one point in time.
 *
 * <pre>
 *   the store            its pool ──────────┬──► its device
 *                          ▲                │
 *                     copies of pages   SnapshotDevice        the page at the time of the snapshot
 *                          └────────────────┤
 *   the snapshot         a small pool ──────┘   a catalog, transactions that can't conflict
 * </pre>
 *
 * <p>A snapshot is taken at a quiescent point ({@link io.fovea.txn.TxEngine#atQuiescentPoint})
 * while the schema does not change. Its transactions use the same code as all others, but because
 * there are no writers, they need no concurrency control and keep no read set.
 *
 * <p>Thread-safe.
 */
public final class SnapshotOpening {
  /** The timeout for a quiescent point. */
  private static final Duration QUIESCE_TIMEOUT = Duration.ofSeconds(60);

  /** The number of location hints that a transaction of a snapshot keeps for its reads. */
  private static final int POSITION_HINTS = 4096;

  private static final long LITTLE_BYTES = 64 << 10;

  /** How long, in seconds, opening a snapshot may delay a close of its database. */
  private static final long READY_TIMEOUT_SECONDS = 60;

  private record CapturedState(
      PageSnapshot pages, int treeIds, long logEnd, RecoveredRowCounts counts) {}

  /** An open snapshot, whose device is created before its store. */
  private static final class Open {
    /** Until this latch opens, only the opening thread closes the snapshot. */
    private final CountDownLatch ready = new CountDownLatch(1);

    private volatile Runnable close = () -> {};

    /** Closes the snapshot once it is complete. An interrupt does not end the wait. */
    private void close() {
      boolean interrupted = false;
      try {
        while (true) {
          try {
            if (!ready.await(READY_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
              throw new TransactionAbortedException(
                  AbortCause.TIMEOUT, "A snapshot that is being opened keeps its database open.");
            }
            break;
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
      close.run();
    }
  }

  private final Store store;
  private final SnapshotConfig config;
  private final AtomicLong count = new AtomicLong();

  private final List<Open> open = new ArrayList<>();

  private volatile boolean closed;

  /** Creates an opener for a store. */
  public SnapshotOpening(Store store, SnapshotConfig config) {
    this.store = store;
    this.config = config;
  }

  /**
   * Opens the current state as a read-only store. A close of the database waits until {@code maker}
   * has returned.
   *
   * @param whileSchemaIsFrozen runs an action while the schema does not change
   * @param trees finds the trees in the catalog
   * @param maker returns the owner of the snapshot, or uses and closes the snapshot; closes it
   *     before throwing
   * @param close closes the owner and the snapshot when the database closes; the owner is
   *     referenced weakly, so that leaks are found
   * @return the result of {@code maker}
   * @throws io.fovea.error.TransactionAbortedException if there is no quiescent point in time
   */
  public <T> T open(
      Consumer<Runnable> whileSchemaIsFrozen,
      Recovery.Catalog trees,
      Function<Store, T> maker,
      Consumer<T> close) {
    Open mine = new Open();
    try {
      Store frozen = open(mine, whileSchemaIsFrozen, trees);
      T then = maker.apply(frozen);
      WeakReference<T> weak = new WeakReference<>(then);
      mine.close =
          () -> {
            T owner = weak.get();
            if (owner != null) {
              close.accept(owner);
            } else {
              frozen.discard();
            }
          };
      return then;
    } finally {
      mine.ready.countDown();
    }
  }

  private Store open(Open mine, Consumer<Runnable> whileSchemaIsFrozen, Recovery.Catalog trees) {
    store.requireOpen();
    StoreConfig how = config();
    BufferPool pool = store.pool();
    PageCopies copies = pool.copies();
    try {
      copies.prepare(limits());
    } catch (Threads.Refused e) {
      throw Opening.refused(store.name(), e);
    }
    long tables = store.tablesLsn(); // before the quiescent point, because this may write
    CapturedState captured = capture(whileSchemaIsFrozen, pool, copies);
    boolean done = false;
    try {
      if (store.storeComponents().config().transactions().durability() == Durability.SYNC) {
        store.awaitDurable(captured.logEnd);
      }
      PageSnapshot pages = captured.pages;
      SnapshotDevice device =
          new SnapshotDevice(how.name(), pool, store.device(), pages, () -> remove(mine));
      Superblock superblock =
          store.complete().with(true, captured.treeIds, new AllocatorState(pages.pidLimit(), 0, 0));
      Store frozen = Opening.snapshot(device, superblock, how, trees, captured.counts);
      if (tables > 0) {
        ChangePoint point = new ChangePoint(store.id(), tables, captured.logEnd);
        frozen.changesFrom(
            () -> {
              store.awaitDurable(point.lsn());
              return point;
            });
      }
      done = add(mine);
      if (!done) {
        frozen.discard();
        throw store.closedException();
      }
      return frozen;
    } finally {
      if (!done) {
        copies.close(captured.pages);
      }
    }
  }

  private CapturedState capture(
      Consumer<Runnable> whileSchemaIsFrozen, BufferPool pool, PageCopies copies) {
    CapturedState[] captured = new CapturedState[1];
    whileSchemaIsFrozen.accept(
        () -> {
          store.requireOpen();
          store
              .engine()
              .atQuiescentPoint(
                  () -> {
                    Journal journal = store.journal();
                    captured[0] =
                        new CapturedState(
                            copies.open(pool.pidLimit()),
                            store.storeComponents().treeIds().get(),
                            journal == null ? 0 : journal.log().tail(),
                            counts());
                  },
                  QUIESCE_TIMEOUT.toNanos());
        });
    return captured[0];
  }

  /** Returns the counts, which are consistent because no commit is inside the gate. */
  private RecoveredRowCounts counts() {
    RecoveredRowCounts counts = new RecoveredRowCounts();
    for (BTree tree : store.counted()) {
      TreeCounts c = tree.counts();
      if (c.isKnown()) {
        counts.put(tree.treeId(), c.records(), c.bytes());
      } else {
        counts.since(tree.treeId(), c.records(), c.bytes());
      }
    }
    return counts;
  }

  private StoreConfig config() {
    StoreConfig of = store.storeComponents().config();
    PoolConfig pool = of.pool();
    return new StoreConfig(
        store.name() + "@" + count.incrementAndGet(),
        false,
        true,
        of.devices(),
        false,
        of.log(),
        of.checkpointNanos(),
        of.quietNanos(),
        PoolConfig.of(
            pool.pageSize(),
            config.bufferBytes(),
            Translation.PREDICTIVE,
            Replacement.SECOND_CHANCE,
            pool.maxInFlightReads()),
        false,
        0,
        of.locationCacheLayout(),
        of.transactions()
            .withoutWriters(
                LITTLE_BYTES,
                POSITION_HINTS,
                TimestampConfig.of(
                    TimestampStore.FOCUS_SKETCH,
                    TxConfig.DEFAULT.timestamps().release(),
                    TimestampConfig.activeTimestampBytes(TimestampStore.FOCUS_SKETCH),
                    TimestampConfig.activeTimestampBytes(TimestampStore.FOCUS_SKETCH),
                    LITTLE_BYTES,
                    LITTLE_BYTES)));
  }

  private CopyLimits limits() {
    Storage storage = store.storeComponents().storage();
    if (storage == null || store.isReadOnly()) {
      return CopyLimits.memory(config.memoryBytes());
    }
    return new CopyLimits(
        config.memoryBytes(),
        config.fileBytes(),
        () -> Companions.openTemporary(storage, Storage.SNAPSHOTS),
        () -> storage.delete(Storage.SNAPSHOTS));
  }

  private synchronized boolean add(Open frozen) {
    return !closed && open.add(frozen);
  }

  private synchronized void remove(Open of) {
    open.remove(of);
  }

  /** Throws if the store is closing; long-running makers call this regularly. */
  public void requireOpen() {
    if (closed) {
      throw store.closedException();
    }
  }

  /** Closes all snapshots and refuses new ones. */
  public void close() {
    List<Open> all;
    synchronized (this) {
      closed = true;
      all = List.copyOf(open);
    }
    Closing.all(all.size(), i -> all.get(i).close());
  }
}
