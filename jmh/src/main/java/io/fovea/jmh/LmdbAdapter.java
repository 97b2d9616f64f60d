package io.fovea.jmh;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import org.lmdbjava.Cursor;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.GetOp;
import org.lmdbjava.Txn;

/**
 * LMDB through lmdbjava, with its fastest buffers (direct ones, by Unsafe) and without argument
 * checks. Read transactions and cursors are reused, as LMDB recommends. Pages are in the page cache
 * of the operating system, which {@link StoreAdapter.Setup#memory} does not bound.
 */
final class LmdbAdapter implements StoreAdapter {
  private static final int READERS = 64;
  private static final long BYTES_EACH = 1024;

  private static final long RECORD_BYTES =
      ComparisonRecords.KEY_BYTES + ComparisonRecords.VALUE_BYTES;

  private final Env<ByteBuffer> env;
  private final Dbi<ByteBuffer> table;

  LmdbAdapter(Setup setup) {
    EnumSet<EnvFlags> flags = EnumSet.of(EnvFlags.MDB_NOTLS);
    if (!setup.durable()) {
      flags.addAll(EnumSet.of(EnvFlags.MDB_NOSYNC, EnvFlags.MDB_WRITEMAP));
    }
    if (setup.records() * RECORD_BYTES > setup.memory()) {
      // Recommended for data that exceeds memory: a fault reads one page instead of 32.
      flags.add(EnvFlags.MDB_NORDAHEAD);
    }
    File folder = setup.folder().toFile();
    env =
        Env.create()
            .setMapSize((1L << 30) + setup.records() * BYTES_EACH)
            .setMaxDbs(1)
            .setMaxReaders(READERS)
            .open(folder, flags.toArray(EnvFlags[]::new));
    table = env.openDbi("records", DbiFlags.MDB_CREATE);
  }

  @Override
  public String isolation() {
    return "serializable: one writer at a time, readers on snapshots";
  }

  @Override
  public void load(long from, long to) {
    byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    ByteBuffer k = ByteBuffer.allocateDirect(key.length);
    ByteBuffer v = ByteBuffer.allocateDirect(value.length);
    try (Txn<ByteBuffer> tx = env.txnWrite()) {
      for (long n = from; n < to; n++) {
        ComparisonRecords.key(n, key);
        ComparisonRecords.value(n, value);
        table.put(tx, k.put(0, key), v.put(0, value));
      }
      tx.commit();
    }
  }

  @Override
  public void settle() {
    env.sync(true);
  }

  @Override
  public Session session() {
    return new LmdbSession();
  }

  @Override
  public void close() {
    env.close();
  }

  private final class LmdbSession implements Session {
    private final ByteBuffer k = ByteBuffer.allocateDirect(ComparisonRecords.KEY_BYTES);
    private final ByteBuffer v = ByteBuffer.allocateDirect(ComparisonRecords.VALUE_BYTES);
    private final byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    private final byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    private final Txn<ByteBuffer> reading = env.txnRead();
    private final Cursor<ByteBuffer> cursor = table.openCursor(reading);

    LmdbSession() {
      reading.reset();
    }

    @Override
    public byte[] read(byte[] wanted) {
      reading.renew();
      try {
        return copy(table.get(reading, k.put(0, wanted)));
      } finally {
        reading.reset();
      }
    }

    private byte[] copy(ByteBuffer found) {
      if (found == null) {
        return null;
      }
      if (found.remaining() != value.length) {
        return new byte[found.remaining()];
      }
      found.get(found.position(), value);
      return value;
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) {
      reading.renew();
      try {
        cursor.renew(reading);
        int n = 0;
        boolean there = cursor.get(k.put(0, from), GetOp.MDB_SET_RANGE);
        while (there) {
          cursor.key().get(cursor.key().position(), key);
          visitor.record(key, copy(cursor.val()));
          there = ++n < count && cursor.next();
        }
        return n;
      } finally {
        reading.reset();
      }
    }

    @Override
    public void update(byte[][] keys, int reads) {
      try (Txn<ByteBuffer> tx = env.txnWrite()) {
        for (int i = 0; i < keys.length; i++) {
          byte[] found = copy(table.get(tx, k.put(0, keys[i])));
          if (i < reads) {
            ComparisonRecords.check(keys[i], found);
          } else {
            ComparisonRecords.update(keys[i], found);
            table.put(tx, k, v.put(0, found));
          }
        }
        tx.commit();
      }
    }

    @Override
    public void close() {
      reading.renew();
      cursor.renew(reading);
      cursor.close();
      reading.close();
    }
  }
}
