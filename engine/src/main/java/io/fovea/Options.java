package io.fovea;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.io.DeviceConfig;
import io.fovea.memory.Waits;
import io.fovea.store.HostResources;
import io.fovea.store.Store;
import io.fovea.store.StoreConfig;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TxConfig;
import io.fovea.wal.LogConfig;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Options for opening a database: the common options, and groups of rarely needed ones.
 *
 * <pre>{@code
 * Options options =
 *     Options.defaults()
 *         .bufferBytes(4L << 30)
 *         .durability(Durability.ASYNC)
 *         .transactions(t -> t.timeout(Duration.ofSeconds(10)))
 *         .log(l -> l.maxBytes(2L << 30));
 * }</pre>
 *
 * <p>Immutable: every method with an argument returns a new instance. Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class Options {
  /** The default ratio of the buffer size to the size of the key location cache. */
  private static final int BUFFER_PER_LOCATION_CACHE = 16;

  private static final Options DEFAULTS = new Options(new Values());

  private static final class Values extends OptionValues<Values> {
    String name = "";
    long bufferBytes = HostResources.defaultBytes(256L << 20);
    @Nullable BufferShare share;
    long shareLeast;
    Durability durability = Durability.SYNC;
    boolean create = true;
    boolean readOnly;
    MemoryOptions memory = MemoryOptions.defaults();
    LogOptions log = LogOptions.defaults();
    TransactionOptions transactions = TransactionOptions.defaults();
    SnapshotOptions snapshots = SnapshotOptions.defaults();
    ExpiryOptions expiry = ExpiryOptions.defaults();
    DeviceOptions device = DeviceOptions.defaults();
    ExperimentOptions experiments = ExperimentOptions.defaults();
  }

  private final Values v;

  private Options(Values v) {
    this.v = v;
  }

  /**
   * {@return the defaults: 4 KiB pages, a 256 MiB buffer, the fastest I/O backend available, and
   * commits on stable storage when they return}
   */
  public static Options defaults() {
    return DEFAULTS;
  }

  private Options with(Consumer<Values> change) {
    return new Options(v.with(change));
  }

  static void check(boolean good, String what, Object value) {
    if (!good) {
      throw new IllegalArgumentException(what + ", not " + value + ".");
    }
  }

  /**
   * Sets the name of the database in log lines and meters.
   *
   * @param name the name; empty, the default, for its file name
   * @return new options
   */
  public Options name(String name) {
    Objects.requireNonNull(name, "name");
    return with(v -> v.name = name);
  }

  /** {@return the name of the database in log lines and meters; empty for its file name} */
  public String name() {
    return v.name;
  }

  /**
   * Sets the memory for pages and everything that belongs to them, allocated outside the Java heap.
   * The default is 256 MiB, at most an eighth of the memory of the machine or container.
   *
   * @param bytes a hard limit, also on the database's part of a {@link BufferShare}
   * @return new options
   * @throws IllegalArgumentException if it is not positive; whether it suffices is checked at open
   */
  public Options bufferBytes(long bytes) {
    check(bytes > 0, "Options.bufferBytes must be positive", bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /** {@return the bytes of memory for pages and everything that belongs to them} */
  public long bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Shares the buffer with other databases: see {@link BufferShare}. An eighth of {@link
   * #bufferBytes} is reserved for this one.
   *
   * @param share the share, the same object for all of these databases
   * @return new options
   */
  public Options bufferShare(BufferShare share) {
    return bufferShare(share, 0);
  }

  /**
   * Shares the buffer with other databases: see {@link BufferShare}.
   *
   * @param share the share, the same object for all of these databases
   * @param leastBytes the bytes reserved for this database, raised to the minimum that it needs and
   *     limited to {@link #bufferBytes}; 0 means an eighth of {@code bufferBytes}
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options bufferShare(BufferShare share, long leastBytes) {
    Objects.requireNonNull(share, "share");
    check(
        leastBytes >= 0,
        "The bytes that Options.bufferShare guarantees must be 0 or " + "more",
        leastBytes);
    return with(
        v -> {
          v.share = share;
          v.shareLeast = leastBytes;
        });
  }

  /** {@return the share of the buffer, or null if the database has its own buffer} */
  public @Nullable BufferShare bufferShare() {
    return v.share;
  }

  /**
   * Sets which failures a commit survives once it has returned. The level may differ each time a
   * file is opened. An in-memory database survives nothing, whatever the level.
   *
   * @param durability the level; the default is {@link Durability#SYNC}
   * @return new options
   */
  public Options durability(Durability durability) {
    Objects.requireNonNull(durability, "durability");
    return with(v -> v.durability = durability);
  }

  /** {@return the level that says which failures a commit survives once it has returned} */
  public Durability durability() {
    return v.durability;
  }

  /**
   * Sets whether to create a file that does not exist.
   *
   * @param create true, the default, to create it
   * @return new options
   */
  public Options create(boolean create) {
    return with(v -> v.create = create);
  }

  /** {@return whether to create a file that does not exist} */
  public boolean create() {
    return v.create;
  }

  /**
   * Sets whether to open the database read-only. If so, nothing in its folder changes, and all
   * transactions are read-only. Any number of processes may have the file open read-only at the
   * same time, but not while a process has it open for writing; they share the operating system's
   * page cache.
   *
   * <p>A file that was not closed is recovered in memory at each open, which takes memory for
   * everything that the recovery changes. The file must exist, whatever {@link #create} says, and
   * keeps its page size, whatever {@link DeviceOptions#pageSize} says.
   *
   * @param readOnly true for reading only; false, the default, for reading and writing
   * @return new options
   */
  public Options readOnly(boolean readOnly) {
    return with(v -> v.readOnly = readOnly);
  }

  /** {@return whether to open the database read-only} */
  public boolean readOnly() {
    return v.readOnly;
  }

  /**
   * Changes the options of memory outside of the buffer.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options memory(UnaryOperator<MemoryOptions> change) {
    MemoryOptions changed = Objects.requireNonNull(change.apply(v.memory), "memory");
    return with(v -> v.memory = changed);
  }

  /** {@return the options of memory outside of the buffer} */
  public MemoryOptions memory() {
    return v.memory;
  }

  /**
   * Changes the options of the log.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options log(UnaryOperator<LogOptions> change) {
    LogOptions changed = Objects.requireNonNull(change.apply(v.log), "log");
    return with(v -> v.log = changed);
  }

  /** {@return the options of the log} */
  public LogOptions log() {
    return v.log;
  }

  /**
   * Changes the limits on transactions.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options transactions(UnaryOperator<TransactionOptions> change) {
    TransactionOptions changed =
        Objects.requireNonNull(change.apply(v.transactions), "transactions");
    return with(v -> v.transactions = changed);
  }

  /** {@return the limits on transactions} */
  public TransactionOptions transactions() {
    return v.transactions;
  }

  /**
   * Changes the limits on snapshots.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options snapshots(UnaryOperator<SnapshotOptions> change) {
    SnapshotOptions changed = Objects.requireNonNull(change.apply(v.snapshots), "snapshots");
    return with(v -> v.snapshots = changed);
  }

  /** {@return the limits on snapshots} */
  public SnapshotOptions snapshots() {
    return v.snapshots;
  }

  /**
   * Changes how rows expire.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options expiry(UnaryOperator<ExpiryOptions> change) {
    ExpiryOptions changed = Objects.requireNonNull(change.apply(v.expiry), "expiry");
    return with(v -> v.expiry = changed);
  }

  /** {@return the options of row expiry} */
  public ExpiryOptions expiry() {
    return v.expiry;
  }

  /**
   * Changes the file layout and I/O options.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options device(UnaryOperator<DeviceOptions> change) {
    DeviceOptions changed = Objects.requireNonNull(change.apply(v.device), "device");
    return with(v -> v.device = changed);
  }

  /** {@return the file layout and I/O options} */
  public DeviceOptions device() {
    return v.device;
  }

  /**
   * Changes the experimental switches. Their defaults are right for applications; for the one
   * possible exception see {@link ExperimentOptions#translation(Translation)}.
   *
   * @param change derives the new options from the current ones
   * @return new options
   */
  public Options experiments(UnaryOperator<ExperimentOptions> change) {
    ExperimentOptions changed = Objects.requireNonNull(change.apply(v.experiments), "experiments");
    return with(v -> v.experiments = changed);
  }

  /** {@return the experimental switches} */
  public ExperimentOptions experiments() {
    return v.experiments;
  }

  StoreConfig toStoreConfig() {
    return new StoreConfig(
        name(),
        create(),
        readOnly(),
        DeviceConfig.defaults().kind(device().io()).direct(device().directIo()),
        log().doubleWrite(),
        new LogConfig(
            log().segmentBytes(),
            log().bufferBytes(),
            log().maxFlushDelay().toNanos(),
            log().asyncWindowBytes(),
            log().maxBytes(),
            log().changeRetentionBytes()),
        Waits.nanos(log().checkpointInterval()),
        Waits.nanos(log().idleTimeout()),
        pool(),
        experiments().timestampsInBuffer(),
        locationCacheBytes(),
        experiments().locationCacheLayout(),
        transactionConfig());
  }

  /**
   * Returns the configured size, or a sixteenth of the buffer rounded up to a power of two, the
   * size of a flat table. Rounding down could leave a full buffer with twice the table's records.
   */
  private long locationCacheBytes() {
    long bytes = memory().locationCacheBytes();
    return bytes != 0
        ? bytes
        : Long.highestOneBit(bufferBytes() / BUFFER_PER_LOCATION_CACHE - 1) << 1;
  }

  private long activeTimestampBytes(TimestampStore kind) {
    long bytes = memory().activeTimestampBytes();
    return bytes != 0 ? bytes : TimestampConfig.activeTimestampBytes(kind);
  }

  /** Returns these options with the settings of a file opened read-only. */
  Options asOpened(Store store) {
    return device(dev -> dev.pageSize(store.pool().pageSize()))
        .create(false)
        .durability(store.journal() == null ? Durability.NONE : Durability.ASYNC);
  }

  /** Returns these options for a snapshot, whose clock stays at the time of its creation. */
  Options ofSnapshot(Store store) {
    Instant created = expiry().clock().instant();
    return expiry(e -> e.clock(InstantSource.fixed(created)))
        .name(store.name())
        .bufferBytes(snapshots().bufferBytes())
        .readOnly(true)
        .create(false)
        .durability(Durability.NONE)
        .transactions(t -> t.timeout(Duration.ZERO));
  }

  private PoolConfig pool() {
    BufferShare share = v.share;
    return new PoolConfig(
        device().pageSize(),
        bufferBytes(),
        experiments().translation(),
        experiments().replacement(),
        memory().pretouch(),
        PoolConfig.EXHAUSTED_MILLIS,
        experiments().hints().frames(),
        device().maxInFlightReads(),
        share == null ? null : share.pools,
        share == null ? 0 : v.shareLeast == 0 ? v.bufferBytes / 8 : v.shareLeast,
        experiments().hugePages(),
        experiments().fileBytesMax());
  }

  private TxConfig transactionConfig() {
    boolean isolated = experiments().isolated();
    if (!isolated && transactions().maxActive() != 1) {
      throw new InvalidUseException(
          "Without isolation (ExperimentOptions.isolated) one transaction "
              + "runs at a time: TransactionOptions.maxActive must be 1, but is "
              + transactions().maxActive()
              + ".");
    }
    return new TxConfig(
        transactions().maxActive(),
        transactions().maxBytes(),
        TxConfig.ITEMS_MAX,
        timestampConfig(),
        transactions().strictSerializability(),
        experiments().hints().sets(),
        durability(),
        log().bufferBytes() / 8,
        isolated ? experiments().protocol() : Protocol.OCC,
        isolated ? TxConfig.PROTOCOL_BYTES : TxConfig.LITTLE_BYTES,
        true,
        log().changeRetentionBytes() > 0,
        isolated);
  }

  private TimestampConfig timestampConfig() {
    TimestampStore kind = experiments().timestamps();
    return TimestampConfig.of(
        kind,
        experiments().evictImmediately()
            ? TimestampConfig.Release.IMMEDIATE
            : TxConfig.DEFAULT.timestamps().release(),
        Math.min(activeTimestampBytes(kind), memory().timestampBytes()),
        memory().timestampBytes(),
        memory().sketchBytesMin(),
        memory().sketchBytesMax());
  }

  @Override
  public String toString() {
    StringJoiner text = new StringJoiner(", ", "Options[", "]");
    text.add("name=" + v.name).add("bufferBytes=" + v.bufferBytes);
    if (v.share != null) {
      text.add("bufferShare=" + v.share);
    }
    return text.add("durability=" + v.durability)
        .add("create=" + v.create)
        .add("readOnly=" + v.readOnly)
        .add("memory=" + v.memory)
        .add("log=" + v.log)
        .add("transactions=" + v.transactions)
        .add("snapshots=" + v.snapshots)
        .add("expiry=" + v.expiry)
        .add("device=" + v.device)
        .add("experiments=" + v.experiments)
        .toString();
  }
}
