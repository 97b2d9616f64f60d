package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Page;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Lists whose elements name their predecessors, so that a reader detects a lost or partial append.
 *
 * <pre>
 *   h/00003        length, id of the last
 *   e/00003/00000  id, id of the predecessor, filler
 * </pre>
 */
final class Lists {
  private static final int LISTS = 6;
  private static final int LENGTH_MAX = 120;
  private static final int HEAD = 16;

  private Lists() {}

  private static byte[] element(int list, long i) {
    return Life.key(String.format(java.util.Locale.ROOT, "e/%05d/", list), i);
  }

  private static byte[] prefix(int list) {
    return Life.text(String.format(java.util.Locale.ROOT, "e/%05d/", list));
  }

  private static byte[] two(long a, long b, int filler) {
    byte[] all = new byte[HEAD + filler];
    Arrays.fill(all, (byte) a);
    ByteBuffer.wrap(all).putLong(a).putLong(b);
    return all;
  }

  static void append(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    Table<byte[], byte[]> t = life.lists;
    int list = r.nextInt(LISTS);
    int times = 1 + r.nextInt(3);
    int filler = r.nextInt(10) == 0 ? r.nextInt(6_000) : r.nextInt(100);
    long id = r.nextLong() >>> 1;
    boolean locks = r.nextBoolean();
    life.write(
        worker,
        tx -> {
          byte[] key = Life.key("h/", list);
          byte[] head = locks ? t.getForUpdate(tx, key) : t.get(tx, key);
          long length = head == null ? 0 : ByteBuffer.wrap(head).getLong();
          long last = head == null ? 0 : ByteBuffer.wrap(head).getLong(8);
          if (length >= LENGTH_MAX) {
            long gone = t.deletePrefix(tx, prefix(list));
            Violation.same(length, gone, "elements of list " + list + " deleted as a range");
            length = 0;
            last = 0;
          }
          for (int i = 0; i < times; i++) {
            t.insert(tx, element(list, length), two(id + i, last, filler));
            last = id + i;
            length++;
          }
          t.put(tx, key, two(length, last, 0));
        });
  }

  /** Removes elements from the end, by single deletes or as a range. */
  static void pop(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    Table<byte[], byte[]> t = life.lists;
    int list = r.nextInt(LISTS);
    int wanted = 1 + r.nextInt(10);
    boolean range = r.nextBoolean();
    life.write(
        worker,
        tx -> {
          byte[] key = Life.key("h/", list);
          byte[] head = t.get(tx, key);
          long length = head == null ? 0 : ByteBuffer.wrap(head).getLong();
          long n = Math.min(wanted, length);
          if (range && n > 0) {
            long gone = t.deleteRange(tx, element(list, length - n), element(list, length));
            Violation.same(n, gone, "popped of list " + list);
          }
          for (long i = length - n; !range && i < length; i++) {
            Violation.unless(t.delete(tx, element(list, i)), "pop " + i + " of list " + list);
          }
          long last = 0;
          if (length - n > 0) {
            byte[] e = t.get(tx, element(list, length - n - 1));
            Violation.unless(e != null, "list " + list + " has no " + (length - n - 1));
            last = ByteBuffer.wrap(e).getLong();
          }
          t.put(tx, key, two(length - n, last, 0));
        });
  }

  static void read(Life life, Worker worker) {
    Random r = worker.random;
    int list = r.nextInt(LISTS);
    int how = r.nextInt(6);
    life.<@Nullable Void>read(
        () -> r.nextBoolean() ? TxOptions.forReading() : TxOptions.defaults(),
        tx -> {
          check(life.lists, tx, list, how);
          return null;
        });
  }

  static long check(Database db, Transaction tx) {
    if (db.describe("lists") == null) {
      return 0;
    }
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("lists", 32)).bytes();
    long hash = 0;
    for (int i = 0; i < LISTS; i++) {
      hash = hash * 31 + check(t, tx, i, 0);
    }
    return hash;
  }

  private static long check(Table<byte[], byte[]> t, Transaction tx, int list, int how) {
    byte[] head = t.get(tx, Life.key("h/", list));
    long length = head == null ? 0 : ByteBuffer.wrap(head).getLong();
    List<byte[]> values = new ArrayList<>();
    switch (how) {
      case 0 -> {
        try (Cursor<byte[], byte[]> c = t.scanPrefix(tx, prefix(list), ScanOrder.ASCENDING)) {
          while (c.next()) {
            values.add(c.value());
          }
        }
      }
      case 1 -> {
        try (Cursor<byte[], byte[]> c = t.scanPrefix(tx, prefix(list), ScanOrder.DESCENDING)) {
          while (c.next()) {
            values.addFirst(c.value());
          }
        }
      }
      case 2 -> {
        try (Stream<Map.Entry<byte[], byte[]>> s =
            t.stream(tx, prefix(list), prefix(list + 1), ScanOrder.ASCENDING)) {
          s.forEach(e -> values.add(e.getValue()));
        }
      }
      case 3 -> {
        String after = null;
        do {
          Page<Map.Entry<byte[], byte[]>> page =
              t.page(tx, prefix(list), prefix(list + 1), ScanOrder.ASCENDING, after, 7);
          page.items().forEach(e -> values.add(e.getValue()));
          after = page.next();
        } while (after != null);
      }
      case 4 -> {
        List<byte[]> keys = new ArrayList<>();
        for (long i = 0; i < length; i++) {
          keys.add(element(list, i));
        }
        for (byte[] v : t.getAll(tx, keys)) {
          Violation.unless(v != null, "getAll did not return an element of list " + list);
          values.add(v);
        }
      }
      default -> t.forEach(tx, prefix(list), prefix(list + 1), (k, v) -> values.add(v));
    }
    Violation.same(
        length, values.size(), "list " + list + ", read by method " + how + ", has length");
    long last = 0;
    long hash = length;
    for (byte[] v : values) {
      ByteBuffer b = ByteBuffer.wrap(v);
      long id = b.getLong();
      Violation.same(last, b.getLong(), "predecessor in list " + list);
      for (int i = HEAD; i < v.length; i++) {
        Violation.same((byte) id, v[i], "filler in list " + list);
      }
      last = id;
      hash = hash * 31 + id;
    }
    if (head != null) {
      Violation.same(last, ByteBuffer.wrap(head).getLong(8), "last of list " + list);
    }
    return hash;
  }
}
