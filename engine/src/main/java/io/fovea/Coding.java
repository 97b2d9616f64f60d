package io.fovea;

/**
 * Converts keys and values of a table to their stored bytes and back. An instance that keeps
 * buffers serves one thread.
 */
interface Coding<K, V> {
  Coding<byte[], byte[]> IDENTITY =
      new Coding<>() {
        @Override
        public byte[] encode(byte[] key) {
          return key;
        }

        @Override
        public byte[] key(byte[] bytes) {
          return bytes;
        }

        @Override
        public byte[] value(byte[] bytes) {
          return bytes;
        }
      };

  byte[] encode(K key);

  K key(byte[] bytes);

  /** Decodes a value, if {@link #needsKey} is false. */
  V value(byte[] bytes);

  default V value(K key, byte[] bytes) {
    return value(bytes);
  }

  /** Returns whether decoding a value requires its key. */
  default boolean needsKey() {
    return false;
  }
}
