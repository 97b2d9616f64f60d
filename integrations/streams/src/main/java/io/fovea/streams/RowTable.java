package io.fovea.streams;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a store in a database, with keys of any length.
 *
 * <p>A table's keys are limited to an eighth of a page. So a long key is cut into slices, as in the
 * layers of Masstree (Mao, Kohler, Morris, 2012). Instead of the row, the table has a link: the
 * first slice and a zero byte, which makes it longer than any short key. Its value is the number of
 * a layer in a second table, which has the rest of all keys that begin with that slice.
 *
 * <pre>
 *   kv.1        key, up to max - 1 bytes              -> value
 *               slice of max - 1 bytes | 0            -> layer i8
 *   kv.1.long   head | layer i8 | rest                -> value         rest of up to max - 17 bytes
 *               head | layer i8 | slice | 0           -> layer i8
 *               0xFF                                  -> number of the last layer i8
 * </pre>
 *
 * <p>This preserves the key order: a link sorts after the short key that equals its slice, and
 * before all greater keys. The head is the first eight bytes of the key, so that a range delete of
 * expired segments ({@link SegmentKeys}) covers the layers. The second table is created with the
 * first long key.
 *
 * <p>Any thread reads; one thread at a time writes.
 */
final class RowTable {
  private static final int HEAD = 8;
  private static final int BASE = HEAD + Long.BYTES;
  private static final byte[] EMPTY = {};
  private static final byte[] LAST_LAYER = {(byte) 0xFF};

  private final Database database;
  private final String name;
  private final int keyBytesMax;
  private final Table<byte[], byte[]> table;
  private final Layer top;
  private volatile @Nullable Table<byte[], byte[]> longer;

  private RowTable(Database database, String name, int keyBytesMax) {
    this.database = database;
    this.name = name;
    this.keyBytesMax = keyBytesMax;
    this.table = table(name);
    this.top = new Layer(table, EMPTY, keyBytesMax - 1);
    this.longer = database.tables().contains(longer(name)) ? table(longer(name)) : null;
  }

  /** Opens the table of a store, and creates it if it does not exist. */
  static RowTable open(Database database, String name, int keyBytesMax) {
    return new RowTable(database, name, keyBytesMax);
  }

  /** Returns the same table in a snapshot. */
  RowTable in(Database snapshot) {
    return new RowTable(snapshot, name, keyBytesMax);
  }

  /** Drops the tables of a store. */
  static void drop(Transaction tx, String name) {
    tx.dropTable(name);
    if (tx.tables().contains(longer(name))) {
      tx.dropTable(longer(name));
    }
  }

  private static String longer(String name) {
    return name + ".long";
  }

  private Table<byte[], byte[]> table(String of) {
    return database.table(TableSpec.bytes(of, keyBytesMax)).bytes();
  }

  String name() {
    return name;
  }

  Database database() {
    return database;
  }

  /** Returns whether a key is cut into slices. */
  boolean isLong(byte[] key) {
    return key.length >= keyBytesMax;
  }

  /** Must be called before a transaction that writes long keys, outside of a transaction. */
  void prepareLong() {
    if (longer == null) {
      longer = table(longer(name));
    }
  }

  /** Returns the approximate number of rows. */
  long count() {
    Table<byte[], byte[]> l = longer;
    return table.table().count() + (l == null ? 0 : l.table().count());
  }

  /**
   * The keys from which the same slices were cut.
   *
   * @param base the prefix of all table keys in this layer
   * @param slice the longest rest of a key that is a row of this layer
   */
  private record Layer(Table<byte[], byte[]> table, byte[] base, int slice) {
    boolean isLast(byte[] key, int at) {
      return key.length - at <= slice;
    }

    /** Returns the row or link of a key, from a byte on. */
    byte[] key(byte[] key, int at) {
      return isLast(key, at) ? joined(base, key, at, key.length, 0) : link(key, at, (byte) 0);
    }

    private byte[] link(byte[] key, int at, byte end) {
      byte[] link = joined(base, key, at, at + slice, 1);
      link[link.length - 1] = end;
      return link;
    }

    /** Returns the first table key that may belong to keys from a bound on. */
    byte @Nullable [] lower(byte @Nullable [] from) {
      if (from == null) {
        return base.length == 0 ? null : base;
      }
      return key(from, 0);
    }

    /** Returns the table key at which those that may belong to keys below a bound end. */
    byte @Nullable [] upper(byte @Nullable [] to) {
      if (to == null) {
        return ByteInterval.above(base);
      }
      return isLast(to, 0) ? key(to, 0) : link(to, 0, (byte) 1);
    }

    boolean isEmpty(Transaction tx) {
      try (Cursor<byte[], byte[]> c =
          table.scan(tx, lower(null), upper(null), ScanOrder.ASCENDING)) {
        return !c.next();
      }
    }
  }

  private static byte[] joined(byte[] first, byte[] second, int from, int to, int more) {
    byte[] joined = Arrays.copyOf(first, first.length + to - from + more);
    System.arraycopy(second, from, joined, first.length, to - from);
    return joined;
  }

