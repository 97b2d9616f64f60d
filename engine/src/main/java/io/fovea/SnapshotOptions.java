package io.fovea;

import io.fovea.store.SnapshotConfig;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * Limits on {@linkplain Database#snapshot snapshots}.
 *
 * <p>Immutable: each setter returns new options. Safe for use by any thread. Part of {@link
 * Options}.
 *
 * @since 0.1.0
 */
public final class SnapshotOptions {
  private static final SnapshotOptions DEFAULTS = new SnapshotOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    long bufferBytes = 16L << 20;
    long memoryBytes = 64L << 20;
    long fileBytes = 16L << 30;
  }

  private final Values v;

  private SnapshotOptions(Values v) {
    this.v = v;
  }

  /** {@return the defaults} */
  public static SnapshotOptions defaults() {
    return DEFAULTS;
  }

  private SnapshotOptions with(Consumer<Values> change) {
    return new SnapshotOptions(v.with(change));
  }

  /**
   * Sets the size of each snapshot's buffer. For point lookups, size it to the working set.
   *
   * @param bytes the default is 16 MiB
   * @return new options
   * @throws IllegalArgumentException if it is not positive; whether it suffices is checked at open
   */
  public SnapshotOptions bufferBytes(long bytes) {
    Options.check(bytes > 0, "SnapshotOptions.bufferBytes must be positive", bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /** {@return the bytes of each snapshot's buffer} */
  public long bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Sets the memory for copies of pages that change while snapshots are open, shared by all
   * snapshots of a database. The excess goes to a file.
   *
   * @param bytes at least a page; the default is 64 MiB
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public SnapshotOptions memoryBytes(long bytes) {
    Options.check(bytes > 0, "SnapshotOptions.memoryBytes must be positive", bytes);
    return with(v -> v.memoryBytes = bytes);
  }

  /** {@return the bytes of memory for page copies, of all snapshots together} */
  public long memoryBytes() {
    return v.memoryBytes;
  }

  /**
   * Sets the maximum size of the file for page copies beyond {@link #memoryBytes(long)}, which
   * exists only while it is needed. It is next to the database file and has the suffix {@code
   * .snap}. When it is full, the oldest snapshot is evicted; reading it throws {@link
   * io.fovea.error.SnapshotTooOldException}. A database in memory has no such file.
   *
   * @param bytes the default is 16 GiB; 0 for no file
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public SnapshotOptions fileBytes(long bytes) {
    Options.check(bytes >= 0, "SnapshotOptions.fileBytes must be 0 or more", bytes);
    return with(v -> v.fileBytes = bytes);
  }

  /** {@return the maximum bytes of the file for page copies; 0 for no file} */
  public long fileBytes() {
    return v.fileBytes;
  }

  SnapshotConfig toSnapshotConfig() {
    return new SnapshotConfig(v.bufferBytes, v.memoryBytes, v.fileBytes);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SnapshotOptions o && toSnapshotConfig().equals(o.toSnapshotConfig());
  }

  @Override
  public int hashCode() {
    return Objects.hash(v.bufferBytes, v.memoryBytes, v.fileBytes);
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "SnapshotOptions[", "]")
        .add("bufferBytes=" + v.bufferBytes)
        .add("memoryBytes=" + v.memoryBytes)
        .add("fileBytes=" + v.fileBytes)
        .toString();
  }
}
