package io.fovea.txn;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.support.Records;
import io.fovea.support.SimDisk;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.wal.Log;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogStart;
import io.fovea.wal.RecordType;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** A {@link TxFixture} with a log on a simulated disk, and access to its records. */
final class LoggedFixture implements AutoCloseable {
  static final UUID DATABASE = new UUID(1, 2);
  private static final LogConfig LOG = new LogConfig(1 << 20, 1 << 20, 5_000_000, 64 << 10);

  final SimDisk data;
  final SimDisk disk;
  final Log log;
  final TxFixture tx;
  final UnreliableDeviceState deviceState;
  private boolean closed;

  LoggedFixture(TxConfig config) {
    this(config, 512, LOG);
  }

  LoggedFixture(TxConfig config, int frames, LogConfig logConfig) {
    this(config, pool(4096, frames), logConfig, TestEnvironment.PLAIN.deviceState(0));
  }

  /** Uses the pool and devices of an environment; the log's device is unreliable, too. */
  LoggedFixture(TxConfig config, TestEnvironment environment, UnreliableDeviceState deviceState) {
    this(
        config,
        Records.with(
            pool(environment.pageSize(), environment.smallest() ? PoolConfig.FRAMES_MIN : 512),
            "frameHints",
            environment.hints()),
        LOG,
        deviceState);
  }

  private LoggedFixture(
      TxConfig config, PoolConfig pool, LogConfig logConfig, UnreliableDeviceState deviceState) {
    this.deviceState = deviceState;
    data = new SimDisk(1);
    disk = new SimDisk(2);
    deviceState.faults(false);
    log =
        Log.open(
            deviceState.withoutFaults(disk.device("log")),
            logConfig,
            new LogStart(DATABASE, 1, Log.FIRST_LSN, Log.FIRST_LSN));
    tx = new TxFixture(config, deviceState.on(data.device("data")), pool, 2, log);
    deviceState.faults(true);
  }

  private static PoolConfig pool(int pageSize, int frames) {
    return PoolConfig.ofFrames(pageSize, frames, Translation.PREDICTIVE);
  }

  static TxConfig config(Durability durability, int partBytes) {
    return Configs.contexts(16).with(durability, 8 * partBytes);
  }

  static LoggedFixture sync() {
    return new LoggedFixture(config(Durability.SYNC, 1 << 16));
  }

  record Op(int kind, int tree, String key, String value) {}

  record Logged(long start, long end, int parts, List<Op> ops, long adopted, long released) {}

  /** Makes everything durable and reads the log. */
  List<Logged> commits() {
    log.awaitDurable(log.tail());
    List<Logged> all = new ArrayList<>();
    CommitCursor c = new CommitCursor();
    List<List<Op>> parts = new ArrayList<>();
    List<Long> ids = new ArrayList<>();
    try (LogReader reader = LogReader.open(disk.device("log"), DATABASE, Log.FIRST_LSN)) {
      while (reader.next()) {
        int type = reader.type();
        if (type != RecordType.COMMIT && type != RecordType.COMMIT_PART) {
          continue;
        }
        c.open(type, reader.segment(), reader.body(), reader.bodyLength());
        List<Op> ops = new ArrayList<>();
        while (c.next()) {
          ops.add(op(c));
        }
        if (type == RecordType.COMMIT_PART) {
          long id = c.id() == 0 ? reader.start() : c.id();
          int at = ids.indexOf(id);
          if (at < 0) {
            ids.add(id);
            parts.add(ops);
          } else {
            parts.get(at).addAll(ops);
          }
          continue;
        }
        long start = reader.start();
        int at = ids.indexOf(c.id());
        int count = at < 0 ? 0 : 1;
        if (at >= 0) {
          start = ids.get(at);
          ops.addAll(0, parts.get(at));
        } else if (c.id() != 0) {
          throw new AssertionError("a commit without its parts: " + c.id());
        }
        all.add(new Logged(start, reader.end(), count, ops, c.adopted(), c.released()));
      }
    }
    return all;
  }

  private static Op op(CommitCursor c) {
    String key = TxFixture.string(c.segment(), c.keyOffset(), c.keyLength());
    String value =
        switch (c.kind()) {
          case CommitRecord.PUT -> TxFixture.string(c.segment(), c.valueOffset(), c.valueLength());
          case CommitRecord.PATCH ->
              c.patchAt() + ":" + TxFixture.string(c.segment(), c.valueOffset(), c.valueLength());
          case CommitRecord.CHAIN -> "chain of " + c.valueLength();
          default -> "";
        };
    return new Op(c.kind(), c.treeId(), key, value);
  }

  /** Pages that are neither free nor known from before. */
  long pagesUsed() {
    var state = tx.pool.allocatorState();
    return state.highWater() - state.freePages();
  }

  /** Simulates a crash: nothing is written from now on. */
  void crash() {
    closed = true;
    disk.letGo();
    log.abandon();
    tx.pool.abandon();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      disk.letGo();
      log.awaitDurable(log.tail());
      tx.close();
      log.close();
    }
  }
}
