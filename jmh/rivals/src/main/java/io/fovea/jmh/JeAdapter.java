package io.fovea.jmh;

import com.sleepycat.je.Cursor;
import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Durability;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.LockConflictException;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.OperationStatus;
import com.sleepycat.je.Transaction;
import com.sleepycat.je.TransactionConfig;

/**
 * Berkeley DB Java Edition. Transactions that write, and scans, are serializable through locks held
 * until commit. A read before an update takes the write lock at once; otherwise two readers of the
 * same record would deadlock. The loser of a conflict is retried. A single read commits
 * automatically. The cache is on the heap. The log cannot be turned off: without durability,
 * commits leave their records in memory.
 */
final class JeAdapter implements StoreAdapter {
  private final Environment env;
  private final Database table;
  private final TransactionConfig serializable =
      new TransactionConfig().setSerializableIsolation(true);

  JeAdapter(Setup setup) {
    // The setters return other types, so calls cannot be chained.
    EnvironmentConfig config = new EnvironmentConfig();
    config.setAllowCreate(true);
    config.setTransactional(true);
    config.setCacheSize(setup.memory());
    config.setDurability(setup.durable() ? Durability.COMMIT_SYNC : Durability.COMMIT_NO_SYNC);
    env = new Environment(setup.folder().toFile(), config);
    table =
        env.openDatabase(
            null, "records", new DatabaseConfig().setAllowCreate(true).setTransactional(true));
  }

  @Override
  public String isolation() {
    return "serializable, by locks of records and ranges";
  }

  @Override
  public void load(long from, long to) {
    byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    Transaction tx = env.beginTransaction(null, null);
    for (long n = from; n < to; n++) {
      ComparisonRecords.key(n, key);
      ComparisonRecords.value(n, value);
      table.put(tx, new DatabaseEntry(key), new DatabaseEntry(value));
    }
    tx.commit();
  }

  @Override
  public void settle() {
    env.checkpoint(null);
  }

  @Override
  public Session session() {
    return new JeSession();
  }

  @Override
  public void close() {
    table.close();
    env.close();
  }

  private final class JeSession implements Session {
    private final DatabaseEntry key = new DatabaseEntry();
    private final DatabaseEntry value = new DatabaseEntry();

    @Override
    public byte[] read(byte[] wanted) {
      key.setData(wanted);
      return found(table.get(null, key, value, LockMode.DEFAULT));
    }

    private byte[] found(OperationStatus status) {
      return status == OperationStatus.SUCCESS ? value.getData() : null;
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) {
      while (true) {
        Transaction tx = env.beginTransaction(null, serializable);
        try {
          int n = scan(tx, from, count, visitor);
          tx.commit();
          return n;
        } catch (LockConflictException e) {
          tx.abort();
          visitor.again();
        }
      }
    }

    private int scan(Transaction tx, byte[] from, int count, Visitor visitor) {
      try (Cursor cursor = table.openCursor(tx, null)) {
        key.setData(from);
        int n = 0;
        OperationStatus status = cursor.getSearchKeyRange(key, value, LockMode.DEFAULT);
        while (status == OperationStatus.SUCCESS) {
          visitor.record(key.getData(), value.getData());
          n++;
          status =
              n < count ? cursor.getNext(key, value, LockMode.DEFAULT) : OperationStatus.NOTFOUND;
        }
        return n;
      }
    }

    @Override
    public void update(byte[][] keys, int reads) {
      while (true) {
        Transaction tx = env.beginTransaction(null, serializable);
        try {
          update(tx, keys, reads);
          tx.commit();
          return;
        } catch (LockConflictException e) {
          tx.abort();
        }
      }
    }

    private void update(Transaction tx, byte[][] keys, int reads) {
      for (int i = 0; i < keys.length; i++) {
        key.setData(keys[i]);
        byte[] v = found(table.get(tx, key, value, i < reads ? LockMode.DEFAULT : LockMode.RMW));
        if (i < reads) {
          ComparisonRecords.check(keys[i], v);
        } else {
          ComparisonRecords.update(keys[i], v);
          table.put(tx, key, value);
        }
      }
    }

    @Override
    public void close() {}
  }
}
