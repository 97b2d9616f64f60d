package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeVerifier;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolLog;
import io.fovea.config.Translation;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A pool in memory, some trees and an engine, with keys and values as strings. */
final class TxFixture implements AutoCloseable {
  final BufferPool pool;
  final TxEngine engine;
  final List<BTree> trees = new ArrayList<>();

  /** The store of timestamps that are not in memory, if configured. */
  private final Stores stores = new Stores();

  TxFixture(TxConfig config, int frames, int treeCount) {
    this(config, new MemoryDevice(), frames, treeCount, null);
  }

  TxFixture(TxConfig config, BlockDevice device, int frames, int treeCount, @Nullable Log log) {
    this(config, device, PoolConfig.ofFrames(4096, frames, Translation.PREDICTIVE), treeCount, log);
  }

  TxFixture(
      TxConfig config,
      BlockDevice device,
      PoolConfig poolConfig,
      int treeCount,
      @Nullable Log log) {
    this(config, device, poolConfig, treeCount, log, FaultInjection.NONE);
  }

  TxFixture(TxConfig config, int frames, int treeCount, FaultInjection faults) {
    this(
        config,
        new MemoryDevice(),
        PoolConfig.ofFrames(4096, frames, Translation.PREDICTIVE),
        treeCount,
        null,
        faults);
  }

  private TxFixture(
      TxConfig config,
      BlockDevice device,
      PoolConfig poolConfig,
      int treeCount,
      @Nullable Log log,
      FaultInjection faults) {
    pool =
        new BufferPool(
            device,
            poolConfig,
            AllocatorState.EMPTY,
            log == null ? PoolLog.NONE : PoolLog.of(log),
            null);
    boolean onDisk = config.timestamps().onDisk();
    TimestampPages pages = onDisk ? stores.pages(config.contexts()) : null;
    engine = faults.during(() -> new TxEngine(config, pool.pageSize(), log, check -> {}, pages));
    LogSession session = log == null ? LogSession.NONE : log.session();
    session.begin(0);
    for (int i = 0; i < treeCount; i++) {
      trees.add(BTree.create(pool, 10 + i, session));
    }
    session.end();
  }

  TxFixture() {
    this(Configs.contexts(32), 512, 2);
  }

  BTree tree() {
    return trees.get(0);
  }

  Tx begin() {
    return engine.begin(false, 0, false);
  }

  interface Body<R> {
    R run(Client c);
  }

  <R> R run(Body<R> body) {
    try (Attempts attempts = engine.attempts(16)) {
      while (true) {
        Tx tx = engine.begin(false, 0, attempts);
        long generation = tx.epoch();
        // After the commit the context may belong to another thread and must not be used.
        boolean over = false;
        try {
          R r = body.run(new Client(tx));
          boolean wrote = tx.hasWrites();
          over = true;
          engine.await(tx.commit(generation), wrote);
          return r;
        } catch (io.fovea.error.TransactionAbortedException e) {
          if (!e.retryable()) {
            throw e;
          }
        } catch (RuntimeException | AssertionError e) {
          // A doomed read may show an impossible state, which is not a failure.
          if (over || tx.readsValid()) {
            throw e;
          }
        } finally {
          if (!over) {
            tx.rollback(generation);
          }
        }
        attempts.backOff();
      }
    }
  }

  /** The memory for values that are read. */
  private static final ThreadLocal<MemorySegment> OUT =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(64 << 10, 8));

  static MemorySegment bytes(String s) {
    byte[] b = s.getBytes(StandardCharsets.UTF_8);
    MemorySegment m = Arena.ofAuto().allocate(Math.max(1, b.length), 8);
    MemorySegment.copy(b, 0, m, java.lang.foreign.ValueLayout.JAVA_BYTE, 0, b.length);
    return m;
  }

  static int length(String s) {
    return s.getBytes(StandardCharsets.UTF_8).length;
  }

  static String string(MemorySegment m, long offset, int length) {
    byte[] b = new byte[length];
    MemorySegment.copy(m, java.lang.foreign.ValueLayout.JAVA_BYTE, offset, b, 0, length);
    return new String(b, StandardCharsets.UTF_8);
  }

  /** A transaction with strings as keys and values. */
  static final class Client {
    final Tx tx;
    private final long generation;

    Client(Tx tx) {
      this.tx = tx;
      this.generation = tx.epoch();
    }

    long commit() {
      return tx.commit(generation);
    }

    /** Ignores an ended transaction. */
    void rollback() {
      if (tx.epoch() == generation) {
        tx.rollback(generation);
      }
    }

    @Nullable String get(BTree t, String key) {
      MemorySegment out = OUT.get();
      int n = tx.get(t, bytes(key), 0, length(key), out, 0, 64 << 10);
      return n < 0 ? null : string(out, 0, n);
    }

    /** Reads a key that will be changed. */
    @Nullable String getForUpdate(BTree t, String key) {
      tx.lockForUpdate(t, bytes(key), 0, length(key));
      return get(t, key);
    }

    /** Reads by {@link Tx#getAlone}. */
    @Nullable String alone(BTree t, String key) {
      MemorySegment out = OUT.get();
      int n = tx.getAlone(t, bytes(key), 0, length(key), out, 0, 64 << 10);
      return n < 0 ? null : string(out, 0, n);
    }

    void put(BTree t, String key, String value) {
      tx.put(t, bytes(key), 0, length(key), bytes(value), 0, length(value));
    }

    void insert(BTree t, String key, String value) {
      tx.insert(t, bytes(key), 0, length(key), bytes(value), 0, length(value));
    }

    boolean delete(BTree t, String key) {
      return tx.delete(t, bytes(key), 0, length(key));
    }

    void patch(BTree t, String key, int at, String value) {
      tx.patch(t, bytes(key), 0, length(key), -1, at, bytes(value), 0, length(value));
    }

    TxScan open(
        BTree t,
        @Nullable String low,
        boolean li,
        @Nullable String high,
        boolean hi,
        boolean desc) {
      return tx.scan(
          t,
          bytes(low == null ? "" : low),
          0,
          low == null ? -1 : length(low),
          li,
          bytes(high == null ? "" : high),
          0,
          high == null ? -1 : length(high),
          hi,
          desc);
    }

    List<String> scan(
        BTree t,
        @Nullable String low,
        boolean li,
        @Nullable String high,
        boolean hi,
        boolean desc) {
      TxScan s = open(t, low, li, high, hi, desc);
      List<String> out = new ArrayList<>();
      while (s.next()) {
        out.add(
            string(s.keySegment(), s.keyOffset(), s.keyLength())
                + "="
                + string(s.valueSegment(), s.valueOffset(), s.valueLength()));
      }
      s.close();
      return out;
    }

    List<String> all(BTree t) {
      return scan(t, null, true, null, true, false);
    }
  }

  void verify() {
    for (BTree t : trees) {
      TreeVerifier.verify(t);
    }
  }

  static String repeat(char c, int n) {
    char[] a = new char[n];
    Arrays.fill(a, c);
    return new String(a);
  }

  @Override
  public void close() {
    verify();
    engine.close();
    stores.close();
    pool.close();
  }
}
