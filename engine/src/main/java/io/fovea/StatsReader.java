package io.fovea;

import io.fovea.DatabaseStats.Buffer;
import io.fovea.DatabaseStats.Checkpoints;
import io.fovea.DatabaseStats.Descents;
import io.fovea.DatabaseStats.Device;
import io.fovea.DatabaseStats.ExpiredRows;
import io.fovea.DatabaseStats.Health;
import io.fovea.DatabaseStats.HintedLookups;
import io.fovea.DatabaseStats.Loads;
import io.fovea.DatabaseStats.Log;
import io.fovea.DatabaseStats.Memory;
import io.fovea.DatabaseStats.Recovery;
import io.fovea.DatabaseStats.Snapshots;
import io.fovea.DatabaseStats.Storage;
import io.fovea.DatabaseStats.Timestamps;
import io.fovea.btree.HintedLeaf;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.PoolStats;
import io.fovea.catalog.Expirations;
import io.fovea.catalog.LoadCounters;
import io.fovea.catalog.Schema;
import io.fovea.copies.PageCopies;
import io.fovea.error.AbortCause;
import io.fovea.io.IoOp;
import io.fovea.io.IoStats;
import io.fovea.recovery.Checkpointer;
import io.fovea.recovery.RecoveryReport;
import io.fovea.store.Store;
import io.fovea.txn.HintCounters;
import io.fovea.txn.TimestampStats;
import io.fovea.txn.TxStats;
import io.fovea.wal.LogStats;
import java.util.EnumMap;
import java.util.Map;

/** Puts the {@link DatabaseStats} together from what each room has counted. Any thread. */
final class StatsReader {
  private StatsReader() {}

  static DatabaseStats of(Options options, Store store, Schema schema, long retries) {
    TxStats tx = store.engine().stats();
    PoolStats pool = store.pool().stats();
    IoStats io = store.device().stats();
    AllocatorState allocator = store.pool().allocatorState();
    Map<AbortCause, Long> aborts = new EnumMap<>(AbortCause.class);
    for (AbortCause c : AbortCause.values()) {
      aborts.put(c, tx.aborts()[c.ordinal()]);
    }
    int pageSize = options.device().pageSize();
    Descents descents = descents(options, tx, pool);
    long hits = Math.max(0, tx.pageAccesses() - pool.misses());
    long hinted = Math.clamp(descents.stepsByHint() + tx.placesTried() - tx.placesStale(), 0, hits);
    TimestampStats timestamps = store.engine().timestamps().stats();
    return new DatabaseStats(
        tx.commits(),
        tx.rollbacks(),
        aborts,
        retries,
        store.engine().pessimistic(),
        store.engine().active(),
        store.engine().waiting(),
        store.engine().oldestAgeNanos(),
        tx.durationNanos(),
        options.experiments().protocol(),
        health(store),
        new Buffer(
            options.bufferBytes(),
            pool.bytes(),
            pageSize,
            pool.frames(),
            pool.framesFree(),
            pool.framesDirty(),
            hits,
            pool.misses(),
            hinted,
            Math.max(0, hits - hinted - pool.slowElsewhere()),
            pool.slowElsewhere(),
            pool.promotions(),
            pool.evictionsClean(),
            pool.evictionsDirty(),
            pool.frameWaits(),
            pool.frameWaitNanos(),
            pool.readFailures(),
            pool.unswizzled(),
            pool.unswizzlingsRefused()),
        descents,
        new Timestamps(
            timestamps.live(),
            timestamps.capacity(),
            timestamps.materialised(),
            timestamps.approximate(),
            timestamps.released(),
            timestamps.doubtful(),
            timestamps.sketchBytes(),
            timestamps.resizes(),
            timestamps.pageReads(),
            timestamps.pageWrites()),
        new Device(
            store.device().kind(),
            io.count(IoOp.READ),
            io.count(IoOp.WRITE),
            io.count(IoOp.SYNC),
            io.bytes(IoOp.READ),
            io.bytes(IoOp.WRITE),
            io.errors(IoOp.READ),
            io.errors(IoOp.WRITE),
            io.errors(IoOp.SYNC)),
        log(store, tx.durableWaitNanos()),
        checkpoints(store),
        recovery(store.recoveryReport()),
        new Storage(
            allocator.highWater() * pageSize,
            allocator.freePages() * pageSize,
            store.logFileBytes(),
            store.pool().checkpoint().space().pagesMoved() * pageSize,
            store.pool().checkpoint().space().pagesCut() * pageSize,
            store.pool().checkpoint().space().pagesPunched() * pageSize),
        memory(store, schema, pool, timestamps),
        snapshots(store.pool().copies()),
        hintedLookups(store.engine().hintCounters(), schema.repairsOff()),
        expiredRows(schema.expirations()),
        loads(schema, pageSize));
  }

