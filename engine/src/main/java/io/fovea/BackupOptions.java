package io.fovea;

import io.fovea.config.Durability;
import io.fovea.recovery.BackupPoint;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a backup is made.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class BackupOptions {
  private static final BackupOptions DEFAULTS = new BackupOptions(0, null);

  private final long bytesPerSecond;
  private final @Nullable BackupPosition since;

  private BackupOptions(long bytesPerSecond, @Nullable BackupPosition since) {
    this.bytesPerSecond = bytesPerSecond;
    this.since = since;
  }

  /**
   * All of the database, as fast as it goes.
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
    return new BackupOptions(bytes, since);
  }

  /**
   * How fast it may be.
   *
   * @return bytes a second; 0 for no limit
   */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }

  /**
   * Asks for an incremental backup: the pages that were changed since an earlier backup, and the
   * log. All pages are read, and verified. {@link Restore#then} puts the backup onto those before
   * it. Every backup whose position is this one or later will do as the one before: after a full
   * backup on Sunday, those of the days may each have what was changed since Sunday, or since the
   * day before.
   *
   * <p>The backup refuses it with {@link io.fovea.error.InvalidUseException} where pages do not
   * tell what was changed since: if the position is of another database, is later than the database
   * (of a copy of its files that went on by itself), or if the database was changed without a log
   * since (in memory, or with {@link Durability#NONE}). Then a full backup is needed.
   *
   * @param position of the earlier backup: {@link BackupReport#position}, or {@link
   *     BackupPosition#of}
   * @return new options
   */
  public BackupOptions since(BackupPosition position) {
    return new BackupOptions(bytesPerSecond, Objects.requireNonNull(position, "position"));
  }

  /**
   * Since when.
   *
   * @return the position; null for a full backup
   */
  public @Nullable BackupPosition since() {
    return since;
  }

  @Nullable BackupPoint point() {
    BackupPosition s = since;
    return s == null ? null : s.point();
  }
}
