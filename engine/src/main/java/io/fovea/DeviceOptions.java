package io.fovea;

import io.fovea.buffer.PageReads;
import io.fovea.config.Io;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * How the file is laid out and reached.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class DeviceOptions {
  private static final DeviceOptions DEFAULTS = new DeviceOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    int pageSize = 4096;
    Io io = Io.AUTO;
    boolean directIo = true;
    int maxInFlightReads = PageReads.CAPACITY;

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

  private DeviceOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static DeviceOptions defaults() {
    return DEFAULTS;
  }

  private DeviceOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new DeviceOptions(copy);
  }

  /**
   * Sets the size of a page. A file keeps the page size that it was created with.
   *
   * @param bytes 4096, 8192, 16384, 32768 or 65536
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public DeviceOptions pageSize(int bytes) {
    Options.check(
        bytes >= 4096 && bytes <= 65536 && Integer.bitCount(bytes) == 1,
        "DeviceOptions.pageSize is 4096, 8192, 16384, 32768 or 65536",
        bytes);
    return with(v -> v.pageSize = bytes);
  }

  /**
   * The size of a page.
   *
   * @return bytes
   */
  public int pageSize() {
    return v.pageSize;
  }

  /**
   * Sets how the file is reached.
   *
   * @param io the kind of device
   * @return new options
   */
  public DeviceOptions io(Io io) {
    Objects.requireNonNull(io, "io");
    return with(v -> v.io = io);
  }

  /**
   * How the file is reached.
   *
   * @return the kind of device
   */
  public Io io() {
    return v.io;
  }

  /**
   * Sets whether the operating system's page cache is bypassed where that is possible.
   *
   * @param direct true, the default, to bypass it
   * @return new options
   */
  public DeviceOptions directIo(boolean direct) {
    return with(v -> v.directIo = direct);
  }

  /**
   * Whether the operating system's page cache is bypassed where that is possible.
   *
   * @return true to bypass it
   */
  public boolean directIo() {
    return v.directIo;
  }

  /**
   * Sets how many pages one thread has read at a time at most, in {@link RowTable#getAll} and its
   * like. Several threads that read in batches share what the device does at once: with the number
   * that it does best divided by that of the threads none waits for another's reads.
   *
   * @param reads 1 to 64; the default is 64
   * @return new options
   * @throws IllegalArgumentException if it is outside of that
   */
  public DeviceOptions maxInFlightReads(int reads) {
    Options.check(
        reads >= 1 && reads <= PageReads.CAPACITY,
        "DeviceOptions.maxInFlightReads is 1 to 64",
        reads);
    return with(v -> v.maxInFlightReads = reads);
  }

  /**
   * How many pages one thread has read at a time at most.
   *
   * @return the number of reads
   */
  public int maxInFlightReads() {
    return v.maxInFlightReads;
  }

  @Override
  public String toString() {
    return "DeviceOptions[pageSize="
        + v.pageSize
        + ", io="
        + v.io
        + ", directIo="
        + v.directIo
        + ", maxInFlightReads="
        + v.maxInFlightReads
        + "]";
  }
}