  /** Returns the layer that a link points to. */
  private Layer below(byte[] key, byte[] layer) {
    Table<byte[], byte[]> l = Objects.requireNonNull(longer);
    byte[] base = ByteBuffer.allocate(BASE).put(key, 0, HEAD).put(layer).array();
    return new Layer(l, base, keyBytesMax - BASE - 1);
  }

  byte @Nullable [] get(Transaction tx, byte[] key) {
    Layer in = top;
    int at = 0;
    while (!in.isLast(key, at)) {
      byte[] layer = in.table.get(tx, in.key(key, at));
      if (layer == null) {
        return null;
      }
      at += in.slice;
      in = below(key, layer);
    }
    return in.table.get(tx, at == 0 ? key : in.key(key, at));
  }

  /** Reads the pages of rows into memory, many at a time. */
  void bringIn(Transaction tx, List<byte[]> keys) {
    List<byte[]> shorter = new ArrayList<>(keys);
    shorter.removeIf(this::isLong);
    table.getAll(tx, shorter);
  }

  void put(Transaction tx, byte[] key, byte[] value) {
    Layer in = top;
    int at = 0;
    while (!in.isLast(key, at)) {
      byte[] link = in.key(key, at);
      byte[] layer = in.table.get(tx, link);
      if (layer == null) {
        layer = nextLayer(tx);
        in.table.put(tx, link, layer);
      }
      at += in.slice;
      in = below(key, layer);
    }
    in.table.put(tx, at == 0 ? key : in.key(key, at), value);
  }

  private byte[] nextLayer(Transaction tx) {
    Table<byte[], byte[]> l = Objects.requireNonNull(longer);
    byte[] last = l.get(tx, LAST_LAYER);
    long next = last == null ? 1 : ByteBuffer.wrap(last).getLong() + 1;
    byte[] layer = ByteBuffer.allocate(Long.BYTES).putLong(next).array();
    l.put(tx, LAST_LAYER, layer);
    return layer;
  }

  void delete(Transaction tx, byte[] key) {
    List<Layer> layers = new ArrayList<>();
    Layer in = top;
    int at = 0;
    while (!in.isLast(key, at)) {
      byte[] layer = in.table.get(tx, in.key(key, at));
      if (layer == null) {
        return;
      }
      layers.add(in);
      at += in.slice;
      in = below(key, layer);
    }
    in.table.delete(tx, at == 0 ? key : in.key(key, at));
    while (!layers.isEmpty() && in.isEmpty(tx)) {
      in = layers.removeLast();
      at -= in.slice;
      in.table.delete(tx, in.key(key, at));
    }
  }

  /** Deletes all rows below a key, which is the number of a segment. */
  void deleteBelow(Transaction tx, byte[] segment) {
    table.deleteRange(tx, null, segment);
    Table<byte[], byte[]> l = longer;
    if (l != null) {
      l.deleteRange(tx, null, segment);
    }
  }

  @FunctionalInterface
  interface Rows {
    /** Receives a row; returns false to stop the scan. */
    boolean row(byte[] key, byte[] value);
  }

  void scan(Transaction tx, ByteInterval interval, boolean forward, Rows rows) {
    scan(
        tx,
        top,
        EMPTY,
        interval.from(),
        interval.to(),
        forward ? ScanOrder.ASCENDING : ScanOrder.DESCENDING,
        rows);
  }

  /**
   * Scans a layer and those below it.
   *
   * @param prefix the slices that were cut
   * @param from the bounds, without the prefix; null if the whole layer is within them
   */
  private boolean scan(
      Transaction tx,
      Layer in,
      byte[] prefix,
      byte @Nullable [] from,
      byte @Nullable [] to,
      ScanOrder order,
      Rows rows) {
    int base = in.base.length;
    try (Cursor<byte[], byte[]> c = in.table.scan(tx, in.lower(from), in.upper(to), order)) {
      while (c.next()) {
        byte[] key = c.key();
        boolean more;
        if (key.length - base <= in.slice) {
          byte[] whole = base == 0 ? key : joined(prefix, key, base, key.length, 0);
          more = rows.row(whole, c.value());
        } else {
          byte[] cut = joined(prefix, key, base, key.length - 1, 0);
          Layer next = below(cut, c.value());
          more = scan(tx, next, cut, rest(from, key, base), rest(to, key, base), order, rows);
        }
        if (!more) {
          return false;
        }
      }
    }
    return true;
  }

  /**
   * Returns the part of a bound that applies to the layer of a link; null if the bound is not in
   * it.
   */
  private static byte @Nullable [] rest(byte @Nullable [] bound, byte[] link, int base) {
    int slice = link.length - 1 - base;
    return bound != null
            && bound.length > slice
            && Arrays.equals(bound, 0, slice, link, base, base + slice)
        ? Arrays.copyOfRange(bound, slice, bound.length)
        : null;
  }
}
