package io.fovea.streams;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.FoveaException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The database of a Streams instance, which contains all its stores.
 *
 * <pre>
 *   <state.dir>/<application.id>/fovea/stores.fovea
 *     stores      directory/name of a store -> StoreRecord
 *     kv.1, win.2 the rows of a store; the number is in its record
 * </pre>
 *
 * <p>The first store to be opened opens the database; the last one to be closed closes it. A record
 * whose {@link Marker} is missing or differs belongs to a store that Kafka Streams has wiped. Its
 * table is dropped when the database or the store is opened.
 *
 * <p>Thread-safe.
 */
final class Instance {
  /** Open instances by path, guarded by the map itself. An entry lives as long as its database. */
  private static final Map<Path, Instance> OPEN = new HashMap<>();

  private static final Logger LOG = LoggerFactory.getLogger(Instance.class);

  /** The directory of the global stores, next to those of tasks. */
  private static final String GLOBAL = "global";

  private static final String STORES = "stores";
  private static final int STORE_KEY_BYTES_MAX = 512;
  private static final int ROWS_THAT_SAY = 64;
  private static final long SWEEP_NANOS = 60_000_000_000L;

  private final Path file;
  private final Path base;
  private final Database database;
  private final Table<byte[], byte[]> stores;
  private final int keyBytesMax;
  private final long pendingBytesMax;
  private final int rowsMax;
  private final int rowsMaxMissing;

  /** Whether commits find pages missing from memory. */
  private volatile boolean missing;

  private final AtomicLong pendingBytes = new AtomicLong();

  /** Number of commits that have begun plus commits that have ended. */
  private final AtomicLong commits = new AtomicLong();

  private final SharedSnapshot.Pool snapshots;
  private final Map<String, StoreState> open = new ConcurrentHashMap<>();
  private final Map<String, TaskCommits> tasks = new HashMap<>();
  private int users;
  private boolean swept;
  private long sweptNanos;

  private Instance(Path base, Path file, FoveaConfig config) {
    this.base = base;
    this.file = file;
    this.pendingBytesMax = config.pendingBytes();
    this.rowsMax = config.rowsMax();
    this.rowsMaxMissing = Math.min(rowsMax, config.rowsMaxMissing());
    try {
      Files.createDirectories(file.getParent());
    } catch (IOException e) {
      throw new ProcessorStateException("The directory of " + file + " can't be created.", e);
    }
    Options options = config.options("streams-" + base.getFileName());
    try {
      this.database = Database.open(file, options);
    } catch (FoveaException e) {
      throw new ProcessorStateException("The database of the stores can't be opened: " + file, e);
    }
    this.keyBytesMax = database.options().device().pageSize() / 8; // of the file, not the settings
    if (config.registry() != null) {
      EngineMeters.bind(database, config.registry());
    }
    this.snapshots = new SharedSnapshot.Pool(database);
    this.stores = database.table(TableSpec.bytes(STORES, STORE_KEY_BYTES_MAX)).bytes();
  }

  /**
   * Opens a store, and creates it if it does not exist.
   *
   * @param context the context of the store's task
   * @param format the format of its values
   * @param segmentMillis the length of a segment in a new store; 0 for no segments
   */
  static StoreState open(
      StateStoreContext context, String name, StoreKind kind, String format, long segmentMillis) {
    Path directory = context.stateDir().toPath().toAbsolutePath();
    Path parent = directory.getParent();
    String last = directory.getFileName().toString();
    boolean ofTask = last.equals(context.taskId().toString()) || last.equals(GLOBAL);
    Path base = ofTask && parent != null ? parent : directory;
    Path file = base.resolve("fovea").resolve("stores.fovea");
    FoveaConfig config = FoveaConfig.of(context.appConfigs());
    Instance instance;
    synchronized (OPEN) {
      instance = OPEN.get(file);
      if (instance == null) {
        instance = new Instance(base, file, config);
        OPEN.put(file, instance);
      }
      instance.users++;
    }
    boolean done = false;
    StoreSensors sensors = StoreSensors.of(context, name);
    try {
      StoreState state =
          instance.openStore(
              directory,
              name,
              kind,
              format,
              segmentMillis,
              config.exactlyOnce() && !last.equals(GLOBAL), // global: committed records only
              sensors);
      done = true;
      return state;
    } catch (IOException e) {
      throw new ProcessorStateException("The marker of store " + name + " can't be read.", e);
    } catch (FoveaException e) {
      throw new ProcessorStateException("Store " + name + " can't be opened in " + file, e);
    } finally {
      if (!done) {
        sensors.close();
        instance.release();
      }
    }
  }

  private synchronized StoreState openStore(
      Path directory,
      String name,
      StoreKind kind,
      String format,
      long segmentMillis,
      boolean exactlyOnce,
      StoreSensors sensors)
      throws IOException {
    dropWiped();
    String task = base.equals(directory) ? "." : base.relativize(directory).toString();
    String id = task + '/' + name;
    byte[] key = id.getBytes(StandardCharsets.UTF_8);
    StoreState before = open.get(id);
    if (before != null) {
      LOG.warn(
          "Store {} of task {} is opened, and was not closed: the older one can't be used any"
              + " more.",
          name,
          task);
      before.close();
    }
    Path marker = Marker.path(directory, name);
    Position position = Position.emptyPosition();
    byte[] row = database.<byte @Nullable [], RuntimeException>read(tx -> stores.get(tx, key));
    StoreRecord record = row == null ? null : StoreRecord.decode(row, position);
    boolean there = record != null && marker(record).equals(Marker.read(marker));
    if (there && record.kind == kind && record.isOrderedOtherwise(segmentMillis)) {
      LOG.info(
          "Store {} of task {} has another layout or retention: it starts empty and is"
              + " restored from its changelog.",
          name,
          task);
      there = false;
    }
    if (!there) {
      position = Position.emptyPosition();
      record = create(key, record, kind, format, segmentMillis);
      marker(record).write(marker);
    }
    requireSame(record, name, directory, kind, format);
    RowTable table = RowTable.open(database, record.tableName(), keyBytesMax);
    StoreState state =
        new StoreState(
            this, id, name, key, record, position, table, task(task), exactlyOnce, sensors);
    open.put(id, state);
    return state;
  }

