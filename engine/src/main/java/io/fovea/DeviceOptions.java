package io.fovea;

import io.fovea.buffer.PageReads;
import io.fovea.config.Io;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * The format of the data file, and how it is accessed. Immutable: each setter returns new options.
 * Safe for any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class DeviceOptions {
  private static final DeviceOptions DEFAULTS = new DeviceOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    int pageSize = 4096;
    Io io = Io.AUTO;
    boolean directIo = true;
    int maxInFlightReads = PageReads.CAPACITY;
  }

  private final Values v;

  private DeviceOptions(Values v) {
    this.v = v;
  }

  /** {@return the default options} */
  public static DeviceOptions defaults() {
    return DEFAULTS;
  }

  private DeviceOptions with(Consumer<Values> change) {
    return new DeviceOptions(v.with(change));
  }

  /**
   * Sets the page size. A file keeps the page size with which it was created.
   *
   * @param bytes 4096 (the default), 8192, 16384, 32768 or 65536
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public DeviceOptions pageSize(int bytes) {
    Options.check(
        bytes >= 4096 && bytes <= 65536 && Integer.bitCount(bytes) == 1,
        "DeviceOptions.pageSize must be 4096, 8192, 16384, 32768 or 65536",
        bytes);
    return with(v -> v.pageSize = bytes);
  }

  /** {@return the page size in bytes} */
  public int pageSize() {
    return v.pageSize;
  }

  /**
   * Sets the I/O backend.
   *
   * @param io the backend; the default is {@link Io#AUTO}
   * @return new options
   */
  public DeviceOptions io(Io io) {
    Objects.requireNonNull(io, "io");
    return with(v -> v.io = io);
  }

  /** {@return the I/O backend} */
  public Io io() {
    return v.io;
  }

  /**
   * Sets whether to bypass the operating system's page cache, if the file system allows it.
   *
   * @param direct whether to bypass it; the default is true
   * @return new options
   */
  public DeviceOptions directIo(boolean direct) {
    return with(v -> v.directIo = direct);
  }

  /** {@return whether the operating system's page cache is bypassed, if possible} */
  public boolean directIo() {
    return v.directIo;
  }

  /**
   * Sets the maximum number of reads in flight per thread, in {@link RowTable#getAll} and other
   * batched lookups. If several threads read batches, use the queue depth that suits the device
   * divided by their number, so that they do not wait for each other's reads.
   *
   * @param reads 1 to 64; the default is 64
   * @return new options
   * @throws IllegalArgumentException if it is outside that range
   */
  public DeviceOptions maxInFlightReads(int reads) {
    Options.check(
        reads >= 1 && reads <= PageReads.CAPACITY,
        "DeviceOptions.maxInFlightReads must be 1 to 64",
        reads);
    return with(v -> v.maxInFlightReads = reads);
  }

  /** {@return the maximum number of reads in flight per thread} */
  public int maxInFlightReads() {
    return v.maxInFlightReads;
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "DeviceOptions[", "]")
        .add("pageSize=" + v.pageSize)
        .add("io=" + v.io)
        .add("directIo=" + v.directIo)
        .add("maxInFlightReads=" + v.maxInFlightReads)
        .toString();
  }
}
