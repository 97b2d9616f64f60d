package io.fovea;

import io.fovea.config.Pretouch;
import io.fovea.config.TimestampStore;
import io.fovea.store.HostResources;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * Options for the memory that a database uses outside its buffer, and for pretouching the buffer.
 *
 * <p>Immutable: each setter returns new options. Safe for use by any thread. Part of {@link
 * Options}.
 *
 * @since 0.1.0
 */
public final class MemoryOptions {
  private static final MemoryOptions DEFAULTS = new MemoryOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    long timestampBytes = HostResources.defaultBytes(256L << 20);
    long activeTimestampBytes;
    long sketchBytesMin = 32 << 10;
    long sketchBytesMax = 32 << 10;
    long locationCacheBytes;
    Pretouch pretouch = Pretouch.NONE;
  }

  private final Values v;

  private MemoryOptions(Values v) {
    this.v = v;
  }

  /** {@return the defaults} */
  public static MemoryOptions defaults() {
    return DEFAULTS;
  }

  private MemoryOptions with(Consumer<Values> change) {
    return new MemoryOptions(v.with(change));
  }

  /**
   * Sets the maximum memory for timestamps of records in use. Only address space is reserved until
   * transactions need the memory: 32 bytes for each record that active transactions have read or
   * written. The default is 256 MiB, at most an eighth of the memory of the machine or container.
   *
   * @param bytes a hard limit; a transaction that would exceed it is aborted
   * @return new options
   * @throws IllegalArgumentException if it is less than 64 KiB
   */
  public MemoryOptions timestampBytes(long bytes) {
    Options.check(bytes >= 64 << 10, "MemoryOptions.timestampBytes must be at least 65536", bytes);
    return with(v -> v.timestampBytes = bytes);
  }

  /** {@return the bytes of memory for timestamps of records in use} */
  public long timestampBytes() {
    return v.timestampBytes;
  }

  /**
   * Sets the size of the region of exact timestamps, the part of {@link #timestampBytes()} that is
   * always allocated. The region holds the timestamps of records in use, 32 bytes each; its free
   * part caches the timestamps of recently used records. If transactions use more records at a
   * time, more memory is allocated.
   *
   * @param bytes rounded down to a power of two and limited to {@link #timestampBytes()}, and at
   *     least 1/8,192 of that; 0, the default, means 512 KiB, or 128 KiB with a cache of {@link
   *     #sketchBytesMin()}. {@link TimestampStore#MEMORY} uses at least half of {@link
   *     #timestampBytes()}
   * @return new options
   * @throws IllegalArgumentException if it is neither 0 nor from 1 KiB to 1 GiB
   */
  public MemoryOptions activeTimestampBytes(long bytes) {
    Options.check(
        bytes == 0 || bytes >= 1 << 10 && bytes <= 1 << 30,
        "MemoryOptions.activeTimestampBytes must be 0, or from 1024 to 1 GiB",
        bytes);
    return with(v -> v.activeTimestampBytes = bytes);
  }

  /** {@return the bytes of the region of exact timestamps; 0 for the store's default} */
  public long activeTimestampBytes() {
    return v.activeTimestampBytes;
  }

  /**
   * Sets a fixed size for the memory for timestamps of records that no transaction uses: a sketch
   * or a cache, depending on {@link ExperimentOptions#timestamps(TimestampStore)}. {@link
   * TimestampStore#DISK} and {@link TimestampStore#MEMORY} have neither.
   *
   * @param bytes the default is 32 KiB. A sketch is rounded down to a power of two. A cache shares
   *     one table with the {@linkplain #activeTimestampBytes() region of exact timestamps}, and the
   *     sum is rounded up to a power of two
   * @return new options
   * @throws IllegalArgumentException if it is less than 8 or more than 1 GiB
   */
  public MemoryOptions sketchBytes(long bytes) {
    return sketchBytes(bytes, bytes);
  }

  /**
   * Sets the size limits of the sketch of {@link TimestampStore#FOCUS_SKETCH}. The sketch starts at
   * the lower limit, doubles while conflicts abort transactions and a larger sketch helps, and
   * halves when such conflicts are rare. Transactions continue during a change of size. A cache
   * always has the size of the lower limit.
   *
   * @param min rounded down to a power of two
   * @param max rounded down to a power of two
   * @return new options
   * @throws IllegalArgumentException if not {@code 8 <= min <= max <= 1 GiB}
   */
  public MemoryOptions sketchBytes(long min, long max) {
    Options.check(min >= Long.BYTES, "MemoryOptions.sketchBytes must be at least 8", min);
    Options.check(
        max >= min,
        "The upper limit of MemoryOptions.sketchBytes must be at least its lower one, " + min,
        max);
    Options.check(max <= 1 << 30, "MemoryOptions.sketchBytes must be at most 1 GiB", max);
    return with(
        v -> {
          v.sketchBytesMin = min;
          v.sketchBytesMax = max;
        });
  }

  /** {@return the initial bytes of the sketch, or the bytes of the cache} */
  public long sketchBytesMin() {
    return v.sketchBytesMin;
  }

  /** {@return the maximum bytes of the sketch; {@link #sketchBytesMin()} for a fixed size} */
  public long sketchBytesMax() {
    return v.sketchBytesMax;
  }

  /**
   * Sets the memory for the key location caches of tables and indexes {@linkplain
   * io.fovea.schema.TableSpec#cacheLocations() that have one}; without such tables and indexes, no
   * memory is allocated. The memory grows on demand; 8 bytes suffice for each record that is
   * repeatedly read by key.
   *
   * @param bytes a hard limit, rounded down to a power of two, of at least 256 KiB; 0, the default,
   *     means a sixteenth of the buffer, rounded up to a power of two
   * @return new options
   * @throws IllegalArgumentException if it is negative, or more than 1 TiB
   */
  public MemoryOptions locationCacheBytes(long bytes) {
    Options.check(
        bytes >= 0 && bytes <= 1L << 40,
        "MemoryOptions.locationCacheBytes must be from 0 to 1 TiB",
        bytes);
    return with(v -> v.locationCacheBytes = bytes);
  }

  /** {@return the bytes for key location caches; 0 for the default, a sixteenth of the buffer} */
  public long locationCacheBytes() {
    return v.locationCacheBytes;
  }

  /**
   * Sets when the operating system must provide the memory of the buffer.
   *
   * @param pretouch when the memory must be provided
   * @return new options
   */
  public MemoryOptions pretouch(Pretouch pretouch) {
    Objects.requireNonNull(pretouch, "pretouch");
    return with(v -> v.pretouch = pretouch);
  }

  /** {@return when the operating system must provide the memory of the buffer} */
  public Pretouch pretouch() {
    return v.pretouch;
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "MemoryOptions[", "]")
        .add("timestampBytes=" + v.timestampBytes)
        .add("activeTimestampBytes=" + v.activeTimestampBytes)
        .add("sketchBytesMin=" + v.sketchBytesMin)
        .add("sketchBytesMax=" + v.sketchBytesMax)
        .add("locationCacheBytes=" + v.locationCacheBytes)
        .add("pretouch=" + v.pretouch)
        .toString();
  }
}
