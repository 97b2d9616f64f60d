package io.fovea;

import io.fovea.store.SnapshotConfig;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * What {@linkplain Database#snapshot snapshots} may take.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class SnapshotOptions {
  private static final SnapshotOptions DEFAULTS = new SnapshotOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    long bufferBytes = 16L << 20;
    long memoryBytes = 64L << 20;
    long fileBytes = 16L << 30;

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

  private SnapshotOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static SnapshotOptions defaults() {
    return DEFAULTS;
  }

  private SnapshotOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new SnapshotOptions(copy);
  }

  /**
   * Sets the memory for the pages that a snapshot reads, of each snapshot: the buffer of its own. A
   * scan needs little; who looks for single records needs what these are on.
   *
   * @param bytes the default is 16 MiB
   * @return new options
   * @throws IllegalArgumentException if it is not positive; whether it is enough is checked when a
   *     snapshot is opened
   */
  public SnapshotOptions bufferBytes(long bytes) {
    Options.check(bytes > 0, "SnapshotOptions.bufferBytes is positive", bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /**
   * The memory for the pages that a snapshot reads.
   *
   * @return bytes, of each snapshot
   */
  public long bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Sets the memory for copies of pages that change while snapshots are open, of all snapshots of a
   * database together. What is more goes to a file.
   *
   * @param bytes the default is 64 MiB; a page at least
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public SnapshotOptions memoryBytes(long bytes) {
    Options.check(bytes > 0, "SnapshotOptions.memoryBytes is positive", bytes);
    return with(v -> v.memoryBytes = bytes);
  }

  /**
   * The memory for copies of pages that change while snapshots are open.
   *
   * @return bytes, of all snapshots together
   */
  public long memoryBytes() {
    return v.memoryBytes;
  }

  /**
   * Sets what the file with such copies may have: beside that of the database, with {@code .snap}
   * at the end of its name. It is there while it is needed. Where all is taken the oldest snapshot
   * is given up: who reads it next gets a {@link io.fovea.error.SnapshotTooOldException}. A
   * database in memory has no such file.
   *
   * @param bytes the default is 16 GiB; 0 for no file
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public SnapshotOptions fileBytes(long bytes) {
    Options.check(bytes >= 0, "SnapshotOptions.fileBytes is not negative", bytes);
    return with(v -> v.fileBytes = bytes);
  }

  /**
   * What the file with copies of pages may have.
   *
   * @return bytes; 0 for no file
   */
  public long fileBytes() {
    return v.fileBytes;
  }

  SnapshotConfig toStore() {
    return new SnapshotConfig(v.bufferBytes, v.memoryBytes, v.fileBytes);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SnapshotOptions o && toStore().equals(o.toStore());
  }

  @Override
  public int hashCode() {
    return Objects.hash(v.bufferBytes, v.memoryBytes, v.fileBytes);
  }

  @Override
  public String toString() {
    return "SnapshotOptions[bufferBytes="
        + v.bufferBytes
        + ", memoryBytes="
        + v.memoryBytes
        + ", fileBytes="
        + v.fileBytes
        + "]";
  }
}