  private static ExpiredRows expiredRows(Expirations e) {
    return new ExpiredRows(e.swept(), e.passed(), e.pieces(), e.failures(), e.lagMillis());
  }

  private static Loads loads(Schema schema, int pageSize) {
    LoadCounters c = schema.loadCounters();
    return new Loads(
        schema.loadsRunning(),
        c.records.sum(),
        c.indexed.sum(),
        c.pages.sum() * pageSize,
        c.runs.sum(),
        c.runBytes.sum());
  }

  private static Snapshots snapshots(PageCopies copies) {
    return new Snapshots(
        copies.snapshots(),
        copies.copied(),
        copies.memoryBytes(),
        copies.fileBytes(),
        copies.givenUp());
  }

  private static Health health(Store store) {
    if (store.hasStopped()) {
      return Health.STOPPED;
    }
    return store.canBeDurable() ? Health.OK : Health.DURABILITY_LOST;
  }

  private static Log log(Store store, long waitNanos) {
    LogStats l = store.logStats();
    Checkpointer.Stats c = store.checkpointStats();
    if (l == null || c == null) {
      return new Log(false, 0, 0, 0, 0, 0, 0, 0, 0);
    }
    return new Log(
        true,
        l.records(),
        l.bytes(),
        l.bytesWritten(),
        l.groups(),
        l.syncs(),
        l.waits(),
        waitNanos,
        c.redoBytes());
  }

  private static Checkpoints checkpoints(Store store) {
    Checkpointer.Stats c = store.checkpointStats();
    return c == null
        ? new Checkpoints(0, 0, 0, 0)
        : new Checkpoints(c.checkpoints(), c.failures(), c.nanos(), c.roomWaits());
  }

  private static Recovery recovery(RecoveryReport r) {
    return new Recovery(
        r.logBytes(),
        r.records(),
        r.images(),
        r.operations(),
        r.pagesRestored(),
        r.pagesReclaimed(),
        r.treesDropped(),
        r.nanos());
  }

  private static HintedLookups hintedLookups(HintCounters c, long repairsOff) {
    return new HintedLookups(
        c.lookups,
        c.hits,
        c.stale(HintedLeaf.UNSET),
        c.stale(HintedLeaf.NOT_RESIDENT),
        c.stale(HintedLeaf.FREED),
        c.stale(HintedLeaf.OTHER_TREE),
        c.stale(HintedLeaf.FENCES) + c.stale(HintedLeaf.DISTURBED),
        c.stale(HintedLeaf.FRAME),
        c.stale(HintedLeaf.SLOT),
        c.repairs[HintCounters.Repair.PAGE.ordinal()],
        c.repairs[HintCounters.Repair.FRAME.ordinal()],
        c.repairs[HintCounters.Repair.SLOT.ordinal()],
        c.repairs[HintCounters.Repair.LINE.ordinal()],
        c.missed,
        c.suppressed,
        repairsOff);
  }

  private static Descents descents(Options options, TxStats tx, PoolStats pool) {
    long slow = pool.hintsNone() + pool.hintsStale();
    return new Descents(
        tx.childSteps(),
        options.experiments().hints().frames() ? Math.max(0, tx.childSteps() - slow) : 0,
        pool.hintsNone(),
        pool.hintsStale(),
        pool.hintRepairs(),
        pool.hintRepairsGivenUp(),
        tx.placesTried(),
        tx.placesStale(),
        tx.remembered(),
        tx.rememberedRight());
  }

  private static Memory memory(
      Store store, Schema schema, PoolStats pool, TimestampStats timestamps) {
    return new Memory(
        pool.bytes(),
        store.bufferBytesMax(),
        timestamps.bytesLive(),
        timestamps.bytes(),
        store.logMemoryBytes(),
        store.transactionBytes(),
        schema.scratchBytes(),
        store.placeBytes(),
        store.placeBytesMax());
  }
}
