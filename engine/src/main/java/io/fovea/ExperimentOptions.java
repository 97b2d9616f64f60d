package io.fovea;

import io.fovea.config.PlaceDirectory;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The switches of the papers: what the engine is compared with, by benchmarks.
 *
 * <p>The defaults are what the papers, and our own figures, find best. All choices give the same
 * results, with the same isolation; they differ in speed and memory. An application has no reason
 * to touch them.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class ExperimentOptions {
  private static final ExperimentOptions DEFAULTS = new ExperimentOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    Protocol protocol = Protocol.TICTOC;
    TimestampStore timestamps = TimestampStore.FOCUS_SKETCH;
    Translation translation = Translation.PREDICTIVE;
    Replacement replacement = Replacement.SECOND_CHANCE;
    Hints hints = Hints.ALL;
    int subtreeDeleteThreshold = 256;
    boolean cacheAllKeyLocations;
    boolean hugePages = true;
    long fileBytesMax;
    PlaceDirectory placeDirectory = PlaceDirectory.FLAT;
    boolean evictImmediately;
    boolean timestampsInBuffer;
    boolean isolated = true;

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

  private ExperimentOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static ExperimentOptions defaults() {
    return DEFAULTS;
  }

  private ExperimentOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new ExperimentOptions(copy);
  }

  /**
   * Sets what makes transactions serializable. It may be another choice each time that a file is
   * opened.
   *
   * @param protocol the protocol; the default is {@link Protocol#TICTOC}
   * @return new options
   */
  public ExperimentOptions protocol(Protocol protocol) {
    Objects.requireNonNull(protocol, "protocol");
    return with(v -> v.protocol = protocol);
  }

  /**
   * The protocol that makes transactions serializable.
   *
   * @return the protocol
   */
  public Protocol protocol() {
    return v.protocol;
  }

  /**
   * Sets where the timestamps of records are that no transaction uses. It may be another choice
   * each time that a file is opened.
   *
   * @param store the place; the default is {@link TimestampStore#FOCUS_SKETCH}
   * @return new options
   */
  public ExperimentOptions timestamps(TimestampStore store) {
    Objects.requireNonNull(store, "store");
    return with(v -> v.timestamps = store);
  }

  /**
   * Where the timestamps of records are that no transaction uses.
   *
   * @return the place
   */
  public TimestampStore timestamps() {
    return v.timestamps;
  }

  /**
   * Sets how the frame of a page is found. It may be another kind each time that a file is opened:
   * nothing of it is in the file.
   *
   * <p>When to choose which:
   *
   * <ul>
   *   <li>{@link Translation#PREDICTIVE}, the default: always. A descent waits for no table, and
   *       nothing is asked of the system.
   *   <li>{@link Translation#DIRECT}: to see what an engine costs that has no buffer to manage. The
   *       buffer has to hold all of the file, and opening reads all of it.
   *   <li>{@link Translation#SWIZZLED}: to compare with pointers. The more pages come and go, the
   *       worse it gets: each that leaves makes readers of its parent begin again.
   *   <li>{@link Translation#VIRTUAL}: to compare with the operating system's page table. It takes
   *       72 bytes of the buffer for each page of the file, a page fault for each page that comes,
   *       and system calls for pages that leave: best with Linux 6.16 or later. See also {@link
   *       #fileBytesMax} and, to give others pages of 4 KiB of the processor's page table too,
   *       {@link #hugePages}.
   *   <li>{@link Translation#PREDICTIVE_HASHED}, {@link Translation#OPTIMISTIC}, {@link
   *       Translation#OPTIMISTIC_CHAINED}, {@link Translation#LATCHED}: to see what each step from
   *       a table behind latches to a prediction brings.
   * </ul>
   *
   * <p>Opening is refused with an {@link io.fovea.error.InvalidUseException} that says why where
   * the system or the buffer does not suit {@link Translation#VIRTUAL} or {@link
   * Translation#DIRECT}.
   *
   * @param translation the kind of translation
   * @return new options
   */
  public ExperimentOptions translation(Translation translation) {
    Objects.requireNonNull(translation, "translation");
    return with(v -> v.translation = translation);
  }

  /**
   * How the frame of a page is found.
   *
   * @return the kind of translation
   */
  public Translation translation() {
    return v.translation;
  }

  /**
   * Sets which pages leave the buffer when others need their frames. It matters where the data is
   * larger than the buffer.
   *
   * @param replacement the policy; the default is {@link Replacement#SECOND_CHANCE}
   * @return new options
   */
  public ExperimentOptions replacement(Replacement replacement) {
    Objects.requireNonNull(replacement, "replacement");
    return with(v -> v.replacement = replacement);
  }

  /**
   * Which pages leave the buffer when others need their frames.
   *
   * @return the policy
   */
  public Replacement replacement() {
    return v.replacement;
  }

  /**
   * Sets where physical addresses are remembered beside logical names. It may be another choice
   * each time that a file is opened.
   *
   * @param hints the places; the default is {@link Hints#ALL}
   * @return new options
   */
  public ExperimentOptions hints(Hints hints) {
    Objects.requireNonNull(hints, "hints");
    return with(v -> v.hints = hints);
  }

  /**
   * Where physical addresses are remembered beside logical names.
   *
   * @return the places
   */
  public Hints hints() {
    return v.hints;
  }

  /**
   * Sets from how many leaves on a range delete cuts them out as a whole: leaves of the table's
   * tree that have no other records. It takes some milliseconds and little more for each leaf, and
   * aborts transactions that use the table at that moment; below, records are deleted one by one.
   *
   * @param leaves how many; 0 for always, {@link Integer#MAX_VALUE} for never. The default is 256
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public ExperimentOptions subtreeDeleteThreshold(int leaves) {
    if (leaves < 0) {
      throw new IllegalArgumentException("From " + leaves + " leaves on.");
    }
    return with(v -> v.subtreeDeleteThreshold = leaves);
  }

  /**
   * From how many leaves on a range delete cuts them out.
   *
   * @return leaves
   */
  public int subtreeDeleteThreshold() {
    return v.subtreeDeleteThreshold;
  }

  /**
   * Sets whether all tables and indexes are remembered as if their specifications said so: {@link
   * io.fovea.schema.TableSpec#cacheLocations()}.
   *
   * @param all whether; by default those are whose specifications say so
   * @return new options
   */
  public ExperimentOptions cacheAllKeyLocations(boolean all) {
    return with(v -> v.cacheAllKeyLocations = all);
  }

  /**
   * Whether all tables and indexes are remembered.
   *
   * @return false by default
   */
  public boolean cacheAllKeyLocations() {
    return v.cacheAllKeyLocations;
  }

  /**
   * Sets whether the buffer asks the system for huge pages. Without them the processor translates
   * more addresses, as {@link Translation#VIRTUAL} always has it.
   *
   * @param huge whether; the default is true
   * @return new options
   */
  public ExperimentOptions hugePages(boolean huge) {
    return with(v -> v.hugePages = huge);
  }

  /**
   * Whether the buffer asks for huge pages.
   *
   * @return true by default
   */
  public boolean hugePages() {
    return v.hugePages;
  }

  /**
   * Sets how large the file may become under {@link Translation#VIRTUAL}, which takes so many
   * addresses. Others ignore it.
   *
   * @param bytes how many; 0, the default, for as many as the buffer has room for
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public ExperimentOptions fileBytesMax(long bytes) {
    Options.check(bytes >= 0, "ExperimentOptions.fileBytesMax is 0 or more", bytes);
    return with(v -> v.fileBytesMax = bytes);
  }

  /**
   * How large the file may become under {@link Translation#VIRTUAL}.
   *
   * @return bytes; 0 for as many as the buffer has room for
   */
  public long fileBytesMax() {
    return v.fileBytesMax;
  }

  /**
   * Sets how the places of records lie in memory, where tables or indexes are remembered. It may be
   * another choice each time that a file is opened: nothing of it is in the file.
   *
   * @param directory the directory; the default is {@link PlaceDirectory#FLAT}
   * @return new options
   */
  public ExperimentOptions placeDirectory(PlaceDirectory directory) {
    Objects.requireNonNull(directory, "directory");
    return with(v -> v.placeDirectory = directory);
  }

  /**
   * How the places of records lie in memory.
   *
   * @return the directory
   */
  public PlaceDirectory placeDirectory() {
    return v.placeDirectory;
  }

  /**
   * Sets whether exact timestamps leave their region as soon as no transaction uses the record: the
   * dissertation's rule for {@link TimestampStore#FOCUS_SKETCH}. Otherwise they stay until their
   * place is wanted. {@link TimestampStore#DISK} has this rule always, {@link
   * TimestampStore#MEMORY} never.
   *
   * @param atOnce whether; the default is false
   * @return new options
   */
  public ExperimentOptions evictImmediately(boolean atOnce) {
    return with(v -> v.evictImmediately = atOnce);
  }

  /**
   * Whether exact timestamps leave as soon as no transaction uses the record.
   *
   * @return false by default
   */
  public boolean evictImmediately() {
    return v.evictImmediately;
  }

  /**
   * Sets whether the memory of timestamps is a part of {@link Options#bufferBytes()}, whatever the
   * store: so that stores are compared at equal memory. The pages of records then have so much
   * less: for {@link TimestampStore#DISK} and {@link TimestampStore#DISK_CACHE} an eighth and the
   * {@linkplain MemoryOptions#activeTimestampBytes() region} of exact timestamps with the cache;
   * for {@link TimestampStore#MEMORY} all of {@link MemoryOptions#timestampBytes()}; for the others
   * the region and the sketch. Otherwise all of that is separate from the buffer.
   *
   * @param inBuffer whether; the default is false
   * @return new options
   */
  public ExperimentOptions timestampsInBuffer(boolean inBuffer) {
    return with(v -> v.timestampsInBuffer = inBuffer);
  }

  /**
   * Whether the memory of timestamps is a part of the buffer.
   *
   * @return false by default
   */
  public boolean timestampsInBuffer() {
    return v.timestampsInBuffer;
  }

  /**
   * Sets whether there is concurrency control at all. Without it one transaction runs at a time,
   * and the others wait for their turn: what {@link TransactionOptions#maxActive} has to say, 1, or
   * opening is refused with {@link io.fovea.error.InvalidUseException}. So transactions are serial,
   * and nothing is locked, remembered or validated; {@link #protocol} and {@link #timestamps} have
   * no effect. A thread that begins a transaction in the middle of another one waits for itself,
   * until the time that it may wait is over.
   *
   * <p>For figure 14 of Graefe et al., "In-Memory Performance for Big Data" (PVLDB 8, 2014), which
   * asks what locks cost.
   *
   * @param isolated whether; the default is true
   * @return new options
   */
  public ExperimentOptions isolated(boolean isolated) {
    return with(v -> v.isolated = isolated);
  }

  /**
   * Whether there is concurrency control.
   *
   * @return true by default
   */
  public boolean isolated() {
    return v.isolated;
  }

  @Override
  public String toString() {
    return "ExperimentOptions[protocol="
        + v.protocol
        + ", timestamps="
        + v.timestamps
        + ", translation="
        + v.translation
        + ", replacement="
        + v.replacement
        + ", hints="
        + v.hints
        + ", subtreeDeleteThreshold="
        + v.subtreeDeleteThreshold
        + ", cacheAllKeyLocations="
        + v.cacheAllKeyLocations
        + ", hugePages="
        + v.hugePages
        + ", fileBytesMax="
        + v.fileBytesMax
        + ", placeDirectory="
        + v.placeDirectory
        + ", evictImmediately="
        + v.evictImmediately
        + ", timestampsInBuffer="
        + v.timestampsInBuffer
        + ", isolated="
        + v.isolated
        + "]";
  }
}
