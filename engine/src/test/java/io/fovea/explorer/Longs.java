package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Long values that state their key, version and length, from which their content follows. */
final class Longs {
  private static final int KEYS = 24;
  private static final int HEAD = 24;
  private static final int LENGTH_MAX = 40_000;

  private Longs() {}

  private static byte[] content(int k, long version, int length) {
    byte[] all = new byte[HEAD + length];
    ByteBuffer b = ByteBuffer.wrap(all);
    b.putLong(k).putLong(version).putLong(length);
    long x = k * 31L + version;
    for (int i = HEAD; i < all.length; i++) {
      if ((i & 7) == 0) {
        x = (x + 0x9E37_79B9_7F4A_7C15L) * 0xBF58_476D_1CE4_E5B9L;
      }
      all[i] = (byte) (x >>> 8 * (i & 7));
    }
    return all;
  }

  static void requireRight(int k, long version, byte[] value) {
    String what = "long value " + k;
    Violation.unless(value.length >= HEAD, what + " has " + value.length + " bytes");
    ByteBuffer b = ByteBuffer.wrap(value);
    long key = b.getLong();
    long found = b.getLong();
    long length = b.getLong();
    Violation.same(k, key, what + ": key");
    Violation.same(version, found, what + ": version");
    Violation.same(value.length - HEAD, length, what + ": length");
    byte[] right = content(k, version, (int) length);
    for (int i = HEAD; i < value.length; i++) {
      if (right[i] != value[i]) {
        throw new Violation(what + " of " + value.length + " bytes is wrong at " + i);
      }
    }
  }

  static void write(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    int k = r.nextInt(KEYS);
    int length = r.nextInt(3) == 0 ? r.nextInt(LENGTH_MAX) : r.nextInt(5_000);
    boolean deletes = r.nextInt(4) == 0;
    boolean reads = r.nextBoolean();
    byte[] key = Life.key("v/", k);
    life.write(
        worker,
        tx -> {
          long state = Life.number(life.small.get(tx, key));
          long version = Math.abs(state);
          if (reads) {
            byte[] value = life.longs.get(tx, key);
            Violation.unless((state > 0) == (value != null), "long value " + k + " presence");
            if (value != null) {
              requireRight(k, version, value);
            }
          }
          if (deletes) {
            Violation.unless(
                life.longs.delete(tx, key) == state > 0, "long value " + k + " deletion");
            life.small.put(tx, key, Life.number(-version));
          } else {
            life.longs.put(tx, key, content(k, version + 1, length));
            life.small.put(tx, key, Life.number(version + 1));
          }
        });
  }

  static void read(Life life, Worker worker) {
    life.<@Nullable Void>read(
        TxOptions::forReading,
        tx -> {
          check(life.longs, life.small, tx);
          return null;
        });
  }

  static long check(Database db, Transaction tx) {
    if (db.describe("longs") == null || db.describe("small") == null) {
      return 0;
    }
    return check(
        db.table(TableSpec.bytes("longs", 32)).bytes(),
        db.table(TableSpec.bytes("small", 32)).bytes(),
        tx);
  }

  private static long check(
      Table<byte[], byte[]> longs, Table<byte[], byte[]> small, Transaction tx) {
    long hash = 0;
    int there = 0;
    for (int k = 0; k < KEYS; k++) {
      long state = Life.number(small.get(tx, Life.key("v/", k)));
      byte[] value = longs.get(tx, Life.key("v/", k));
      Violation.unless((state > 0) == (value != null), "long value " + k + " of " + state);
      if (value != null) {
        requireRight(k, state, value);
        hash += (k * 31L + state) * 0x9E37_79B9L;
        there++;
      }
    }
    int n = 0;
    try (Cursor<byte[], byte[]> c = longs.scan(tx, null, null, ScanOrder.ASCENDING)) {
      while (c.next()) {
        n++;
      }
    }
    Violation.same(there, n, "long values in a scan");
    return hash;
  }
}