  private static void requireSame(
      StoreRecord record, String name, Path directory, StoreKind kind, String format) {
    if (record.kind != kind || !record.format.equals(format)) {
      throw new ProcessorStateException(
          "Store "
              + name
              + " was "
              + record.kind
              + " with values of the format "
              + record.format
              + ", but is now opened as "
              + kind
              + " with "
              + format
              + ". Delete "
              + directory
              + ": the store is then restored from its changelog, in the new format.");
    }
  }

  private Marker marker(StoreRecord record) {
    return new Marker(database.id(), record.table, record.random);
  }

  /**
   * Creates an empty table for a store and drops its old one, in one transaction. Need not be
   * durable: if the table is lost, its marker wipes a store that is empty.
   */
  private StoreRecord create(
      byte[] key, @Nullable StoreRecord old, StoreKind kind, String format, long segmentMillis) {
    Random random = ThreadLocalRandom.current();
    return database.call(
        tx -> {
          if (old != null) {
            RowTable.drop(tx, old.tableName());
          }
          StoreRecord made =
              new StoreRecord(nextTable(tx), random.nextLong(), kind, format, segmentMillis);
          tx.table(TableSpec.bytes(made.tableName(), keyBytesMax));
          stores.put(tx, key, made.encode(Position.emptyPosition()));
          return made;
        });
  }

  /** Table numbers come from the record with key {0}, which no store has. */
  private long nextTable(Transaction tx) {
    byte[] key = {0};
    byte[] last = stores.get(tx, key);
    long next = last == null ? 1 : Long.parseLong(new String(last, StandardCharsets.US_ASCII)) + 1;
    stores.put(tx, key, Long.toString(next).getBytes(StandardCharsets.US_ASCII));
    return next;
  }

  /** Drops the tables of wiped stores, on the first call and then periodically. */
  private void dropWiped() {
    long now = System.nanoTime();
    if (swept && now - sweptNanos < SWEEP_NANOS) {
      return;
    }
    swept = true;
    sweptNanos = now;
    database.run(
        tx -> {
          try (Cursor<byte[], byte[]> cursor =
              stores.scan(tx, new byte[] {1}, null, ScanOrder.ASCENDING)) {
            while (cursor.next()) {
              byte[] key = cursor.key();
              String id = new String(key, StandardCharsets.UTF_8);
              StoreRecord record = StoreRecord.decode(cursor.value(), Position.emptyPosition());
              if (!open.containsKey(id) && !isThere(id, record)) {
                RowTable.drop(tx, record.tableName());
                stores.delete(tx, key);
              }
            }
          }
        });
  }

  private boolean isThere(String id, StoreRecord record) {
    int slash = id.lastIndexOf('/');
    Path directory = base.resolve(id.substring(0, slash)).normalize();
    try {
      return marker(record).equals(Marker.read(Marker.path(directory, id.substring(slash + 1))));
    } catch (IOException e) {
      return true; // not known now
    }
  }

  private TaskCommits task(String name) {
    synchronized (tasks) {
      return tasks.computeIfAbsent(name, n -> new TaskCommits(this));
    }
  }

  Database database() {
    return database;
  }

  Table<byte[], byte[]> stores() {
    return stores;
  }

  /**
   * Returns the maximum number of rows in a transaction.
   *
   * @param misses whether their pages must be read
   */
  int rowsMax(boolean misses) {
    return misses ? rowsMaxMissing : rowsMax;
  }

  long misses() {
    return database.stats().buffer().misses();
  }

  /** Records how many pages were missing when a number of rows was written. */
  void missed(long pages, long rows) {
    if (rows >= ROWS_THAT_SAY) {
      missing = pages > rows / 16;
    }
  }

  boolean isMissing() {
    return missing;
  }

  void commitBegins() {
    commits.incrementAndGet();
  }

  void commitEnds() {
    commits.incrementAndGet();
  }

  /** Returns a snapshot that includes all ended commits. */
  SharedSnapshot snapshot() {
    return snapshots.take(commits.get());
  }

  /** Adds to the pending bytes; returns whether a store that has {@code own} of them must spill. */
  boolean hasToSpill(long grown, long own) {
    long all = pendingBytes.addAndGet(grown);
    return all > pendingBytesMax && own >= pendingBytesMax / Math.max(1, open.size()) / 2;
  }

  void spilled(long bytes) {
    pendingBytes.addAndGet(-bytes);
  }

  void close(String id, StoreState state) {
    if (open.remove(id, state)) {
      release();
    }
  }

  private void release() {
    synchronized (OPEN) {
      if (--users == 0) {
        OPEN.remove(file);
        database.close();
      }
    }
  }

  @Override
  public String toString() {
    return Objects.toString(file);
  }
}
