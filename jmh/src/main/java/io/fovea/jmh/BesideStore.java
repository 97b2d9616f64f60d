package io.fovea.jmh;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;

/**
 * An engine that {@link BesideOthers} measures, behind what all of them can do. Keys and values are
 * {@code byte[]} in both directions, for every engine.
 */
interface BesideStore extends AutoCloseable {
  /** The engines, in the order of the table. */
  enum Engine {
    FOVEA("Fovea", BesideFovea::new),
    LMDB("LMDB", BesideLmdb::new),
    ROCKSDB("RocksDB", BesideRocks::new),
    MVSTORE("MVStore", BesideMvStore::new),
    /** Of the module in jmh/rivals, which only {@code mvn -Privals} builds; so is the next. */
    JE("Berkeley DB JE", setup -> elsewhere("BesideJe", setup)),
    XODUS("Xodus", setup -> elsewhere("BesideXodus", setup));

    /** Those that are always there. */
    static final List<Engine> USUAL = List.of(FOVEA, LMDB, ROCKSDB, MVSTORE);

    final String title;
    private final Opening opening;

    Engine(String title, Opening opening) {
      this.title = title;
      this.opening = opening;
    }

    BesideStore open(Setup setup) throws Exception {
      return opening.open(setup);
    }

    /**
     * A class of this package that is perhaps in no build: then as a native library that is not.
     */
    private static BesideStore elsewhere(String name, Setup setup) throws Exception {
      try {
        return (BesideStore)
            Class.forName(BesideStore.class.getPackageName() + "." + name)
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
    /** An empty store. */
    BesideStore open(Setup setup) throws Exception;
  }

  /**
   * How an engine is opened.
   *
   * @param folder empty, for its files
   * @param memory bytes for its cache of pages or blocks
   * @param records how many there will be
   * @param durable whether each commit is on stable storage before it returns
   */
  record Setup(Path folder, long memory, long records, boolean durable) {}

  /** What sees the records of a scan. */
  @FunctionalInterface
  interface Visitor {
    /** One record; the arrays belong to the store again when this returns. */
    void record(byte[] key, byte[] value);

    /** The scan's transaction was aborted, and begins anew: what it has shown does not count. */
    default void again() {}
  }

  /** Version and isolation: a row of the table of engines. */
  String isolation();

  /** Adds the records from one number to another, exclusive, in one transaction. */
  void load(long from, long to) throws Exception;

  /** After the load: brings the data into the form in which it is measured. */
  default void settle() throws Exception {}

  /** What one thread uses. */
  Session session();

  @Override
  void close();

  /** Transactions of one thread at a time. */
  interface Session extends AutoCloseable {
    /** Reads one record in a transaction of its own; null if it is not there. */
    byte[] read(byte[] key) throws Exception;

    /** Reads records in the order of keys in one transaction; how many there were. */
    int scan(byte[] from, int count, Visitor visitor) throws Exception;

    /**
     * One transaction: checks the records of the first keys, updates those of the others ({@link
     * BesideRecords#update}). Runs again after a conflict.
     */
    void update(byte[][] keys, int reads) throws Exception;

    @Override
    void close();
  }
}
