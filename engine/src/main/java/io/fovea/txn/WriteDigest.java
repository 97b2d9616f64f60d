package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.memory.Hash;
import java.nio.ByteBuffer;
import java.util.function.Function;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A digest of a transaction's writes so far, for replicas that compare their results.
 *
 * <p>It is the sum of one number per record, made of its table's name, its key and its change, so
 * it does not depend on pages, tree ids or the order of writes. Programs of different releases
 * exchange it, so it uses CRC-32C and CRC-32, which never change.
 */
final class WriteDigest {
  private static final int PUT = 1;
  private static final int PATCH = 2;
  private static final int DELETE = 3;

  private final WriteSet writes;
  private final Function<BTree, byte[]> names;
  private final CRC32C one = new CRC32C();
  private final CRC32 other = new CRC32();
  private final ByteBuffer number = ByteBuffer.allocate(8);
  private final ByteBuffer scratch;
  private @Nullable BTree tree;
  private byte[] name = {};

  /** {@code names} returns the name of a tree's table; empty for trees to leave out. */
  WriteDigest(WriteSet writes, Function<BTree, byte[]> names) {
    this.writes = writes;
    this.names = names;
    this.scratch = writes.scratch.segment().asByteBuffer();
  }

  long of(boolean deletes) {
    long sum = 0;
    for (int e = 0, n = writes.size(); e < n; e++) {
      int kind =
          switch (writes.kind(e)) {
            case WriteSet.INSERT, WriteSet.PUT -> PUT;
            case WriteSet.PATCH -> PATCH;
            case WriteSet.DELETE -> deletes ? DELETE : 0;
            default -> 0; // no change
          };
      if (kind > 0) {
        sum += of(e, kind);
      }
    }
    return sum;
  }

  private long of(int e, int kind) {
    BTree t = writes.tree(e);
    if (t != tree) {
      tree = t;
      name = names.apply(t);
    }
    byte[] table = name;
    if (table.length == 0) {
      return 0;
    }
    one.reset();
    other.reset();
    add(kind, table.length);
    one.update(table, 0, table.length);
    other.update(table, 0, table.length);
    add(writes.keyLength(e), 0);
    bytes(writes.keyOffset(e), writes.keyLength(e));
    if (kind == PUT) {
      bytes(writes.valueOffset(e), writes.valueLength(e));
    } else if (kind == PATCH) {
      for (int p = writes.firstPatch(e); p >= 0; p = writes.nextPatch(p)) {
        add(writes.patchAt(p), writes.patchLength(p));
        bytes(p + WriteSet.PATCH_HEADER, writes.patchLength(p));
      }
    }
    return Hash.spread(one.getValue() << 32 | other.getValue());
  }

  private void add(int a, int b) {
    number.putInt(0, a).putInt(4, b);
    one.update(number.rewind());
    other.update(number.rewind());
  }

  private void bytes(int offset, int length) {
    one.update(scratch.limit(offset + length).position(offset));
    other.update(scratch.position(offset));
  }
}
