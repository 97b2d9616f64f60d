package io.fovea;

/**
 * How keys and values of a table are turned into the bytes that are stored, and back. An instance
 * may keep buffers, and then serves one thread.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 */
interface Coding<K, V> {
  /** Byte strings as they are. */
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

  /** The bytes of a key. */
  byte[] encode(K key);

  /** A key from its bytes. */
  K key(byte[] bytes);

  /** A value from its bytes, where {@link #needsKey} is false. */
  V value(byte[] bytes);

  /** A value from its bytes. */
  default V value(K key, byte[] bytes) {
    return value(bytes);
  }

  /** Whether values are made with their keys. */
  default boolean needsKey() {
    return false;
  }
}
