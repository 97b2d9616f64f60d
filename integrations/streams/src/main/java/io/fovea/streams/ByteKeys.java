package io.fovea.streams;

import java.util.Arrays;

/**
 * Keys of stores as keys of tables.
 *
 * <p>A table has no empty key, and a store may. So a key that is empty or begins with a zero byte
 * gets one zero byte more in front: the order stays, and most keys stay as they are.
 *
 * <p>Any thread.
 */
final class ByteKeys {
  private ByteKeys() {}

  /** A whole key. */
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
