package io.fovea;

import io.fovea.config.Pretouch;
import io.fovea.config.TimestampStore;
import io.fovea.store.HostResources;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The memory that a database takes beside its buffer, and when it is taken.
 *
 * <p>{@link Options#bufferBytes} is the buffer itself.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class MemoryOptions {
  private static final MemoryOptions DEFAULTS = new MemoryOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    long timestampBytes = HostResources.defaultBytes(256L << 20);
    long activeTimestampBytes;
    long sketchBytesMin = 32 << 10;
    long sketchBytesMax = 32 << 10;
    long locationCacheBytes;
    Pretouch pretouch = Pretouch.NONE;

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

  private MemoryOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static MemoryOptions defaults() {
    return DEFAULTS;
  }

  private MemoryOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new MemoryOptions(copy);
  }

  /**
   * Sets the memory that the timestamps of records in use may take, beside the buffer. It is
   * address space until transactions need it: 32 bytes for each record that active transactions
   * have read or written. The default is 256 MiB; below 2 GiB of memory, an eighth of what the
   * machine or the container has.
   *
   * @param bytes a hard limit; a transaction that would exceed it is aborted
   * @return new options
   * @throws IllegalArgumentException if it is less than 64 KiB
   */
  public MemoryOptions timestampBytes(long bytes) {
    Options.check(bytes >= 64 << 10, "MemoryOptions.timestampBytes is at least 65536", bytes);
    return with(v -> v.timestampBytes = bytes);
  }

  /**
   * The memory that the timestamps of records in use may take.
   *
   * @return bytes
   */
  public long timestampBytes() {
    return v.timestampBytes;
  }

  /**
   * Sets the size of the region of exact timestamps: what of {@link #timestampBytes()} is always
   * used. Records in use have their timestamps there, 32 bytes for each. What they leave free keeps
   * those of records that were in use lately, as a cache does. More than that is taken where
   * transactions use more records at a time.
   *
   * @param bytes rounded down to a power of two, and to {@link #timestampBytes()}; an 8,192nd of
   *     that, or more; 0, the default: 512 KiB, or 128 KiB beside a cache of {@link
   *     #sketchBytesMin()}. {@link TimestampStore#MEMORY} has half of {@link #timestampBytes()} at
   *     least
   * @return new options
   * @throws IllegalArgumentException if it is neither 0 nor from 1 KiB to 1 GiB
   */
  public MemoryOptions activeTimestampBytes(long bytes) {
    Options.check(
        bytes == 0 || bytes >= 1 << 10 && bytes <= 1 << 30,
        "MemoryOptions.activeTimestampBytes is 0, or from 1024 to 1 GiB",
        bytes);
    return with(v -> v.activeTimestampBytes = bytes);
  }

  /**
   * The size of the region of exact timestamps.
   *
   * @return bytes; 0 for what suits the store
   */
  public long activeTimestampBytes() {
    return v.activeTimestampBytes;
  }

  /**
   * Sets the memory for the timestamps of records that no transaction uses: a sketch, or a cache,
   * as {@link ExperimentOptions#timestamps(TimestampStore)} says. It stays as it is. {@link
   * TimestampStore#DISK} and {@link TimestampStore#MEMORY} have neither.
   *
   * @param bytes the default is 32 KiB. For a sketch rounded down to a power of two. A cache is one
   *     table with the {@linkplain #activeTimestampBytes() region of exact timestamps}, and the sum
   *     is rounded up to a power of two
   * @return new options
   * @throws IllegalArgumentException if it is less than 8 or more than 1 GiB
   */
  public MemoryOptions sketchBytes(long bytes) {
    return sketchBytes(bytes, bytes);
  }

  /**
   * Sets limits for the memory of the sketch of {@link TimestampStore#FOCUS_SKETCH}. It begins with
   * the lower one, doubles while transactions are aborted for conflicts that a larger sketch may
   * keep apart, as long as that helps, and halves when there are hardly any. Changes go on beside
   * transactions. A cache has the lower limit.
   *
   * @param min rounded down to a power of two
   * @param max rounded down to a power of two
   * @return new options
   * @throws IllegalArgumentException if {@code min} is less than 8, or more than {@code max}, or
   *     {@code max} is more than 1 GiB
   */
  public MemoryOptions sketchBytes(long min, long max) {
    Options.check(min >= Long.BYTES, "MemoryOptions.sketchBytes is at least 8", min);
    Options.check(
        max >= min,
        "The upper limit of MemoryOptions.sketchBytes is at least its lower one, " + min,
        max);
    Options.check(max <= 1 << 30, "MemoryOptions.sketchBytes is at most 1 GiB", max);
    return with(
        v -> {
          v.sketchBytesMin = min;
          v.sketchBytesMax = max;
        });
  }

  /**
   * The memory with which the sketch begins, or that of the cache.
   *
   * @return bytes
   */
  public long sketchBytesMin() {
    return v.sketchBytesMin;
  }

  /**
   * The memory up to which the sketch grows where that helps.
   *
   * @return bytes; {@link #sketchBytesMin()} for a fixed size
   */
  public long sketchBytesMax() {
    return v.sketchBytesMax;
  }

  /**
   * Sets the memory that places of records may take beside the buffer, where tables or indexes are
   * {@linkplain io.fovea.schema.TableSpec#cacheLocations() remembered}; where none is, none is
   * taken. It grows as places are learnt: 8 bytes for each record that is read by its key again and
   * again are enough.
   *
   * @param bytes a hard limit, rounded down to a power of two, of at least 256 KiB; 0, the default:
   *     a sixteenth of the buffer, rounded up to a power of two
   * @return new options
   * @throws IllegalArgumentException if it is negative, or more than 1 TiB
   */
  public MemoryOptions locationCacheBytes(long bytes) {
    Options.check(
        bytes >= 0 && bytes <= 1L << 40,
        "MemoryOptions.locationCacheBytes is from 0 to 1 TiB",
        bytes);
    return with(v -> v.locationCacheBytes = bytes);
  }

  /**
   * The memory that places of records may take.
   *
   * @return bytes; 0 for a sixteenth of the buffer, rounded up to a power of two
   */
  public long locationCacheBytes() {
    return v.locationCacheBytes;
  }

  /**
   * Sets when the operating system has to find the memory of the buffer.
   *
   * @param pretouch when
   * @return new options
   */
  public MemoryOptions pretouch(Pretouch pretouch) {
    Objects.requireNonNull(pretouch, "pretouch");
    return with(v -> v.pretouch = pretouch);
  }

  /**
   * When the operating system has to find the memory of the buffer.
   *
   * @return when
   */
  public Pretouch pretouch() {
    return v.pretouch;
  }

  @Override
  public String toString() {
    return "MemoryOptions[timestampBytes="
        + v.timestampBytes
        + ", activeTimestampBytes="
        + v.activeTimestampBytes
        + ", sketchBytesMin="
        + v.sketchBytesMin
        + ", sketchBytesMax="
        + v.sketchBytesMax
        + ", locationCacheBytes="
        + v.locationCacheBytes
        + ", pretouch="
        + v.pretouch
        + "]";
  }
}
