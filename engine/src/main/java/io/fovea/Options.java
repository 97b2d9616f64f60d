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
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * How a database is opened: what every application decides, and groups of what few do.
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
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class Options {
  /** The buffer is so many times what places of records may take, where nobody says how much. */
  private static final int BUFFER_BY_PLACES = 16;

  private static final Options DEFAULTS = new Options(new Values());

  /** The values, mutable only while a new Options is being made. */
  private static final class Values implements Cloneable {
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

    @Override
    public Values clone() {
      try {
        return (Values) super.clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private final Values v;

  private Options(Values v) {
    this.v = v;
  }

  /**
   * The defaults: pages of 4 KiB, a buffer of 256 MiB, the best device there is, and commits that
   * are on stable storage when they return.
   *
   * @return the options that the others are made from
   */
  public static Options defaults() {
    return DEFAULTS;
  }

  private Options with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new Options(copy);
  }

  static void check(boolean good, String what, Object value) {
    if (!good) {
      throw new IllegalArgumentException(what + ", not " + value + ".");
    }
  }

  /**
   * Sets the name of the database in log lines and meters.
   *
   * @param name the name; empty, the default, for the name of its file
   * @return new options
   */
  public Options name(String name) {
    Objects.requireNonNull(name, "name");
    return with(v -> v.name = name);
  }

  /**
   * The name of the database in log lines and meters.
   *
   * @return the name, empty for that of its file
   */
  public String name() {
    return v.name;
  }

  /**
   * Sets the memory that the database may use for pages and all that belongs to them. It is taken
   * outside the Java heap. The default is 256 MiB; below 2 GiB of memory, an eighth of what the
   * machine or the container has.
   *
   * @param bytes a hard limit; in a {@link BufferShare} the most that the database gets of it
   * @return new options
   * @throws IllegalArgumentException if it is not positive; whether it is enough is checked when
   *     the database is opened
   */
  public Options bufferBytes(long bytes) {
    check(bytes > 0, "Options.bufferBytes is positive", bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /**
   * The memory that the database may use for pages and all that belongs to them.
   *
   * @return bytes
   */
  public long bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Lets the database have its buffer in common with others: see {@link BufferShare}. An eighth of
   * {@link #bufferBytes} is always its own.
   *
   * @param share the same for all that share it
   * @return new options
   */
  public Options bufferShare(BufferShare share) {
    return bufferShare(share, 0);
  }

  /**
   * Lets the database have its buffer in common with others: see {@link BufferShare}.
   *
   * @param share the same for all that share it
   * @param leastBytes how much the database can always have; the least that it works with where
   *     that is more, and {@link #bufferBytes} where that is less; 0 for an eighth of that
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options bufferShare(BufferShare share, long leastBytes) {
    Objects.requireNonNull(share, "share");
    check(leastBytes >= 0, "Options.bufferShare is given 0 bytes or more", leastBytes);
    return with(
        v -> {
          v.share = share;
          v.shareLeast = leastBytes;
        });
  }

  /**
   * With what others have their buffer in common.
   *
   * @return the share; null where the buffer is the database's own
   */
  public @Nullable BufferShare bufferShare() {
    return v.share;
  }

  /**
   * Sets what a commit that has returned survives. It may be another one each time that a file is
   * opened. A database in memory survives nothing, whatever is set here.
   *
   * @param durability the level; the default is {@link Durability#SYNC}
   * @return new options
   */
  public Options durability(Durability durability) {
    Objects.requireNonNull(durability, "durability");
    return with(v -> v.durability = durability);
  }

  /**
   * What a commit that has returned survives.
   *
   * @return the level
   */
  public Durability durability() {
    return v.durability;
  }

  /**
   * Sets whether a file that does not exist is created.
   *
   * @param create true, the default, to create it
   * @return new options
   */
  public Options create(boolean create) {
    return with(v -> v.create = create);
  }

  /**
   * Whether a file that does not exist is created.
   *
   * @return true to create it
   */
  public boolean create() {
    return v.create;
  }

  /**
   * Sets whether the database is opened for reading only. Then nothing in its folder is changed: a
   * file that was not closed is recovered in memory, which takes as much memory as its recovery
   * changes, each time that it is opened. Any number of processes may have it open like this at the
   * same time, and none that writes. The file exists, whatever {@link #create} says, and keeps its
   * page size, whatever {@link DeviceOptions#pageSize} says. All transactions are read-only.
   *
   * <p>Pages are read through the operating system's page cache, which such processes share.
   *
   * @param readOnly true for reading only; false, the default, for reading and writing
   * @return new options
   */
  public Options readOnly(boolean readOnly) {
    return with(v -> v.readOnly = readOnly);
  }

  /**
   * Whether the database is opened for reading only.
   *
   * @return true for reading only
   */
  public boolean readOnly() {
    return v.readOnly;
  }

  /**
   * Changes what memory it takes beside its buffer.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options memory(UnaryOperator<MemoryOptions> change) {
    MemoryOptions changed = Objects.requireNonNull(change.apply(v.memory), "memory");
    return with(v -> v.memory = changed);
  }

  /**
   * Says what memory it takes beside its buffer.
   *
   * @return a part of these options
   */
  public MemoryOptions memory() {
    return v.memory;
  }

  /**
   * Changes how the log is kept.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options log(UnaryOperator<LogOptions> change) {
    LogOptions changed = Objects.requireNonNull(change.apply(v.log), "log");
    return with(v -> v.log = changed);
  }

  /**
   * Says how the log is kept.
   *
   * @return a part of these options
   */
  public LogOptions log() {
    return v.log;
  }

  /**
   * Changes how many transactions there may be, how long and how large.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options transactions(UnaryOperator<TransactionOptions> change) {
    TransactionOptions changed =
        Objects.requireNonNull(change.apply(v.transactions), "transactions");
    return with(v -> v.transactions = changed);
  }

  /**
   * Says how many transactions there may be, how long and how large.
   *
   * @return a part of these options
   */
  public TransactionOptions transactions() {
    return v.transactions;
  }

  /**
   * Changes what snapshots may take.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options snapshots(UnaryOperator<SnapshotOptions> change) {
    SnapshotOptions changed = Objects.requireNonNull(change.apply(v.snapshots), "snapshots");
    return with(v -> v.snapshots = changed);
  }

  /**
   * Says what snapshots may take.
   *
   * @return a part of these options
   */
  public SnapshotOptions snapshots() {
    return v.snapshots;
  }

  /**
   * Changes how rows expire.
   *
   * @param change makes new options of those that there are
   * @return new options
   */
  public Options expiry(UnaryOperator<ExpiryOptions> change) {
    ExpiryOptions changed = Objects.requireNonNull(change.apply(v.expiry), "expiry");
    return with(v -> v.expiry = changed);
  }

  /**
   * Says how rows expire.
   *
   * @return the options of rows that expire
   */
  public ExpiryOptions expiry() {
    return v.expiry;
  }

  /**
   * Changes how the file is laid out and reached.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options device(UnaryOperator<DeviceOptions> change) {
    DeviceOptions changed = Objects.requireNonNull(change.apply(v.device), "device");
    return with(v -> v.device = changed);
  }

  /**
   * Says how the file is laid out and reached.
   *
   * @return a part of these options
   */
  public DeviceOptions device() {
    return v.device;
  }

  /**
   * Changes the switches of the papers, whose defaults are right for applications. When to choose
   * another translation of page ids says {@link ExperimentOptions#translation(Translation)}.
   *
   * @param change makes new ones of those that there are
   * @return new options
   */
  public Options experiments(UnaryOperator<ExperimentOptions> change) {
    ExperimentOptions changed = Objects.requireNonNull(change.apply(v.experiments), "experiments");
    return with(v -> v.experiments = changed);
  }

  /**
   * Says the switches of the papers.
   *
   * @return a part of these options
   */
  public ExperimentOptions experiments() {
    return v.experiments;
  }

  // ------------------------------------------------------------------------------ for the engine

  /** The options as the rooms of the engine know them. */
  StoreConfig toStore() {
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
        experiments().placeDirectory(),
        transactionConfig());
  }

  /**
   * What was set; else a sixteenth of the buffer, rounded up to a power of two, which a flat table
   * has: rounded down, a buffer full of records would have up to twice as many as the table.
   */
  private long locationCacheBytes() {
    long bytes = memory().locationCacheBytes();
    return bytes != 0 ? bytes : Long.highestOneBit(bufferBytes() / BUFFER_BY_PLACES - 1) << 1;
  }

  private long activeTimestampBytes(TimestampStore kind) {
    long bytes = memory().activeTimestampBytes();
    return bytes != 0 ? bytes : TimestampConfig.activeTimestampBytes(kind);
  }

  /** The same with what a file says that was opened for reading only. */
  Options asOpened(Store store) {
    return device(dev -> dev.pageSize(store.pool().pageSize()))
        .create(false)
        .durability(store.journal() == null ? Durability.NONE : Durability.ASYNC);
  }

  /** The same as a snapshot has them: for it, it is always the moment at which it was opened. */
  Options ofSnapshot(Store store) {
    Instant moment = expiry().clock().instant();
    return expiry(e -> e.clock(InstantSource.fixed(moment)))
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
          "Without isolation (ExperimentOptions.isolated) one transaction runs at a time:"
              + " TransactionOptions.maxActive has to be 1, and is "
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
    return "Options[name="
        + v.name
        + ", bufferBytes="
        + v.bufferBytes
        + (v.share == null ? "" : ", bufferShare=" + v.share)
        + ", durability="
        + v.durability
        + ", create="
        + v.create
        + ", readOnly="
        + v.readOnly
        + ", memory="
        + v.memory
        + ", log="
        + v.log
        + ", transactions="
        + v.transactions
        + ", snapshots="
        + v.snapshots
        + ", expiry="
        + v.expiry
        + ", device="
        + v.device
        + ", experiments="
        + v.experiments
        + "]";
  }
}
