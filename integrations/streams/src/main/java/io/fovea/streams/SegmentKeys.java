package io.fovea.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Keys of tables whose rows expire: segments of time first, so that what has expired is cut off the
 * table as a whole; then the keys, so that the rows of a key in a segment are together.
 *
 * <pre>
 *   window    segment i8 | key | start i8 | sequence i4      segment = start / segmentMillis
 *   session   segment i8 | key | end i8   | start i8         segment = end / segmentMillis
 *   version   segment i8 | key | from i8                     segment = to / segmentMillis
 *   latest    0xFF | key                                     no segment: it does not expire
 * </pre>
 *
 * <p>All numbers are big-endian. Times are not negative. In the key a zero byte is followed by a
 * byte 0xFF, and two zero bytes are behind it: so the order is that of the keys, and no key is a
 * prefix of another.
 *
 * <p>Any thread.
 */
final class SegmentKeys {
  private static final int SEGMENT = 8;

  private SegmentKeys() {}

  /** All rows of a segment begin with it. */
  static byte[] segment(long segment) {
    return ByteBuffer.allocate(SEGMENT).putLong(segment).array();
  }

  /** The segment of a row. */
  static long segment(byte[] row) {
    return ByteBuffer.wrap(row).getLong();
  }

  /** All rows of a key in a segment begin with it. */
  static byte[] prefix(long segment, byte[] key) {
    return row(segment, key, 0).array();
  }

  /** A row of a window. */
  static byte[] window(long segment, byte[] key, long start, int sequence) {
    return row(segment, key, 12).putLong(start).putInt(sequence).array();
  }

  /** A row of a session. */
  static byte[] session(long segment, byte[] key, long end, long start) {
    return row(segment, key, 16).putLong(end).putLong(start).array();
  }

  /** A row of a version that was replaced. */
  static byte[] version(long segment, byte[] key, long from) {
    return row(segment, key, 8).putLong(from).array();
  }

  /** The row of the latest version, which lies above all segments. */
  static byte[] latest(byte[] key) {
    byte[] row = new byte[key.length + 1];
    row[0] = (byte) 0xFF;
    System.arraycopy(key, 0, row, 1, key.length);
    return row;
  }

  /** The rows of a key in a segment that have times up to one, itself excluded. */
  static ByteInterval times(long segment, byte[] key, long from, long to) {
    return new ByteInterval(
        row(segment, key, 8).putLong(from).array(), row(segment, key, 8).putLong(to).array());
  }

  private static ByteBuffer row(long segment, byte[] key, int more) {
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

  /** The key in a row that has so many bytes behind it. */
  static byte[] key(byte[] row, int behind) {
    int end = row.length - behind - 2;
    byte[] key = new byte[end - SEGMENT];
    int n = 0;
    for (int i = SEGMENT; i < end; i++) {
      key[n++] = row[i];
      if (row[i] == 0) {
        i++;
      }
    }
    return n == key.length ? key : Arrays.copyOf(key, n);
  }

  /** A number so many bytes before the end of a row. */
  static long number(byte[] row, int beforeEnd) {
    return ByteBuffer.wrap(row).getLong(row.length - beforeEnd);
  }
}
