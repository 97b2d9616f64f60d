package io.fovea.jmh;

import jetbrains.exodus.ArrayByteIterable;
import jetbrains.exodus.ByteIterable;
import jetbrains.exodus.env.Cursor;
import jetbrains.exodus.env.Environment;
import jetbrains.exodus.env.EnvironmentConfig;
import jetbrains.exodus.env.Environments;
import jetbrains.exodus.env.Store;
import jetbrains.exodus.env.StoreConfig;
import jetbrains.exodus.env.Transaction;

/**
 * Xodus. A transaction reads a snapshot, and its commit fails if another one has committed since,
 * so writing transactions are serializable. The loser is retried on a new snapshot. The only cache,
 * that of the log, is bounded by the memory of the setup.
 */
final class XodusAdapter implements StoreAdapter {
  private final Environment env;
  private final Store table;

  XodusAdapter(Setup setup) {
    env =
        Environments.newInstance(
            setup.folder().toFile(),
            new EnvironmentConfig()
                .setMemoryUsage(setup.memory())
                .setLogDurableWrite(setup.durable()));
    table =
        env.computeInTransaction(
            tx -> env.openStore("records", StoreConfig.WITHOUT_DUPLICATES, tx));
  }

  @Override
  public String isolation() {
    return "serializable: snapshots, and a commit that is not the first since its snapshot fails";
  }

  @Override
  public void load(long from, long to) {
    env.executeInTransaction(
        tx -> {
          byte[] key = new byte[ComparisonRecords.KEY_BYTES];
          for (long n = from; n < to; n++) {
            ComparisonRecords.key(n, key);
            byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
            ComparisonRecords.value(n, value);
            table.put(tx, new ArrayByteIterable(key.clone()), new ArrayByteIterable(value));
          }
        });
  }

  @Override
  public Session session() {
    return new XodusSession();
  }

  @Override
  public void close() {
    env.close();
  }

  private static byte[] bytes(ByteIterable found) {
    if (found == null) {
      return null;
    }
    byte[] copy = new byte[found.getLength()];
    System.arraycopy(found.getBytesUnsafe(), 0, copy, 0, copy.length);
    return copy;
  }

  private final class XodusSession implements Session {
    @Override
    public byte[] read(byte[] key) {
      Transaction tx = env.beginReadonlyTransaction();
      try {
        return bytes(table.get(tx, new ArrayByteIterable(key)));
      } finally {
        tx.abort();
      }
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) {
      Transaction tx = env.beginReadonlyTransaction();
      try (Cursor cursor = table.openCursor(tx)) {
        int n = 0;
        boolean there = cursor.getSearchKeyRange(new ArrayByteIterable(from)) != null;
        while (there) {
          visitor.record(bytes(cursor.getKey()), bytes(cursor.getValue()));
          there = ++n < count && cursor.getNext();
        }
        return n;
      } finally {
        tx.abort();
      }
    }

    @Override
    public void update(byte[][] keys, int reads) {
      Transaction tx = env.beginTransaction();
      try {
        do {
          for (int i = 0; i < keys.length; i++) {
            ArrayByteIterable key = new ArrayByteIterable(keys[i].clone());
            byte[] value = bytes(table.get(tx, key));
            if (i < reads) {
              ComparisonRecords.check(keys[i], value);
            } else {
              ComparisonRecords.update(keys[i], value);
              table.put(tx, key, new ArrayByteIterable(value));
            }
          }
          // Flushes the changes, or moves to a new snapshot for a retry.
        } while (!flushed(tx));
      } finally {
        tx.abort();
      }
    }

    private boolean flushed(Transaction tx) {
      if (tx.flush()) {
        return true;
      }
      tx.revert();
      return false;
    }

    @Override
    public void close() {}
  }
}
