package io.fovea.jmh;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.tx.Transaction;
import org.h2.mvstore.tx.TransactionMap;
import org.h2.mvstore.tx.TransactionStore;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ByteArrayDataType;

/**
 * MVStore with its TransactionStore. Its strongest isolation is snapshot isolation, so writing
 * transactions are serialized by a lock of this class, held from begin to commit. A single read
 * sees one committed state, and so does an iterator.
 *
 * <p>Without durability, MVStore writes in the background, as by default. With it, each commit
 * writes a chunk and syncs the file, and nothing is written in the background.
 */
final class MvStoreAdapter implements StoreAdapter {
  private static final String NAME = "records";
  private static final int KIB = 1 << 10;
  private static final int MIB = 1 << 20;

  /**
   * Limit of unsaved changes, as a part of the cache. They are written as one array of up to four
   * times the size, which must fit a small heap in one piece.
   */
  private static final int UNSAVED_PART = 32;

  /** MVStore's own limit for a heap of 1 GiB or more. */
  private static final int UNSAVED_MAX = 19 * MIB;

  private final boolean durable;
  private final MVStore store;
  private final TransactionStore transactions;
  private final TransactionMap<byte[], byte[]> table;
  private final Object writer = new Object();

  MvStoreAdapter(Setup setup) {
    durable = setup.durable();
    MVStore.Builder builder =
        new MVStore.Builder()
            .fileName(setup.folder().resolve("beside.mv").toString())
            .cacheSize((int) Math.max(1, setup.memory() / MIB))
            .autoCommitBufferSize(
                (int) Math.max(1, Math.min(UNSAVED_MAX, setup.memory() / UNSAVED_PART) / KIB));
    store = (durable ? builder.autoCommitDisabled() : builder).open();
    transactions = new TransactionStore(store);
    transactions.init();
    Transaction tx = transactions.begin();
    table = tx.openMap(NAME, KeyType.INSTANCE, ByteArrayDataType.INSTANCE);
    tx.commit();
  }

  @Override
  public String isolation() {
    return "TransactionStore: committed reads, one writer at a time by a lock, so serializable";
  }

  @Override
  public void load(long from, long to) {
    Transaction tx = transactions.begin();
    TransactionMap<byte[], byte[]> map = table.getInstance(tx);
    for (long n = from; n < to; n++) {
      byte[] key = new byte[ComparisonRecords.KEY_BYTES];
      byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
      ComparisonRecords.key(n, key);
      ComparisonRecords.value(n, value);
      map.put(key, value);
    }
    tx.commit();
  }

  @Override
  public void settle() {
    // Not after each batch: a batch of random keys changes nearly every page, and each would be
    // written.
    store.commit();
    store.sync();
  }

  @Override
  public Session session() {
    return new MvSession();
  }

  @Override
  public void close() {
    transactions.close();
    store.close();
  }

  private final class MvSession implements Session {
    @Override
    public byte[] read(byte[] key) {
      Transaction tx = transactions.begin();
      try {
        return table.getInstance(tx).get(key);
      } finally {
        tx.commit();
      }
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) {
      Transaction tx = transactions.begin();
      try {
        Iterator<Map.Entry<byte[], byte[]>> it = table.getInstance(tx).entryIterator(from, null);
        int n = 0;
        while (n < count && it.hasNext()) {
          Map.Entry<byte[], byte[]> entry = it.next();
          visitor.record(entry.getKey(), entry.getValue());
          n++;
        }
        return n;
      } finally {
        tx.commit();
      }
    }

    @Override
    public void update(byte[][] keys, int reads) {
      synchronized (writer) {
        Transaction tx = transactions.begin();
        TransactionMap<byte[], byte[]> map = table.getInstance(tx);
        for (int i = 0; i < keys.length; i++) {
          byte[] value = map.get(keys[i]);
          if (i < reads) {
            ComparisonRecords.check(keys[i], value);
          } else {
            // The map owns its arrays.
            byte[] changed = value == null ? null : value.clone();
            ComparisonRecords.update(keys[i], changed);
            map.put(keys[i].clone(), changed);
          }
        }
        tx.commit();
        if (durable) {
          store.commit();
          store.sync();
        }
      }
    }

    @Override
    public void close() {}
  }

  /**
   * Byte strings in unsigned order; MVStore's own type for byte strings has no order. Public, since
   * MVStore instantiates it when it rereads a page of its catalog.
   */
  public static final class KeyType extends BasicDataType<byte[]> {
    static final KeyType INSTANCE = new KeyType();

    /** Called by MVStore. */
    public KeyType() {}

    @Override
    public int compare(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(a, b);
    }

    @Override
    public int getMemory(byte[] data) {
      return ByteArrayDataType.INSTANCE.getMemory(data);
    }

    @Override
    public void write(WriteBuffer out, byte[] data) {
      out.putVarInt(data.length).put(data);
    }

    @Override
    public byte[] read(ByteBuffer in) {
      byte[] data = new byte[DataUtils.readVarInt(in)];
      in.get(data);
      return data;
    }

    @Override
    public byte[][] createStorage(int size) {
      return new byte[size][];
    }
  }
}
