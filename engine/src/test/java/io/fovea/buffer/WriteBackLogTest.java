package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.io.IoOp;
import io.fovea.io.MemoryDevice;
import io.fovea.support.Records;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pages wait for their log records to become durable, and still make progress. */
@Timeout(60)
class WriteBackLogTest {
  private final SimDisk logDisk = new SimDisk(1);
  private final TestDevice data = new TestDevice();
  private final Log log = PoolLogs.create(logDisk.device("log"));
  private final LogSession session = log.session();

  /** A pool on a device that checks that no page is newer than the durable log. */
  private BufferPool open(PoolConfig config, PoolLog of) {
    data.beforeBatch =
        batch -> {
          for (int i = 0; i < batch.size(); i++) {
            for (int at = 0; at < batch.length(i); at += 4096) {
              long lsn = PageHeader.pageLsn(batch.segment(i), batch.segmentOffset(i) + at);
              assertTrue(lsn <= log.durableLsn(), lsn + " is written, " + log.durableLsn());
            }
          }
        };
    return new BufferPool(data, config, AllocatorState.EMPTY, of, null);
  }

  private BufferPool open() {
    return open(PoolLogs.config(), PoolLog.of(log));
  }

  /** Only the pool, which needs frames, asks the log for durability. */
  @Test
  void aMissGetsAFrameThoughTheLogIsIdle() {
    BufferPool pool = open();
    List<Long> pids = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      pids.add(PoolLogs.page(pool, session));
    }
    assertTrue(pool.stats().evictionsDirty() > 0);
    for (long pid : pids) {
      assertEquals(pid, Pools.word(pool, pid));
    }
    pool.close();
    log.close();
    assertEquals(0, data.overlaps.get());
  }

  /** While all dirty pages wait for the log, the writer waits too, and asks only rarely. */
  @Test
  void theWriterDoesNotSpin() {
    AtomicLong asked = new AtomicLong();
    AtomicLong durable = new AtomicLong();
    PoolLog slow =
        new PoolLog() {
          @Override
          public long durableLsn() {
            return durable.get();
          }

          @Override
          public void awaitDurable(long lsn) {
            asked.incrementAndGet();
          }
        };
    BufferPool pool = open(Records.with(PoolLogs.config(), "exhaustedMillis", 500L), slow);
    assertThrows(
        PoolExhaustedException.class,
        () -> {
          for (int i = 0; i < 600; i++) {
            PoolLogs.page(pool, session);
          }
        });
    assertEquals(0, data.writes.get());
    assertTrue(asked.get() > 0);
    // 500 ms with a back-off of up to 6.4 ms: a spinning writer would ask tens of thousands of
    // times.
    assertTrue(asked.get() < 2_000, "asked " + asked);
    log.awaitDurable(log.tail());
    durable.set(log.durableLsn());
    for (int i = 0; i < 50; i++) {
      PoolLogs.page(pool, session);
      log.awaitDurable(session.recordEnd());
      durable.set(log.durableLsn());
    }
    pool.close();
    log.close();
  }

  /** A page that changes constantly is always newer than the durable log. */
  @Test
  void hotPageDoesNotHoldBackTheRedoPoint() throws Exception {
    BufferPool pool = open();
    final long hot = PoolLogs.page(pool, session);
    AtomicBoolean stop = new AtomicBoolean();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    LogSession changing = log.session();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    for (long i = 0; !stop.get(); i++) {
                      PoolLogs.setWord(pool, changing, hot, i);
                    }
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    try {
      for (int i = 0; i < 20; i++) {
        long target = log.tail();
        pool.checkpoint().flushOlder(target);
        assertTrue(pool.checkpoint().minRecLsn() >= target, "redo would begin at " + target);
        log.recycleBelow(target);
      }
    } finally {
      stop.set(true);
      thread.join();
    }
    assertEquals(null, failure.get());
    pool.close();
    log.close();
    assertEquals(0, data.overlaps.get());
  }

  @Test
  void flushOlderWritesOnlyOlderPages() {
    BufferPool pool =
        open(Records.with(PoolLogs.config(), "exhaustedMillis", 200L), PoolLog.of(log));
    List<Long> pids = new ArrayList<>();
    List<Long> starts = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      starts.add(log.tail());
      pids.add(PoolLogs.page(pool, session));
    }
    long writes = data.writes.get();
    assertEquals(starts.getFirst(), pool.checkpoint().minRecLsn());
    pool.checkpoint().flushOlder(starts.get(15));
    assertEquals(writes + 15, data.writes.get());
    assertEquals(starts.get(15), pool.checkpoint().minRecLsn());
    assertEquals(0, data.syncs.get());
    pool.checkpoint().sync();
    assertEquals(1, data.syncs.get());
    // A page whose latch is held is skipped, and keeps its frame.
    int frame = pool.fixExclusive(pids.get(15));
    pool.checkpoint().flushOlder(starts.get(20));
    assertEquals(writes + 19, data.writes.get());
    assertEquals(starts.get(15), pool.checkpoint().minRecLsn());
    pool.releaseExclusiveUnchanged(frame);
    pool.checkpoint().flushOlder(starts.get(20));
    assertEquals(starts.get(20), pool.checkpoint().minRecLsn());
    pool.checkpoint().flushOlder(Long.MAX_VALUE);
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    pool.close();
    log.close();
  }

  /** The redo point stays at a page that is being written until the write has completed. */
  @Test
  void aWriteInFlightHoldsTheRedoPoint() {
    BufferPool pool = open();
    final long start = log.tail();
    final long pid = PoolLogs.page(pool, session);
    AtomicLong seen = new AtomicLong();
    AtomicLong recLsn = new AtomicLong();
    data.beforeWrite =
        () -> {
          recLsn.set(FrameHeader.recLsn(pool.frames.headers, Pools.where(pool, pid)));
          seen.set(pool.checkpoint().minRecLsn());
        };
    pool.checkpoint().flushOlder(Long.MAX_VALUE);
    assertEquals(0, recLsn.get());
    assertEquals(start, seen.get());
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    pool.close();
    log.close();
  }

  /** The redo point stays at a page whose write fails, whatever follows. */
  @Test
  void aFailedWriteHoldsTheRedoPoint() {
    BufferPool pool = open();
    final long start = log.tail();
    final long pid = PoolLogs.page(pool, session);
    data.writeFails = offset -> true;
    for (int i = 0; i < 3; i++) {
      assertThrows(StorageException.class, () -> pool.checkpoint().flushOlder(Long.MAX_VALUE));
      assertEquals(start, pool.checkpoint().minRecLsn());
      // Both words name it, for a scan that has already read the first one.
      int frame = Pools.where(pool, pid);
      assertEquals(start, FrameHeader.recLsn(pool.frames.headers, frame));
      assertEquals(start, FrameHeader.writingRecLsn(pool.frames.headers, frame));
      PoolLogs.setWord(pool, session, pid, i);
      assertEquals(start, pool.checkpoint().minRecLsn());
    }
    data.writeFails = offset -> false;
    pool.checkpoint().flushOlder(Long.MAX_VALUE);
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    pool.close();
    log.close();
  }

  /** Once durability is lost, durable pages may be written; newer ones never are. */
  @Test
  void afterDurabilityIsLostNothingNewerIsWritten() {
    BufferPool pool =
        open(Records.with(PoolLogs.config(), "exhaustedMillis", 300L), PoolLog.of(log));
    for (int i = 0; i < 20; i++) {
      PoolLogs.page(pool, session);
    }
    log.awaitDurable(log.tail());
    final long durable = log.durableLsn();
    logDisk.fail(SimFault.from(1).of(IoOp.SYNC));
    for (int i = 0; i < 20; i++) {
      PoolLogs.page(pool, session);
    }
    assertThrows(DurabilityLostException.class, () -> log.awaitDurable(log.tail()));
    assertThrows(DurabilityLostException.class, () -> pool.checkpoint().flushOlder(Long.MAX_VALUE));
    assertThrows(DurabilityLostException.class, pool::flushAll);
    // Durable pages are evicted; then there is no frame, and the exception names the cause.
    DurabilityLostException e =
        assertThrows(
            DurabilityLostException.class,
            () -> {
              for (long pid = 3; ; pid++) {
                int frame = pool.recovery().fixForImage(1000 + pid);
                pool.markDirty(frame, durable, durable + 8);
                pool.releaseExclusive(frame);
              }
            });
    assertTrue(e.getCause() instanceof DurabilityLostException, String.valueOf(e.getCause()));
    assertEquals(durable, log.durableLsn());
    assertThrows(DurabilityLostException.class, pool::close);
    log.close();
  }

  /** A page that is newer than the log belongs to another log. */
  @Test
  void aPageBeyondTheEndOfTheLogIsRefused() {
    BufferPool pool = open();
    final long a = PoolLogs.page(pool, session);
    final long b = PoolLogs.page(pool, session);
    final long end = session.recordEnd();
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    pool.abandon();
    log.close();
    PoolConfig config = PoolConfig.ofFrames(4096, Pools.FRAMES, Translation.PREDICTIVE);
    BufferPool again = new BufferPool(data, config, state, PoolLogs.upTo(end - 8), null);
    assertEquals(a, Pools.word(again, a));
    CorruptionException e = assertThrows(CorruptionException.class, () -> again.findSlow(b));
    assertEquals(b, e.pid());
    assertEquals(b * 4096 + PageHeader.PAGE_LSN, e.fileOffset());
    assertEquals(end - 8, e.expected());
    assertEquals(end, e.found());
    assertTrue(e.getMessage().contains("log was lost or replaced"), e.getMessage());
    assertThrows(
        CorruptionException.class, () -> again.recovery().fixForImage(b), "not damage to repair");
    again.abandon();
    BufferPool whole = new BufferPool(data, config, state, PoolLogs.upTo(end), null);
    assertEquals(b, Pools.word(whole, b));
    whole.abandon();
    // A recovery reads pages before it knows the end of the log.
    BufferPool early = new BufferPool(data, config, state);
    assertEquals(a, Pools.word(early, a));
    early.recovery().requireUpTo(end - 8);
    assertEquals(b, Pools.word(early, b));
    assertEquals(a, Pools.word(early, a));
    early.recovery().requireUpTo(end);
    CorruptionException late =
        assertThrows(CorruptionException.class, () -> early.recovery().requireUpTo(end - 8));
    assertEquals(b, late.pid());
    assertEquals(end, late.found());
    early.abandon();
  }

  /** A page that could not be synced is reported to the log, and commits fail. */
  @Test
  void aFailedSyncOfThePagesEndsTheLog() {
    SimDisk disk = new SimDisk(2);
    BufferPool pool = PoolLogs.open(disk.device("data"), log);
    PoolLogs.page(pool, session);
    pool.checkpoint().flushOlder(Long.MAX_VALUE);
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    assertThrows(StorageException.class, pool.checkpoint()::sync);
    assertThrows(DurabilityLostException.class, pool.checkpoint()::sync);
    assertThrows(DurabilityLostException.class, log::requireAlive);
    assertThrows(DurabilityLostException.class, () -> session.begin(64));
    pool.abandon();
    log.close();
  }

  @Test
  void withoutALogPagesAreWrittenFreely() {
    BufferPool pool = Pools.open(new MemoryDevice());
    long pid = Pools.page(pool);
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    pool.checkpoint().flushOlder(Long.MAX_VALUE);
    assertEquals(1, pool.stats().framesDirty());
    pool.flushAll();
    assertEquals(0, pool.stats().framesDirty());
    assertEquals(pid, Pools.word(pool, pid));
    pool.close();
  }
}
