package io.fovea.jmh;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;

/**
 * The adapter of an engine for {@link StoreComparison}, with the operations common to all. Keys and
 * values are {@code byte[]} for every engine.
 */
interface StoreAdapter extends AutoCloseable {
  /** The engines, in the order of the table. */
  enum Engine {
    FOVEA("Fovea", FoveaAdapter::new),
    LMDB("LMDB", LmdbAdapter::new),
    ROCKSDB("RocksDB", RocksAdapter::new),
    MVSTORE("MVStore", MvStoreAdapter::new),
    /** In the module jmh/rivals, built only by {@code mvn -Privals}, like the next one. */
    JE("Berkeley DB JE", setup -> elsewhere("JeAdapter", setup)),
    XODUS("Xodus", setup -> elsewhere("XodusAdapter", setup));

    static final List<Engine> USUAL = List.of(FOVEA, LMDB, ROCKSDB, MVSTORE);

    final String title;
    private final Opening opening;

    Engine(String title, Opening opening) {
      this.title = title;
      this.opening = opening;
    }

    StoreAdapter open(Setup setup) throws Exception {
      return opening.open(setup);
    }

    /**
     * Opens an engine of this package that may not be built, which is treated like a missing native
     * library.
     */
    private static StoreAdapter elsewhere(String name, Setup setup) throws Exception {
      try {
        return (StoreAdapter)
            Class.forName(StoreAdapter.class.getPackageName() + "." + name)
                .getDeclaredConstructor(Setup.class)
                .newInstance(setup);
      } catch (ClassNotFoundException e) {
        throw new NoClassDefFoundError(name + " is in jmh/rivals, which mvn -Privals builds");
      } catch (InvocationTargetException e) {
        throw e.getCause() instanceof Exception cause ? cause : e;
      }
    }
  }

  /** Opens an engine. */
  @FunctionalInterface
  interface Opening {
    StoreAdapter open(Setup setup) throws Exception;
  }

  /**
   * The parameters of an engine.
   *
   * @param folder an empty folder for its files
   * @param memory bytes of its cache of pages or blocks
   * @param durable whether each commit is on stable storage before it returns
   */
  record Setup(Path folder, long memory, long records, boolean durable) {}

  /** Receives the records of a scan. */
  @FunctionalInterface
  interface Visitor {
    /** Receives one record. The arrays belong to the store again when this returns. */
    void record(byte[] key, byte[] value);

    /** The scan's transaction was aborted and restarts; discard the records received so far. */
    default void again() {}
  }

  /** Returns version and isolation, for the table of engines. */
  String isolation();

  /** Adds the records of a range, end exclusive, in one transaction. */
  void load(long from, long to) throws Exception;

  /** Called after the load, to bring the data into the form to be measured. */
  default void settle() throws Exception {}

  Session session();

  @Override
  void close();

  /** A sequence of transactions of one thread. */
  interface Session extends AutoCloseable {
    /** Reads one record in its own transaction; null if it does not exist. */
    byte[] read(byte[] key) throws Exception;

    /** Reads records in key order in one transaction, and returns their number. */
    int scan(byte[] from, int count, Visitor visitor) throws Exception;

    /**
     * Runs one transaction, with retries after conflicts: checks the records of the first keys, and
     * updates those of the others ({@link ComparisonRecords#update}).
     */
    void update(byte[][] keys, int reads) throws Exception;

    @Override
    void close();
  }
}
