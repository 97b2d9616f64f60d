package io.fovea;

/**
 * How a backup is made.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class BackupOptions {
  private static final BackupOptions DEFAULTS = new BackupOptions(0);

  private final long bytesPerSecond;

  private BackupOptions(long bytesPerSecond) {
    this.bytesPerSecond = bytesPerSecond;
  }

  /**
   * As fast as it goes.
   *
   * @return the options that the others are made from
   */
  public static BackupOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets how fast it may be, so that it leaves some of the device to others. The slower it is, the
   * more log has to be kept meanwhile.
   *
   * @param bytes bytes a second; 0, the default, for no limit
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public BackupOptions bytesPerSecond(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "BackupOptions.bytesPerSecond is 0 or more, not " + bytes + ".");
    }
    return new BackupOptions(bytes);
  }

  /**
   * How fast it may be.
   *
   * @return bytes a second; 0 for no limit
   */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }
}
