package io.fovea;

import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * Selects algorithms that benchmarks compare. All choices give the same results and isolation; they
 * differ in speed and memory. The defaults are the fastest known, and an application has no reason
 * to change them. A file can be opened with different choices each time. A value: each setter
 * returns new options. Safe for any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class ExperimentOptions {
  private static final ExperimentOptions DEFAULTS = new ExperimentOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    Protocol protocol = Protocol.TICTOC;
    TimestampStore timestamps = TimestampStore.FOCUS_SKETCH;
    Translation translation = Translation.PREDICTIVE;
    Replacement replacement = Replacement.SECOND_CHANCE;
    Hints hints = Hints.ALL;
    int subtreeDeleteThreshold = 256;
    boolean cacheAllKeyLocations;
    boolean hugePages = true;
    long fileBytesMax;
    LocationCacheLayout locationCacheLayout = LocationCacheLayout.FLAT;
    boolean evictImmediately;
    boolean timestampsInBuffer;
    boolean isolated = true;
  }

  private final Values v;

  private ExperimentOptions(Values v) {
    this.v = v;
  }

  /** {@return the default options} */
  public static ExperimentOptions defaults() {
    return DEFAULTS;
  }

  private ExperimentOptions with(Consumer<Values> change) {
    return new ExperimentOptions(v.with(change));
  }

  /**
   * Sets the concurrency control protocol.
   *
   * @param protocol the protocol; the default is {@link Protocol#TICTOC}
   * @return new options
   */
  public ExperimentOptions protocol(Protocol protocol) {
    Objects.requireNonNull(protocol, "protocol");
    return with(v -> v.protocol = protocol);
  }

  /** {@return the concurrency control protocol} */
  public Protocol protocol() {
    return v.protocol;
  }

  /**
   * Sets where the timestamps of records that no transaction uses are kept.
   *
   * @param store the store; the default is {@link TimestampStore#FOCUS_SKETCH}
   * @return new options
   */
  public ExperimentOptions timestamps(TimestampStore store) {
    Objects.requireNonNull(store, "store");
    return with(v -> v.timestamps = store);
  }

  /** {@return where the timestamps of records that no transaction uses are kept} */
  public TimestampStore timestamps() {
    return v.timestamps;
  }

  /**
   * Sets how the frame of a page is found.
   *
   * <ul>
   *   <li>{@link Translation#PREDICTIVE}, the default, suits all applications. A descent waits for
   *       no table lookup, and needs no system calls.
   *   <li>{@link Translation#DIRECT} shows the cost of buffer management. The buffer must hold the
   *       whole file, and opening reads all of it.
   *   <li>{@link Translation#SWIZZLED} uses pointers. It slows down as pages come and go: each
   *       eviction makes readers of the parent start over.
   *   <li>{@link Translation#VIRTUAL} uses the operating system's page table. It costs 72 bytes of
   *       the buffer for each page of the file, a page fault for each page read, and system calls
   *       for evictions; it works best with Linux 6.16 or later. See also {@link #fileBytesMax},
   *       and {@link #hugePages} to give the other translations 4 KiB entries of the processor's
   *       page table too.
   *   <li>{@link Translation#PREDICTIVE_HASHED}, {@link Translation#OPTIMISTIC}, {@link
   *       Translation#OPTIMISTIC_CHAINED} and {@link Translation#LATCHED} are the steps between a
   *       latched table and prediction.
   * </ul>
   *
   * <p>If the system or the buffer does not suit {@link Translation#VIRTUAL} or {@link
   * Translation#DIRECT}, opening fails with an {@link io.fovea.error.InvalidUseException} that
   * gives the reason.
   *
   * @param translation the kind of translation
   * @return new options
   */
  public ExperimentOptions translation(Translation translation) {
    Objects.requireNonNull(translation, "translation");
    return with(v -> v.translation = translation);
  }

  /** {@return how the frame of a page is found} */
  public Translation translation() {
    return v.translation;
  }

  /**
   * Sets which pages are evicted first. This matters only if the data exceeds the buffer.
   *
   * @param replacement the policy; the default is {@link Replacement#SECOND_CHANCE}
   * @return new options
   */
  public ExperimentOptions replacement(Replacement replacement) {
    Objects.requireNonNull(replacement, "replacement");
    return with(v -> v.replacement = replacement);
  }

  /** {@return the policy that selects pages for eviction} */
  public Replacement replacement() {
    return v.replacement;
  }

  /**
   * Sets where physical addresses are stored alongside logical names.
   *
   * @param hints the hints; the default is {@link Hints#ALL}
   * @return new options
   */
  public ExperimentOptions hints(Hints hints) {
    Objects.requireNonNull(hints, "hints");
    return with(v -> v.hints = hints);
  }

  /** {@return where physical addresses are stored alongside logical names} */
  public Hints hints() {
    return v.hints;
  }

  /**
   * Sets the minimum number of leaves for which a range delete removes whole leaves: leaves that
   * hold no other records. This takes a few milliseconds plus a little per leaf, and aborts
   * transactions that are using the table. With fewer leaves, records are deleted one by one.
   *
   * @param leaves the number of leaves; 0 for always, {@link Integer#MAX_VALUE} for never. The
   *     default is 256
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public ExperimentOptions subtreeDeleteThreshold(int leaves) {
    if (leaves < 0) {
      throw new IllegalArgumentException(
          "ExperimentOptions.subtreeDeleteThreshold is 0 or more, not " + leaves + ".");
    }
    return with(v -> v.subtreeDeleteThreshold = leaves);
  }

  /** {@return the minimum number of leaves for which a range delete removes whole leaves} */
  public int subtreeDeleteThreshold() {
    return v.subtreeDeleteThreshold;
  }

  /**
   * Sets whether key locations of all tables and indexes are cached, as if each specification had
   * {@link io.fovea.schema.TableSpec#cacheLocations()}.
   *
   * @param all true for all; false, the default, for those whose specification says so
   * @return new options
   */
  public ExperimentOptions cacheAllKeyLocations(boolean all) {
    return with(v -> v.cacheAllKeyLocations = all);
  }

  /** {@return whether key locations of all tables and indexes are cached; false by default} */
  public boolean cacheAllKeyLocations() {
    return v.cacheAllKeyLocations;
  }

  /**
   * Sets whether the buffer requests huge pages. Without them the processor translates more
   * addresses, as it always does under {@link Translation#VIRTUAL}.
   *
   * @param huge whether to request them; the default is true
   * @return new options
   */
  public ExperimentOptions hugePages(boolean huge) {
    return with(v -> v.hugePages = huge);
  }

  /** {@return whether the buffer requests huge pages; true by default} */
  public boolean hugePages() {
    return v.hugePages;
  }

  /**
   * Sets the maximum size of the file under {@link Translation#VIRTUAL}, which reserves that much
   * address space. Other translations ignore it.
   *
   * @param bytes the maximum in bytes; 0, the default, for as much as the buffer allows
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public ExperimentOptions fileBytesMax(long bytes) {
    Options.check(bytes >= 0, "ExperimentOptions.fileBytesMax is 0 or more", bytes);
    return with(v -> v.fileBytesMax = bytes);
  }

  /**
   * {@return the maximum size of the file under {@link Translation#VIRTUAL}, in bytes; 0 for as
   * much as the buffer allows}
   */
  public long fileBytesMax() {
    return v.fileBytesMax;
  }

  /**
   * Sets the memory layout of cached key locations.
   *
   * @param directory the layout; the default is {@link LocationCacheLayout#FLAT}
   * @return new options
   */
  public ExperimentOptions locationCacheLayout(LocationCacheLayout directory) {
    Objects.requireNonNull(directory, "directory");
    return with(v -> v.locationCacheLayout = directory);
  }

  /** {@return the memory layout of cached key locations} */
  public LocationCacheLayout locationCacheLayout() {
    return v.locationCacheLayout;
  }

  /**
   * Sets whether exact timestamps are evicted as soon as no transaction uses the record: the rule
   * for {@link TimestampStore#FOCUS_SKETCH} in the dissertation named there. Otherwise they stay
   * until their space is needed. {@link TimestampStore#DISK} always evicts immediately, {@link
   * TimestampStore#MEMORY} never.
   *
   * @param atOnce whether to evict immediately; the default is false
   * @return new options
   */
  public ExperimentOptions evictImmediately(boolean atOnce) {
    return with(v -> v.evictImmediately = atOnce);
  }

  /**
   * {@return whether exact timestamps are evicted as soon as no transaction uses the record; false
   * by default}
   */
  public boolean evictImmediately() {
    return v.evictImmediately;
  }

  /**
   * Sets whether the memory of timestamps is part of {@link Options#bufferBytes()}, to compare
   * stores with equal memory. The pages of records then have less memory. The reduction is, for
   * {@link TimestampStore#DISK} and {@link TimestampStore#DISK_CACHE} an eighth, and the
   * {@linkplain MemoryOptions#activeTimestampBytes() region} of exact timestamps with the cache;
   * for {@link TimestampStore#MEMORY} all of {@link MemoryOptions#timestampBytes()}; for the others
   * the region and the sketch. Otherwise that memory is separate from the buffer.
   *
   * @param inBuffer whether it is part of the buffer; the default is false
   * @return new options
   */
  public ExperimentOptions timestampsInBuffer(boolean inBuffer) {
    return with(v -> v.timestampsInBuffer = inBuffer);
  }

  /** {@return whether the memory of timestamps is part of the buffer; false by default} */
  public boolean timestampsInBuffer() {
    return v.timestampsInBuffer;
  }

  /**
   * Sets whether there is any concurrency control. Without it, transactions are serial: nothing is
   * locked, recorded or validated, and {@link #protocol} and {@link #timestamps} have no effect.
   * {@link TransactionOptions#maxActive} must be 1, or opening fails with {@link
   * io.fovea.error.InvalidUseException}. A thread that begins a transaction within another waits
   * for itself until the timeout.
   *
   * <p>It exists to reproduce figure 14 of Graefe et al., "In-Memory Performance for Big Data"
   * (PVLDB 8, 2014): the cost of locks.
   *
   * @param isolated whether there is concurrency control; the default is true
   * @return new options
   */
  public ExperimentOptions isolated(boolean isolated) {
    return with(v -> v.isolated = isolated);
  }

  /** {@return whether there is concurrency control; true by default} */
  public boolean isolated() {
    return v.isolated;
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "ExperimentOptions[", "]")
        .add("protocol=" + v.protocol)
        .add("timestamps=" + v.timestamps)
        .add("translation=" + v.translation)
        .add("replacement=" + v.replacement)
        .add("hints=" + v.hints)
        .add("subtreeDeleteThreshold=" + v.subtreeDeleteThreshold)
        .add("cacheAllKeyLocations=" + v.cacheAllKeyLocations)
        .add("hugePages=" + v.hugePages)
        .add("fileBytesMax=" + v.fileBytesMax)
        .add("locationCacheLayout=" + v.locationCacheLayout)
        .add("evictImmediately=" + v.evictImmediately)
        .add("timestampsInBuffer=" + v.timestampsInBuffer)
        .add("isolated=" + v.isolated)
        .toString();
  }
}
