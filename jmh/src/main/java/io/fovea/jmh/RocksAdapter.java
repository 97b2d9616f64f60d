package io.fovea.jmh;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.DataBlockIndexType;
import org.rocksdb.FlushOptions;
import org.rocksdb.GetStatus;
import org.rocksdb.LRUCache;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status;
import org.rocksdb.Transaction;
import org.rocksdb.WriteOptions;

/**
 * RocksDB with optimistic transactions. All reads of a writing transaction are {@code
 * getForUpdate}, so that the commit validates them: these transactions are serializable except for
 * phantoms. A single read is {@code get}, and a scan is one iterator over one state; neither needs
 * a transaction object, which would slow both down. Blocks are not compressed; tables have Bloom
 * filters of 10 bits per key and hash indexes in their blocks. Loaded data is compacted to the
 * bottom level before measurements.
 */
final class RocksAdapter implements StoreAdapter {
  private static final long MEMTABLE_MAX = 64L << 20;
  private static final int MEMTABLES = 2;
  private static final int BLOOM_BITS = 10;

  static {
    RocksDB.loadLibrary();
  }

  private final LRUCache cache;
  private final BloomFilter bloom = new BloomFilter(BLOOM_BITS, false);
  private final Options options;
  private final OptimisticTransactionDB db;
  private final WriteOptions writing;
  private final ReadOptions reading = new ReadOptions();

  RocksAdapter(Setup setup) throws RocksDBException {
    // The budget includes the memtables, which take at most half of it.
    long memtable = Math.min(MEMTABLE_MAX, setup.memory() / MEMTABLES / 2);
    cache = new LRUCache(setup.memory() - memtable * MEMTABLES);
    options =
        new Options()
            .setCreateIfMissing(true)
            .setWriteBufferSize(memtable)
            .setMaxWriteBufferNumber(MEMTABLES)
            .setCompressionType(CompressionType.NO_COMPRESSION)
            .setBottommostCompressionType(CompressionType.NO_COMPRESSION)
            .setTableFormatConfig(
                new BlockBasedTableConfig()
                    .setBlockCache(cache)
                    .setFilterPolicy(bloom)
                    .setDataBlockIndexType(DataBlockIndexType.kDataBlockBinaryAndHash));
    db = OptimisticTransactionDB.open(options, setup.folder().toString());
    writing = new WriteOptions();
    if (setup.durable()) {
      writing.setSync(true);
    } else {
      writing.setDisableWAL(true);
    }
  }

  @Override
  public String isolation() {
    return "OptimisticTransactionDB: serializable but for phantoms, by getForUpdate of all reads";
  }

  @Override
  public void load(long from, long to) throws RocksDBException {
    byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    try (Transaction tx = db.beginTransaction(writing)) {
      for (long n = from; n < to; n++) {
        ComparisonRecords.key(n, key);
        ComparisonRecords.value(n, value);
        tx.put(key, value);
      }
      tx.commit();
    }
  }

  @Override
  public void settle() throws RocksDBException {
    try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
      db.flush(flush);
    }
    db.compactRange();
  }

  @Override
  public Session session() {
    return new RocksSession();
  }

  @Override
  public void close() {
    db.close();
    reading.close();
    writing.close();
    options.close();
    bloom.close();
    cache.close();
  }

  private final class RocksSession implements Session {
    private final byte[] value = new byte[ComparisonRecords.VALUE_BYTES];
    private Transaction again;

    @Override
    public byte[] read(byte[] key) throws RocksDBException {
      int n = db.get(reading, key, value);
      return n == value.length ? value : n == RocksDB.NOT_FOUND ? null : new byte[n];
    }

    @Override
    public int scan(byte[] from, int count, Visitor visitor) throws RocksDBException {
      try (RocksIterator it = db.newIterator(reading)) {
        int n = 0;
        for (it.seek(from); n < count && it.isValid(); it.next()) {
          visitor.record(it.key(), it.value());
          n++;
        }
        it.status();
        return n;
      }
    }

    @Override
    public void update(byte[][] keys, int reads) throws RocksDBException {
      while (true) {
        again = again == null ? db.beginTransaction(writing) : db.beginTransaction(writing, again);
        try {
          update(again, keys, reads);
          again.commit();
          return;
        } catch (RocksDBException e) {
          again.rollback();
          Status.Code code = e.getStatus() == null ? null : e.getStatus().getCode();
          if (code != Status.Code.Busy && code != Status.Code.TryAgain) {
            throw e;
          }
        }
      }
    }

    private void update(Transaction tx, byte[][] keys, int reads) throws RocksDBException {
      for (int i = 0; i < keys.length; i++) {
        GetStatus found = tx.getForUpdate(reading, keys[i], value, i >= reads);
        boolean there = found.status.getCode() == Status.Code.Ok;
        byte[] v =
            !there
                ? null
                : found.requiredSize == value.length ? value : new byte[found.requiredSize];
        if (i < reads) {
          ComparisonRecords.check(keys[i], v);
        } else {
          ComparisonRecords.update(keys[i], v);
          tx.put(keys[i], v);
        }
      }
    }

    @Override
    public void close() {
      if (again != null) {
        again.close();
      }
    }
  }
}
