package io.fovea.crash;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Protocol;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.support.Records;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.Tx;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Rolls back transactions when no memory is left: everything fails from a given call site on, a
 * later one each time. The context's next transaction only reads, and must not commit any of their
 * writes. Loaded by {@link ErrorWeaver}.
 */
public final class EndErrors implements Supplier<String> {
  private static final long WRITTEN = 1L << 40;
  private static final long READ = 2L << 40;

  private final Protocol protocol;
  private final int records;
  private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
  private final MemorySegment out = Arena.ofAuto().allocate(8, 8);

  /**
   * Takes the name of a {@link Protocol} and how many records each transaction writes and reads.
   */
  public EndErrors(String arguments) {
    String[] a = arguments.split(" ");
    this.protocol = Protocol.valueOf(a[0]);
    this.records = Integer.parseInt(a[1]);
  }

  @Override
  public String get() {
    TxConfig config =
        Records.with(
            TxConfig.DEFAULT,
            "contexts",
            1,
            "scratchBytesMax",
            16L << 20,
            "itemsMax",
            4 * records + 100,
            "timestamps",
            TimestampConfig.sketch(16 << 10, 8 << 20, 2, 2048, TimestampConfig.Release.EPOCH),
            "protocol",
            protocol);
    PoolConfig pages = PoolConfig.ofFrames(4096, 1024, Translation.PREDICTIVE);
    try (BufferPool pool = new BufferPool(new MemoryDevice(), pages, AllocatorState.EMPTY)) {
      TxEngine engine = new TxEngine(config, 4096, null);
      try {
        BTree tree = BTree.create(pool, 10, LogSession.NONE);
        Tx first = engine.begin(false, 0, null);
        put(first, tree, READ, 7);
        first.commit(first.epoch());
        int after = 0;
        while (round(engine, tree, after)) {
          after++;
        }
        return Integer.toString(after);
      } finally {
        engine.close();
      }
    }
  }

  private boolean round(TxEngine engine, BTree tree, int after) {
    Tx tx = engine.begin(false, 0, null);
    for (int i = 0; i < records; i++) {
      put(tx, tree, WRITTEN + i, after);
      get(tx, tree, READ + i);
    }
    String hit = rollback(tx, after);
    for (int i = 0; i < 2; i++) {
      Tx next = engine.begin(false, 0, null);
      boolean known = get(next, tree, READ);
      boolean found = get(next, tree, WRITTEN);
      boolean writes = next.hasWrites();
      next.commit(next.epoch());
      if (!known || found || writes) {
        throw new AssertionError(
            protocol
                + ", errors from "
                + hit
                + " on: a transaction that was rolled back "
                + (writes ? "is committed by the next one" : "has changed the database"));
      }
    }
    if (engine.active() != 0) {
      throw new AssertionError("the context is lost, with errors from " + hit + " on");
    }
    return hit != null;
  }

  private static @Nullable String rollback(Tx tx, int after) {
    String hit;
    long generation = tx.epoch();
    ErrorProbe.armLasting(after);
    try {
      tx.rollback(generation);
    } catch (OutOfMemoryError e) {
      // the caller sees this error as well
    } finally {
      hit = ErrorProbe.disarm();
    }
    return hit;
  }

  private void put(Tx tx, BTree tree, long k, long value) {
    key.set(ValueLayout.JAVA_LONG, 0, k);
    out.set(ValueLayout.JAVA_LONG, 0, value);
    tx.put(tree, key, 0, 8, out, 0, 8);
  }

  private boolean get(Tx tx, BTree tree, long k) {
    key.set(ValueLayout.JAVA_LONG, 0, k);
    return tx.get(tree, key, 0, 8, out, 0, 8) >= 0;
  }
}
