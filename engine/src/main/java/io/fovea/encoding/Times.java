package io.fovea.encoding;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.time.Instant;

/**
 * Instants in native memory: a row stores the seconds since 1970-01-01T00:00Z in 8 bytes, then the
 * nanoseconds of the second in 4.
 */
public final class Times {
  /** The size of an instant, in bytes. */
  public static final int BYTES = 12;

  private static final int NANOS_OF_MILLI = 1_000_000;

  private Times() {}

  /** Writes an instant into a row. Returns whether the row changed. */
  public static boolean putRow(MemorySegment seg, long off, Instant value) {
    long seconds = value.getEpochSecond();
    int nanos = value.getNano();
    if (Mem.getLong(seg, off) == seconds && Mem.getInt(seg, off + 8) == nanos) {
      return false;
    }
    Mem.putLong(seg, off, seconds);
    Mem.putInt(seg, off + 8, nanos);
    return true;
  }

  /**
   * Reads an instant from a row.
   *
   * @throws CorruptionException if the bytes are not a valid instant
   */
  public static Instant getRow(MemorySegment seg, long off) {
    return of(Mem.getLong(seg, off), Mem.getInt(seg, off + 8));
  }

  static Instant of(long seconds, int nanos) {
    boolean good =
        seconds >= Instant.MIN.getEpochSecond()
            && seconds <= Instant.MAX.getEpochSecond()
            && nanos >= 0
            && nanos <= Instant.MAX.getNano();
    if (!good) {
      throw new CorruptionException(
          "nanoseconds of an instant of second " + seconds, -1, -1, Instant.MAX.getNano(), nanos);
    }
    return Instant.ofEpochSecond(seconds, nanos);
  }

  /**
   * Returns an instant in a row as milliseconds since 1970-01-01T00:00Z, rounded up: at that time
   * the instant has passed.
   *
   * @return {@link Long#MAX_VALUE} if it is too late to be expressed in milliseconds, {@link
   *     Long#MIN_VALUE} if it is too early
   */
  public static long millis(MemorySegment seg, long off) {
    return millis(Mem.getLong(seg, off), Mem.getInt(seg, off + 8));
  }

  /** Returns an instant's seconds and nanoseconds as milliseconds, as above. */
  public static long millis(long seconds, int nanos) {
    if (seconds >= Long.MAX_VALUE / 1000 - 1) {
      return Long.MAX_VALUE;
    }
    if (seconds <= Long.MIN_VALUE / 1000 + 1) {
      return Long.MIN_VALUE;
    }
    return 1000 * seconds + (nanos + NANOS_OF_MILLI - 1L) / NANOS_OF_MILLI;
  }
}
