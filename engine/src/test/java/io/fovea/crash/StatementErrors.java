package io.fovea.crash;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeVerifier;
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
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/**
 * Fails statements at each of their call sites, in transactions that catch the error, do one more
 * statement and commit. The failed statement must have no effect, and the others must be present.
 * Loaded by {@link ErrorWeaver}.
 */
public final class StatementErrors implements Supplier<String> {
  private enum Kind {
    PUT,
    PUT_AGAIN,
    PUT_LONGER,
    INSERT,
    INSERT_AGAIN,
    PATCH,
    PATCH_AGAIN,
    DELETE,
    DELETE_OWN
  }

  private static final long MOST = 64 << 10;

  /** As many entries as the initial capacity of a write set, so that it grows. */
  private static final int FULL = 32;

  private static final long WRITTEN = 1;
  private static final long OTHER = 2;
  private static final long FILL = 100;

  private final Protocol protocol;
  private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
  private final MemorySegment bytes = Arena.ofAuto().allocate(MOST, 8);

  /** Takes the name of a {@link Protocol}. */
  public StatementErrors(String protocol) {
    this.protocol = Protocol.valueOf(protocol);
  }

  @Override
  public String get() {
    PoolConfig pages = PoolConfig.ofFrames(4096, 1024, Translation.PREDICTIVE);
    try (BufferPool pool = new BufferPool(new MemoryDevice(), pages, AllocatorState.EMPTY)) {
      BTree tree = BTree.create(pool, 10, LogSession.NONE);
      StringBuilder report = new StringBuilder();
      for (Kind kind : Kind.values()) {
        int errors = 0;
        while (round(tree, kind, false, errors % 3)) {
          errors++;
        }
        while (round(tree, kind, true, errors % 3)) {
          errors++;
        }
        report.append(kind).append(' ').append(errors).append(' ');
      }
      return report.toString();
    }
  }

  /** Does one statement with an error, by an engine whose sets start small. */
  private boolean round(BTree tree, Kind kind, boolean full, int n) {
    TxConfig config =
        Records.with(
            TxConfig.DEFAULT,
            "contexts",
            1,
            "scratchBytesMax",
            16L << 20,
            "itemsMax",
            10_000,
            "timestamps",
            TimestampConfig.sketch(16 << 10, 1 << 20, 2, 2048, TimestampConfig.Release.EPOCH),
            "protocol",
            protocol);
    TxEngine engine = new TxEngine(config, 4096, null);
    try {
      return round(engine, tree, kind, full, n);
    } finally {
      engine.close();
    }
  }

  private boolean round(TxEngine engine, BTree tree, Kind kind, boolean full, int n) {
    Tx first = engine.begin(false, 0, null);
    first.delete(tree, key(WRITTEN), 0, 8);
    first.delete(tree, key(OTHER), 0, 8);
    for (int i = 0; i < FULL; i++) {
      first.delete(tree, key(FILL + i), 0, 8);
    }
    if (kind == Kind.PATCH || kind == Kind.PATCH_AGAIN || kind == Kind.DELETE) {
      put(first, tree, WRITTEN, 'a', 100);
    }
    first.commit(first.epoch());

    Tx tx = engine.begin(false, 0, null);
    int filled = full ? FULL : 0;
    String before = prepare(tx, tree, kind);
    if (!before.isEmpty()) {
      filled--;
    }
    for (int i = 0; i < filled; i++) {
      put(tx, tree, FILL + i, 'f', 30);
    }
    before = value(tx, tree, WRITTEN);
    Throwable thrown = null;
    ErrorProbe.arm(1, 0, true);
    try {
      statement(tx, tree, kind);
    } catch (Throwable t) {
      thrown = t;
    }
    String hit = ErrorProbe.disarm();
    if (thrown != null && thrown != ErrorProbe.thrown()) {
      throw new AssertionError(kind + " after an error before " + hit, thrown);
    }
    String now = value(tx, tree, WRITTEN);
    put(tx, tree, OTHER, 'o', 50 + n);
    String then = value(tx, tree, WRITTEN);
    tx.commit(tx.epoch());

    Tx last = engine.begin(false, 0, null);
    String after = value(last, tree, WRITTEN);
    boolean others = value(last, tree, OTHER).equals(fill('o', 50 + n));
    for (int i = 0; i < filled; i++) {
      others &= value(last, tree, FILL + i).equals(fill('f', 30));
    }
    last.rollback(last.epoch());
    String wanted = thrown == null ? result(kind, before) : before;
    if (!others || !now.equals(wanted) || !then.equals(wanted) || !after.equals(wanted)) {
      throw new AssertionError(
          String.join(
              ", ",
              protocol + " " + kind + (full ? ", full" : "") + ", error before " + hit,
              "others " + others,
              "before \"" + before + '"',
              "then \"" + now + '"',
              "then \"" + then + '"',
              "committed \"" + after + '"'));
    }
    TreeVerifier.verify(tree);
    return hit != null;
  }

  /** Writes the key first, depending on the kind; returns its value, or an empty string. */
  private String prepare(Tx tx, BTree tree, Kind kind) {
    switch (kind) {
      case PUT_AGAIN, PUT_LONGER, DELETE_OWN -> put(tx, tree, WRITTEN, 'b', 60);
      case INSERT_AGAIN -> {
        put(tx, tree, WRITTEN, 'b', 60);
        tx.delete(tree, key(WRITTEN), 0, 8);
      }
      case PATCH_AGAIN -> {
        fill('b', 10);
        tx.patch(tree, key(WRITTEN), 0, 8, -1, 20, bytes, 0, 10);
      }
      default -> {
        return "";
      }
    }
    return "something";
  }

  private void statement(Tx tx, BTree tree, Kind kind) {
    switch (kind) {
      case PUT -> put(tx, tree, WRITTEN, 'c', 30_000);
      case PUT_AGAIN -> put(tx, tree, WRITTEN, 'c', 40);
      case PUT_LONGER -> put(tx, tree, WRITTEN, 'c', 30_000);
      case INSERT, INSERT_AGAIN -> {
        fill('c', 70);
        tx.insert(tree, key(WRITTEN), 0, 8, bytes, 0, 70);
      }
      case PATCH, PATCH_AGAIN -> {
        fill('c', 10);
        tx.patch(tree, key(WRITTEN), 0, 8, -1, 40, bytes, 0, 10);
      }
      case DELETE, DELETE_OWN -> tx.delete(tree, key(WRITTEN), 0, 8);
    }
  }

  private String result(Kind kind, String before) {
    return switch (kind) {
      case PUT, PUT_LONGER -> fill('c', 30_000);
      case PUT_AGAIN -> fill('c', 40);
      case INSERT, INSERT_AGAIN -> fill('c', 70);
      case PATCH, PATCH_AGAIN -> before.substring(0, 40) + "c".repeat(10) + before.substring(50);
      case DELETE, DELETE_OWN -> "absent";
    };
  }

  private MemorySegment key(long k) {
    key.set(ValueLayout.JAVA_LONG, 0, k);
    return key;
  }

  private String fill(char c, int length) {
    bytes.asSlice(0, length).fill((byte) c);
    return String.valueOf(c).repeat(length);
  }

  private void put(Tx tx, BTree tree, long k, char c, int length) {
    fill(c, length);
    tx.put(tree, key(k), 0, 8, bytes, 0, length);
  }

  private String value(Tx tx, BTree tree, long k) {
    int n = tx.get(tree, key(k), 0, 8, bytes, 0, (int) MOST);
    return n < 0
        ? "absent"
        : new String(bytes.asSlice(0, n).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII);
  }
}
