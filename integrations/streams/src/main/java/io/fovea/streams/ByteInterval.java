package io.fovea.streams;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An interval of keys in the database's order. Immutable and thread-safe.
 *
 * @param from the smallest key; null for no bound
 * @param to the key below which it ends, exclusive; null for no bound
 */
record ByteInterval(byte @Nullable [] from, byte @Nullable [] to) {
  static final ByteInterval ALL = new ByteInterval(null, null);

  /** Returns the interval of all keys with a prefix. */
  static ByteInterval ofPrefix(byte[] prefix) {
    return new ByteInterval(prefix, above(prefix));
  }

  /** Returns the smallest key above all keys with a prefix; null if there is none. */
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

  /** Returns the smallest key above a key. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  boolean contains(byte[] key) {
    return (from == null || Arrays.compareUnsigned(key, from) >= 0)
        && (to == null || Arrays.compareUnsigned(key, to) < 0);
  }

  /** Returns the rest of the interval after a key, in a direction. */
  ByteInterval rest(byte[] key, boolean forward) {
    return forward ? new ByteInterval(behind(key), to) : new ByteInterval(from, key);
  }

  boolean isEmpty() {
    return from != null && to != null && Arrays.compareUnsigned(from, to) >= 0;
  }
}
