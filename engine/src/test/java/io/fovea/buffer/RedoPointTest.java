package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.support.Records;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.wal.Log;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The log from a checkpoint's redo point on restores any state of the file. Threads change pages in
 * a pool that is too small for them, so pages are constantly written, evicted, loaded and moved.
 */
@Timeout(180)
class RedoPointTest {
  private static final int PAGES = 256;
  private static final int THREADS = 3;
  private static final int CHANGES = 1500;

  /** The start of recovery, and its initial state. */
  private record Superblock(long redoLsn, AllocatorSnapshot snapshot) {}

  private final SimDisk disk = new SimDisk(17);
  private final SimDisk logDisk = new SimDisk(18);
  private final AtomicReference<Superblock> superblock = new AtomicReference<>();

  private void checkpoint(BufferPool pool, Log log) {
    long tail = log.tail();
    pool.checkpoint().flushOlder(tail - 20_000);
    long redo = Math.min(tail, log.minActive());
    redo = Math.min(redo, pool.checkpoint().minRecLsn());
    AllocatorSnapshot snapshot = pool.checkpoint().snapshot(log, 0);
    log.awaitDurable(snapshot.lsn());
    pool.checkpoint().sync();
    superblock.set(new Superblock(redo, snapshot));
  }

  @Test
  void theLogFromTheRedoPointSuffices() throws Exception {
    Log log = PoolLogs.create(logDisk.device("log"));
    BufferPool pool =
        PoolLogs.open(
            disk.device("data"),
            Records.with(PoolLogs.config(), "exhaustedMillis", 20_000L),
            log,
            new DoubleWrite(disk.device("area"), 4096, 1));
    long[] pids = new long[PAGES];
    LogSession making = log.session();
    for (int i = 0; i < PAGES; i++) {
      pids[i] = PoolLogs.page(pool, making);
    }
    long[] words = pids.clone();
    AtomicInteger running = new AtomicInteger(THREADS - 1);
    AtomicInteger checkpoints = new AtomicInteger();
    PoolStressTest.inThreads(
        THREADS,
        t -> {
          if (t == 0) {
            do { // at least once, whatever the scheduling
              checkpoint(pool, log);
              checkpoints.incrementAndGet();
            } while (running.get() > 0);
            return;
          }
          try {
            change(pool, log.session(), pids, words, t);
          } finally {
            running.decrementAndGet();
          }
        });
    assertTrue(checkpoints.get() > 0);
    log.awaitDurable(log.tail());
    log.abandon();
    pool.abandon();
    for (int i = 0; i < 10; i++) {
      recover(pids, words, "after " + checkpoints + " checkpoints, crash " + i);
    }
  }

  private static void change(
      BufferPool pool, LogSession session, long[] pids, long[] words, int thread) {
    SplittableRandom random = new SplittableRandom(thread);
    for (int i = 0; i < CHANGES; i++) {
      // Each page belongs to one thread; a few are changed often, most rarely.
      int page = random.nextInt(random.nextInt(2) == 0 ? 8 : PAGES) / 2 * 2 + thread - 1;
      words[page] = random.nextLong();
      PoolLogs.setWord(pool, session, pids[page], words[page]);
    }
  }

  private void recover(long[] pids, long[] words, String message) {
    SimDisk after = disk.crash(SimCrash.RANDOM);
    SimDisk logAfter = logDisk.crash(SimCrash.LOSE_ALL);
    Superblock start = superblock.get();
    DoubleWrite.restore(after.device("area"), after.device("data"), 4096);
    BufferPool pool =
        new BufferPool(
            after.device("data"),
            PoolConfig.ofFrames(4096, Pools.FRAMES, Translation.PREDICTIVE),
            start.snapshot().state());
    try (LogReader reader =
        LogReader.open(logAfter.device("log"), PoolLogs.DATABASE, start.redoLsn())) {
      while (reader.next()) {
        if (reader.type() == RecordType.STRUCTURE) {
          long limit = reader.body() + reader.bodyLength();
          PageImages.apply(
              pool, reader.segment(), reader.body(), limit, reader.start(), reader.end());
        }
      }
    }
    for (int i = 0; i < PAGES; i++) {
      assertEquals(words[i], Pools.word(pool, pids[i]), message + ", page " + pids[i]);
    }
    pool.abandon();
  }
}
