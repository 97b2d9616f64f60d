package io.fovea.catalog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The key of a table's or a sequence's catalog record. A sequence's key begins with another letter.
 *
 * <pre>
 *   "t" · name in UTF-8                         if the name has 1 to 255 bytes
 *   "t" · FF · SHA-256 of the name in UTF-8     otherwise; the record then contains the
 *                                               name in its {@link ExtensionFields}
 * </pre>
 *
 * <p>A name of 255 characters may take 765 bytes, but a key in a 4 KiB page at most 512. FF does
 * not occur in UTF-8, so keys of short and long names differ. Hash collisions are assumed not to
 * occur.
 */
final class CatalogKey {
  static final char TABLE = 't';
  static final char SEQUENCE = 's';

  private static final int NAME_BYTES_MAX = 255;
  private static final byte HASHED = (byte) 0xFF;
  private static final int HASH_BYTES = 32;

  private CatalogKey() {}

  static byte[] of(String name) {
    return of(TABLE, name);
  }

  /** Returns the key of a table's or a sequence's record. */
  static byte[] of(char kind, String name) {
    byte[] utf8 = name.getBytes(StandardCharsets.UTF_8);
    boolean hashed = utf8.length > NAME_BYTES_MAX;
    byte[] rest = hashed ? hash(utf8) : utf8;
    byte[] key = new byte[(hashed ? 2 : 1) + rest.length];
    key[0] = (byte) kind;
    if (hashed) {
      key[1] = HASHED;
    }
    System.arraycopy(rest, 0, key, key.length - rest.length, rest.length);
    return key;
  }

  private static byte[] hash(byte[] utf8) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(utf8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JVM has SHA-256.", e);
    }
  }

  private static boolean isHashed(byte[] key) {
    return key.length == 2 + HASH_BYTES && key[1] == HASHED;
  }

  /** Returns the name if the key contains it, else its hash, for messages. */
  static String describe(byte[] key) {
    return isHashed(key)
        ? "with the hash " + HexFormat.of().formatHex(key, 2, key.length)
        : new String(key, 1, key.length - 1, StandardCharsets.UTF_8);
  }

  /** Adds the name to the record's extension fields if the key does not contain it. */
  static void write(String name, ExtensionFields to) {
    byte[] utf8 = name.getBytes(StandardCharsets.UTF_8);
    if (utf8.length > NAME_BYTES_MAX) {
      to.put(ExtensionFields.NAME, utf8);
    }
  }

  /**
   * Returns the name of a table or sequence.
   *
   * @throws IOException if key and extension fields are inconsistent
   */
  static String read(byte[] key, ExtensionFields extensionFields) throws IOException {
    byte[] utf8 = extensionFields.get(ExtensionFields.NAME);
    if (!isHashed(key) && utf8 == null) {
      return describe(key);
    }
    if (utf8 == null || !Arrays.equals(key, 2, key.length, hash(utf8), 0, HASH_BYTES)) {
      throw new IOException("key and name don't belong together");
    }
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
