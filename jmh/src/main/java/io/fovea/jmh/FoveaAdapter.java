package io.fovea.jmh;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;

/** Fovea, through its API for byte strings. */
final class FoveaAdapter implements StoreAdapter {
  private final Database db;
  private final Table<byte[], byte[]> table;

  FoveaAdapter(Setup setup) {
    db =
        Database.open(
            setup.folder().resolve("beside.fovea"),
            Options.defaults()
                .bufferBytes(setup.memory())
                .durability(setup.durable() ? Durability.SYNC : Durability.NONE));
    table = db.table(TableSpec.bytes("records", ComparisonRecords.KEY_BYTES)).bytes();
  }

  @Override
  public String isolation() {
    return "serializable, optimistic (default)";
  }

  @Override
  public void load(long from, long to) {
    db.run(
        tx -> {
          byte[] key = new byte[ComparisonRecords.KEY_BYTES];
          byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
          for (long n = from; n < to; n++) {
            ComparisonRecords.key(n, key);
            ComparisonRecords.value(n, value);
            table.insert(tx, key, value);
          }
        });
  }

  @Override
  public void settle() {
    db.checkpoint();
  }

  @Override
  public Session session() {
    return new FoveaSession();
  }

  @Override
  public void close() {
    db.close();
  }

  private final class FoveaSession implements Session {
    private final TxOptions reading = TxOptions.forReading();

    @Override
    public byte[] read(byte[] key) {
      return db.call(reading, tx -> table.get(tx, key));
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) {
      return db.call(
          reading,
          tx -> {
            if (tx.attempt() > 1) {
              visitor.again();
            }
            int n = 0;
            try (Cursor<byte[], byte[]> cursor = table.scan(tx, from, null, ScanOrder.ASCENDING)) {
              while (n < count && cursor.next()) {
                visitor.record(cursor.key(), cursor.value());
                n++;
              }
            }
            return n;
          });
    }

    @Override
    public void update(byte[][] keys, int reads) {
      db.run(tx -> update(tx, keys, reads));
    }

    private void update(Transaction tx, byte[][] keys, int reads) {
      for (int i = 0; i < keys.length; i++) {
        byte[] value = table.get(tx, keys[i]);
        if (i < reads) {
          ComparisonRecords.check(keys[i], value);
        } else {
          ComparisonRecords.update(keys[i], value);
          table.put(tx, keys[i], value);
        }
      }
    }

    @Override
    public void close() {}
  }
}
