package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.btree.Lookahead;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads values of any length as byte arrays, one or several at once, through the scratch memory of
 * a context. Confined to the thread whose transaction owns the context.
 */
public final class ByteReads extends GroupedReads {
  /** The maximum number of keys in one call, which bounds their memory. */
  public static final int KEYS_MAX = 1024;

  private final StatementContext context;
  private final TableCore core;
  private final byte[][] keys;
  private final byte[] @Nullable [] values;
  private final int from;
  private final long[] offsets = new long[KEYS_MAX];

  private MemorySegment keyMemory = Blocks.NONE;

  private ByteReads(
      StatementContext context,
      TableCore core,
      byte[][] keys,
      byte[] @Nullable [] values,
      int from) {
    this.context = context;
    this.core = core;
    this.keys = keys;
    this.values = values;
    this.from = from;
  }

  /** Reads a value into the scratch memory; returns its length, negative if absent or expired. */
  public static int value(
      Tx t, StatementContext context, TableCore core, MemorySegment key, int keyLength) {
    int n = read(t, context, core.tree, key, 0, keyLength);
    return n >= 0 && core.hides(context, t, context.valueStage(n), 0, n) ? -1 : n;
  }

  private static int read(
      Tx t,
      StatementContext context,
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength) {
    MemorySegment v = context.valueStage(0);
    int n = t.getAlone(tree, key, keyOffset, keyLength, v, 0, capacity(v));
    while (n > v.byteSize()) {
      v = context.valueStage(n);
      n = t.get(tree, key, keyOffset, keyLength, v, 0, capacity(v));
    }
    return n;
  }

  private static int capacity(MemorySegment stage) {
    return (int) Math.min(stage.byteSize(), Integer.MAX_VALUE);
  }

  public static byte[] taken(StatementContext context, int length) {
    return Mem.bytes(context.valueStage(length), 0, length);
  }

  /**
   * Reads the unexpired values of several keys at once, at most {@link #KEYS_MAX}. Each value is
   * stored at the index of its key, or null if there is none.
   */
  public static void readAll(
      Tx t,
      StatementContext context,
      TableCore core,
      byte[][] keys,
      byte[] @Nullable [] values,
      int from,
      int to) {
    new ByteReads(context, core, keys, values, from).read(t, to - from);
  }

  private void read(Tx t, int n) {
    long bytes = 0;
    for (int i = 0; i < n; i++) {
      offsets[i] = bytes;
      bytes += keys[from + i].length;
    }
    keyMemory = context.take(bytes);
    try {
      for (int i = 0; i < n; i++) {
        Mem.putBytes(keyMemory, offsets[i], keys[from + i], 0, keys[from + i].length);
      }
      read(t, core.tree, n, Integer.MAX_VALUE);
    } finally {
      context.releaseBlock(keyMemory);
    }
  }

  @Override
  protected void add(Lookahead ahead, int i) {
    ahead.add(keyMemory, offsets[i], keys[from + i].length, i);
  }

  @Override
  protected boolean get(Tx t, int expected, int i) {
    int length = keys[from + i].length;
    MemorySegment v = context.valueStage(0);
    int n = t.get(expected, core.tree, keyMemory, offsets[i], length, v, 0, capacity(v));
    if (n > v.byteSize()) {
      context.valueStage(n); // large enough that one more read suffices
      n = read(t, context, core.tree, keyMemory, offsets[i], length);
    }
    if (n >= 0 && core.hides(context, t, context.valueStage(n), 0, n)) {
      n = -1;
    }
    if (n >= 0) {
      values[from + i] = taken(context, n);
    }
    return n >= 0;
  }
}
