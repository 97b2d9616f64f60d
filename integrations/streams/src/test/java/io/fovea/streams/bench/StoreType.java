package io.fovea.streams.bench;

import io.fovea.streams.FoveaStores;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/** The kinds of state stores, and their configuration. */
enum StoreType {
  FOVEA("Fovea", FoveaStores.class),
  ROCKSDB("RocksDB, default", RocksDBDslStoreSuppliers.class),
  ROCKSDB_BOUNDED("RocksDB, bounded", RocksDBDslStoreSuppliers.class);

  /** Memory for all stores together, for Fovea and for the bounded RocksDB. */
  static final long BUDGET = Long.getLong("streams.budget", 128L << 20);

  final String title;
  private final Class<? extends DslStoreSuppliers> suppliers;

  StoreType(String title, Class<? extends DslStoreSuppliers> suppliers) {
    this.title = title;
    this.suppliers = suppliers;
  }

  DslStoreSuppliers suppliers() {
    try {
      return suppliers.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Adds the configuration to an application's properties. */
  void configure(Properties p) {
    p.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, suppliers.getName());
    switch (this) {
      case FOVEA -> p.put(FoveaStores.BUFFER_BYTES_CONFIG, Long.toString(BUDGET));
      case ROCKSDB_BOUNDED ->
          p.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, Bounded.class.getName());
      case ROCKSDB -> {}
    }
  }

  /**
   * Bounds memory as Kafka's documentation shows: one cache for all stores, which also counts their
   * memtables, indexes and filters.
   */
  public static final class Bounded implements RocksDBConfigSetter {
    private static final Cache CACHE;
    private static final WriteBufferManager BUFFERS;

    static {
      RocksDB.loadLibrary(); // this class may be loaded before any store
      CACHE = new LRUCache(BUDGET, -1, false, 0.1);
      BUFFERS = new WriteBufferManager(BUDGET / 2, CACHE);
    }

    /** Called by Kafka Streams. */
    public Bounded() {}

    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
      BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockCache(CACHE);
      table.setCacheIndexAndFilterBlocks(true);
      table.setCacheIndexAndFilterBlocksWithHighPriority(true);
      table.setPinTopLevelIndexAndFilter(true);
      options.setWriteBufferManager(BUFFERS);
      options.setTableFormatConfig(table);
    }

    @Override
    public void close(String store, Options options) {
      // cache and buffers are shared by all stores
    }
  }
}
