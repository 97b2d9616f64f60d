package io.fovea.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Keys of tables whose rows expire. The time segment comes first, so that expired rows are deleted
 * as one range; then the key, so that the rows of a key in a segment are adjacent.
 *
 * <pre>
 *   window    segment i8 | key | start i8 | sequence i4      segment = start / segmentMillis
 *   session   segment i8 | key | end i8   | start i8         segment = end / segmentMillis
 *   version   segment i8 | key, escaped | from i8            segment = to / segmentMillis
 *   latest    0xFF | key                                     no segment: it does not expire
 * </pre>
 *
 * <p>All numbers are big-endian. Times are not negative.
 *
 * <p>Windows and sessions have the order of RocksDB's segments, because Kafka's cache merges its
 * records with a store's in that order, byte by byte: with another order it returns records twice.
 * So the rows of a key may be interleaved with those of a key that it is a prefix of; a scan skips
 * those by {@link #isOf}. Versions are not cached. In their keys 0xFF follows a zero byte, and two
 * zero bytes end the key: this preserves the order of keys, and no key is a prefix of another.
 *
 * <p>Thread-safe.
 */
final class SegmentKeys {
  private static final int SEGMENT = 8;

  private SegmentKeys() {}

  /** The prefix of all rows of a segment. */
  static byte[] segment(long segment) {
    return ByteBuffer.allocate(SEGMENT).putLong(segment).array();
  }

  /** The segment of a row. */
  static long segment(byte[] row) {
    return ByteBuffer.wrap(row).getLong();
  }

  /** The prefix of all versions of a key in a segment. */
  static byte[] prefix(long segment, byte[] key) {
    return escaped(segment, key, 0).array();
  }

  /** The row of a window. */
  static byte[] window(long segment, byte[] key, long start, int sequence) {
    return row(segment, key, key.length, 12).putLong(start).putInt(sequence).array();
  }

  /** The row of a session. */
  static byte[] session(long segment, byte[] key, long end, long start) {
    return row(segment, key, key.length, 16).putLong(end).putLong(start).array();
  }

  /** The row of a replaced version. */
  static byte[] version(long segment, byte[] key, long from) {
    return escaped(segment, key, 8).putLong(from).array();
  }

  /** The row of the latest version, which sorts after all segments. */
  static byte[] latest(byte[] key) {
    byte[] row = new byte[key.length + 1];
    row[0] = (byte) 0xFF;
    System.arraycopy(key, 0, row, 1, key.length);
    return row;
  }

  /**
   * The windows or sessions of a key in a segment, with some of other keys.
   *
   * @param from the first time
   * @param to the last time
   */
  static ByteInterval times(long segment, byte[] key, long from, long to) {
    return new ByteInterval(
        row(segment, key, key.length, 8).putLong(from).array(),
        ByteInterval.above(row(segment, key, key.length, 8).putLong(to).array()));
  }

  /**
   * The windows or sessions of a key range in a segment, with some of other keys.
   *
   * @param keyFrom the first key; null for no bound
   * @param keyTo the last key; null for no bound
   * @param to the last time
   */
  static ByteInterval keys(
      long segment, byte @Nullable [] keyFrom, byte @Nullable [] keyTo, long to) {
    return new ByteInterval(
        keyFrom == null ? segment(segment) : row(segment, keyFrom, keyFrom.length, 0).array(),
        ByteInterval.above(keyTo == null ? segment(segment) : last(segment, keyTo, to)));
  }

  /**
   * The prefix of the last row of the keys up to {@code key}. A prefix of {@code key} has rows
   * above those of {@code key} if its time bytes are above the bytes that {@code key} has there.
   */
  private static byte[] last(long segment, byte[] key, long to) {
    byte[] last = row(segment, key, key.length, 8).putLong(to).array();
    for (int n = 0; n < key.length; n++) {
      if ((key[n] & 0xFF) <= to >>> 56) {
        byte[] shorter = row(segment, key, n, 8).putLong(to).array();
        last = Arrays.compareUnsigned(last, shorter) >= 0 ? last : shorter;
      }
    }
    return last;
  }

  private static ByteBuffer row(long segment, byte[] key, int length, int more) {
    return ByteBuffer.allocate(SEGMENT + length + more).putLong(segment).put(key, 0, length);
  }

  /** Returns whether a window or session belongs to a key. */
  static boolean isOf(byte[] key, byte[] row, int behind) {
    return Arrays.equals(key, 0, key.length, row, SEGMENT, row.length - behind);
  }

  private static ByteBuffer escaped(long segment, byte[] key, int more) {
    int zeros = 0;
    for (byte b : key) {
      if (b == 0) {
        zeros++;
      }
    }
    ByteBuffer row = ByteBuffer.allocate(SEGMENT + key.length + zeros + 2 + more);
    row.putLong(segment);
    if (zeros == 0) {
      row.put(key);
    } else {
      for (byte b : key) {
        row.put(b);
        if (b == 0) {
          row.put((byte) 0xFF);
        }
      }
    }
    return row.put((byte) 0).put((byte) 0);
  }

  /** The key of a window or session with {@code behind} bytes after it. */
  static byte[] key(byte[] row, int behind) {
    return Arrays.copyOfRange(row, SEGMENT, row.length - behind);
  }

  /** The number at {@code beforeEnd} bytes before the end of a row. */
  static long number(byte[] row, int beforeEnd) {
    return ByteBuffer.wrap(row).getLong(row.length - beforeEnd);
  }
}
