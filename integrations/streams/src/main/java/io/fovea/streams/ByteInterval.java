package io.fovea.streams;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An interval of keys as the database orders them. Immutable; any thread.
 *
 * @param from the smallest key; null for no bound
 * @param to the key below which it ends, itself excluded; null for no bound
 */
record ByteInterval(byte @Nullable [] from, byte @Nullable [] to) {
  static final ByteInterval ALL = new ByteInterval(null, null);

  /** All keys that begin with a prefix. */
  static ByteInterval ofPrefix(byte[] prefix) {
    return new ByteInterval(prefix, above(prefix));
  }

  /** The smallest key above all that begin with a prefix; null if there is none. */
  static byte @Nullable [] above(byte[] prefix) {
    int n = prefix.length;
    while (n > 0 && prefix[n - 1] == (byte) 0xFF) {
      n--;
    }
    if (n == 0) {
      return null;
    }
    byte[] above = Arrays.copyOf(prefix, n);
    above[n - 1]++;
    return above;
  }

  /** The smallest key above one. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  boolean contains(byte[] key) {
    return (from == null || Arrays.compareUnsigned(key, from) >= 0)
        && (to == null || Arrays.compareUnsigned(key, to) < 0);
  }

  /** What of it lies behind a key, in a direction. */
  ByteInterval rest(byte[] key, boolean forward) {
    return forward ? new ByteInterval(behind(key), to) : new ByteInterval(from, key);
  }

  boolean isEmpty() {
    return from != null && to != null && Arrays.compareUnsigned(from, to) >= 0;
  }
}
