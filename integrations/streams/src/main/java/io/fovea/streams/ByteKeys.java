package io.fovea.streams;

import java.util.Arrays;

/**
 * Encodes keys of stores as keys of tables.
 *
 * <p>A store may have an empty key, a table may not. So a key that is empty or begins with a zero
 * byte is prefixed with another zero byte. This preserves the order, and leaves most keys
 * unchanged.
 *
 * <p>Thread-safe.
 */
final class ByteKeys {
  private ByteKeys() {}

  /** Encodes a whole key. */
  static byte[] encode(byte[] key) {
    if (key.length > 0 && key[0] != 0) {
      return key;
    }
    byte[] longer = new byte[key.length + 1];
    System.arraycopy(key, 0, longer, 1, key.length);
    return longer;
  }

  static byte[] decode(byte[] stored) {
    return stored[0] == 0 ? Arrays.copyOfRange(stored, 1, stored.length) : stored;
  }
}
