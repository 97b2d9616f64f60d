package io.fovea;

import io.fovea.config.Durability;
import io.fovea.recovery.BackupPoint;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a backup. A value: each setter returns new options. Safe for any thread.
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

  /** {@return the default options: a full backup, without a speed limit} */
  public static BackupOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the maximum speed, to leave device bandwidth for other work. The slower the backup, the
   * more log must be kept while it runs.
   *
   * @param bytes bytes per second; 0, the default, for no limit
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

  /** {@return the maximum speed in bytes per second; 0 for no limit} */
  public long bytesPerSecond() {
    return bytesPerSecond;
  }

  /**
   * Selects an incremental backup: the pages changed since an earlier backup, and the log. All
   * pages are still read and verified. {@link Restore#then} applies the backup to earlier ones, the
   * last of which must have the given position or a later one: after a full backup on Sunday, each
   * daily backup may contain the changes since Sunday or since the day before.
   *
   * <p>The backup fails with {@link io.fovea.error.InvalidUseException} if it is unknown which
   * pages have changed: the position belongs to another database, is later than the database's own
   * (it comes from a copy of the files that has diverged), or the database has since been changed
   * without a log (in memory, or with {@link Durability#NONE}). Make a full backup in that case.
   *
   * @param position the position of the earlier backup: {@link BackupReport#position}, or {@link
   *     BackupPosition#of}
   * @return new options
   */
  public BackupOptions since(BackupPosition position) {
    return new BackupOptions(bytesPerSecond, Objects.requireNonNull(position, "position"));
  }

  /** {@return the position of the earlier backup; null for a full backup} */
  public @Nullable BackupPosition since() {
    return since;
  }

  @Nullable BackupPoint point() {
    BackupPosition s = since;
    return s == null ? null : s.point();
  }
}
