package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.wal.Log;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStart;
import io.fovea.wal.RecordType;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Small logs for pools, and logged changes of pages. */
final class PoolLogs {
  static final UUID DATABASE = new UUID(1, 2);
  static final long OP_SPACE =
      AllocatorRecord.ALLOCATE_SPACE + LogSession.space(PageImages.HEADER + 4096) + 4096;

  /** Nothing is written before it is requested. */
  static final LogConfig IDLE = new LogConfig(256 << 10, 64 << 10, Long.MAX_VALUE / 4, 32 << 10);

  private PoolLogs() {}

  static Log create(BlockDevice device) {
    return Log.open(device, IDLE, new LogStart(DATABASE, 1, Log.FIRST_LSN, Log.FIRST_LSN));
  }

  static LogReader read(BlockDevice device) {
    return LogReader.open(device, DATABASE, Log.FIRST_LSN);
  }

  static PoolConfig config() {
    return Records.with(
        PoolConfig.ofFrames(4096, Pools.FRAMES, Translation.PREDICTIVE), "exhaustedMillis", 2_000L);
  }

  static BufferPool open(BlockDevice device, Log log) {
    return open(device, config(), log, null);
  }

  static BufferPool open(
      BlockDevice device, PoolConfig config, Log log, @Nullable DoubleWrite area) {
    return new BufferPool(device, config, AllocatorState.EMPTY, PoolLog.of(log), area);
  }

  /** A log that is durable up to a limit, which is also its end. */
  static PoolLog upTo(long limit) {
    return new PoolLog() {
      @Override
      public long durableLsn() {
        return Long.MAX_VALUE;
      }

      @Override
      public long lsnLimit() {
        return limit;
      }
    };
  }

  /** A new leaf, with its image in the log: a structure change of one page. */
  static long page(BufferPool pool, LogSession log) {
    log.begin(OP_SPACE);
    try {
      int frame = pool.allocate(1, PageHeader.LEAF, log);
      long pid = pool.pid(frame);
      Mem.putLong(pool.pages(), pool.base(frame) + Pools.WORD, pid);
      logImage(pool, frame, log);
      pool.releaseExclusive(frame);
      return pid;
    } finally {
      log.end();
    }
  }

  /** Changes a page, with its image in the log. */
  static void setWord(BufferPool pool, LogSession log, long pid, long value) {
    log.begin(OP_SPACE);
    try {
      int frame = pool.fixExclusive(pid);
      Mem.putLong(pool.pages(), pool.base(frame) + Pools.WORD, value);
      logImage(pool, frame, log);
      pool.releaseExclusive(frame);
    } finally {
      log.end();
    }
  }

  /** Logs the first 64 bytes and the last 8 of a page. */
  private static void logImage(BufferPool pool, int frame, LogSession log) {
    long base = pool.base(frame);
    int to = pool.pageSize() - 8;
    long at = log.reserve(RecordType.STRUCTURE, PageImages.bytes(pool.pageSize(), 64, to));
    PageImages.put(log.buffer(), at, pool.pid(frame), pool.pages(), base, pool.pageSize(), 64, to);
    log.complete();
    pool.markDirty(frame, log.recordStart(), log.recordEnd());
  }

  static void free(BufferPool pool, LogSession log, long pid) {
    log.begin(AllocatorRecord.FREE_SPACE);
    try {
      pool.free(pool.fixExclusive(pid), log);
    } finally {
      log.end();
    }
  }
}
