package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.LogOptions;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.tx.TransactionMap;
import org.h2.mvstore.tx.TransactionStore;
import org.h2.mvstore.type.ByteArrayDataType;
import org.jspecify.annotations.Nullable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;
import org.rocksdb.CompressionType;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.RocksDB;
import org.rocksdb.Transaction;
import org.rocksdb.WriteOptions;

/**
 * The adapter of an engine for {@link Loads}, which fills it with records in key order.
 *
 * <p>One thread.
 */
interface LoadStore extends AutoCloseable {
  int KEY_BYTES = 8;

  /** Adds {@code count} records in one transaction, beginning with number {@code from}. */
  void add(Loads.Records records, long from, int count) throws Exception;

  /** Writes the data to the files, as far as the engine does so on request. */
  void settle() throws Exception;

  @Override
  void close();

  /** Fovea, by transactions or by one load. */
  final class Fovea implements LoadStore {
    /** The ways to add records. */
    enum How {
      PUT,
      INSERT,
      /** One load with the default fill of pages. */
      LOAD,
      /** One load with full pages. */
      LOAD_WHOLE;

      /** Tells whether one call adds all records. */
      boolean whole() {
        return this == LOAD || this == LOAD_WHOLE;
      }
    }

    private final Database db;
    private final Table<byte[], byte[]> table;
    private final How how;

    Fovea(Path folder, long memory, Durability durability, How how) {
      this(
          Database.open(
              folder.resolve("loads.fovea"),
              Options.defaults().bufferBytes(memory).durability(durability)),
          how);
    }

    Fovea(Database db, How how) {
      this.how = how;
      this.db = db;
      this.table = db.table(TableSpec.bytes("records", KEY_BYTES)).bytes();
    }

    /** Returns the idle time after which the log is trimmed. */
    static long quietNanos() {
      return LogOptions.defaults().idleTimeout().toNanos();
    }

    @Override
    public void add(Loads.Records records, long from, int count) {
      switch (how) {
        case PUT ->
            db.run(
                tx -> {
                  for (long n = from; n < from + count; n++) {
                    table.put(tx, records.key(n), records.value(n));
                  }
                });
        case INSERT ->
            db.run(
                tx -> {
                  for (long n = from; n < from + count; n++) {
                    table.insert(tx, records.key(n), records.value(n));
                  }
                });
        case LOAD -> load(LoadOptions.defaults(), records, from, count);
        case LOAD_WHOLE -> load(LoadOptions.defaults().fill(1), records, from, count);
      }
    }

    private void load(LoadOptions options, Loads.Records records, long from, int count) {
      table.load(
          options.ascending(true),
          into -> {
            for (long n = from; n < from + count; n++) {
              into.add(records.key(n), records.value(n));
            }
          });
    }

    @Override
    public void settle() {
      db.checkpoint();
    }

    @Override
    public void close() {
      db.close();
    }
  }

  /** LMDB, as {@link BesideLmdb} opens it, with a map as large as the file may become. */
  final class Lmdb implements LoadStore {
    private static final long BYTES_EACH = 512;

    private final Env<ByteBuffer> env;
    private final Dbi<ByteBuffer> table;
    private final ByteBuffer k = ByteBuffer.allocateDirect(KEY_BYTES);
    private final ByteBuffer v = ByteBuffer.allocateDirect(Loads.VALUE_BYTES);

    Lmdb(Path folder, long records) {
      env =
          Env.create()
              .setMapSize((1L << 30) + records * BYTES_EACH)
              .setMaxDbs(1)
              .open(folder.toFile(), EnvFlags.MDB_NOSYNC, EnvFlags.MDB_WRITEMAP);
      table = env.openDbi("records", DbiFlags.MDB_CREATE);
    }

    @Override
    public void add(Loads.Records records, long from, int count) {
      try (Txn<ByteBuffer> tx = env.txnWrite()) {
        for (long n = from; n < from + count; n++) {
          table.put(tx, k.put(0, records.key(n)), v.put(0, records.value(n)));
        }
        tx.commit();
      }
    }

    @Override
    public void settle() {
      env.sync(true);
    }

    @Override
    public void close() {
      env.close();
    }
  }

  /** RocksDB with optimistic transactions, without compression. */
  final class Rocks implements LoadStore {
    private static final long MEMTABLE = 64L << 20;

    static {
      RocksDB.loadLibrary();
    }

    private final org.rocksdb.Options options;
    private final WriteOptions writing;
    private final OptimisticTransactionDB db;

    Rocks(Path folder, boolean logged) throws Exception {
      options =
          new org.rocksdb.Options()
              .setCreateIfMissing(true)
              .setWriteBufferSize(MEMTABLE)
              .setCompressionType(CompressionType.NO_COMPRESSION)
              .setBottommostCompressionType(CompressionType.NO_COMPRESSION);
      writing = new WriteOptions().setDisableWAL(!logged);
      db = OptimisticTransactionDB.open(options, folder.toString());
    }

    @Override
    public void add(Loads.Records records, long from, int count) throws Exception {
      try (Transaction tx = db.beginTransaction(writing)) {
        for (long n = from; n < from + count; n++) {
          tx.put(records.key(n), records.value(n));
        }
        tx.commit();
      }
    }

    @Override
    public void settle() throws Exception {
      try (org.rocksdb.FlushOptions flush = new org.rocksdb.FlushOptions().setWaitForFlush(true)) {
        db.flush(flush);
      }
    }

    @Override
    public void close() {
      db.close();
      writing.close();
      options.close();
    }
  }

  /** MVStore with its TransactionStore, which writes in the background, as by default. */
  final class Mv implements LoadStore {
    private final MVStore store;
    private final TransactionStore transactions;
    private final TransactionMap<byte[], byte[]> table;

    /** Opens a store; in memory if {@code folder} is null. */
    Mv(@Nullable Path folder) {
      MVStore.Builder builder = new MVStore.Builder();
      if (folder != null) {
        builder.fileName(folder.resolve("loads.mv").toString());
      }
      store = builder.open();
      transactions = new TransactionStore(store);
      transactions.init();
      org.h2.mvstore.tx.Transaction tx = transactions.begin();
      table = tx.openMap("records", BesideMvStore.KeyType.INSTANCE, ByteArrayDataType.INSTANCE);
      tx.commit();
    }

    @Override
    public void add(Loads.Records records, long from, int count) {
      org.h2.mvstore.tx.Transaction tx = transactions.begin();
      TransactionMap<byte[], byte[]> map = table.getInstance(tx);
      for (long n = from; n < from + count; n++) {
        map.put(records.key(n).clone(), records.value(n).clone()); // it keeps the arrays
      }
      tx.commit();
    }

    @Override
    public void settle() {
      store.commit();
      store.sync();
    }

    @Override
    public void close() {
      transactions.close();
      store.close();
    }
  }
}
