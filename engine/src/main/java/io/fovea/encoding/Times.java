package io.fovea.encoding;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.time.Instant;

/**
 * Instants in native memory: in a row the seconds since 1970-01-01T00:00Z in 8 bytes, then the
 * nanoseconds of the second in 4.
 */
public final class Times {
  /** The bytes of an instant. */
  public static final int BYTES = 12;

  private static final int NANOS_OF_MILLI = 1_000_000;

  private Times() {}

  /** Writes an instant into a row. Says whether another one was there. */
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
   * Reads an instant of a row.
   *
   * @throws CorruptionException if there is none that is so
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
   * The milliseconds since 1970-01-01T00:00Z of an instant of a row, rounded up: when they have
   * come, so has the instant.
   *
   * @return {@link Long#MAX_VALUE} for one that is later than milliseconds can say, a negative
   *     number for one that is earlier
   */
  public static long millis(MemorySegment seg, long off) {
    return millis(Mem.getLong(seg, off), Mem.getInt(seg, off + 8));
  }

  /** The same of its seconds and nanoseconds. */
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
