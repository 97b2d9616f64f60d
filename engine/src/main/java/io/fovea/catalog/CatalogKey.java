package io.fovea.catalog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The key of a table's record in the catalog, or of a sequence's, which has another first letter.
 *
 * <pre>
 *   "t" · name in UTF-8                         where that has 1 to 255 bytes
 *   "t" · FF · SHA-256 of the name in UTF-8     else: the name is a {@linkplain ExtensionFields section}
 * </pre>
 *
 * <p>A name of 255 characters has up to 765 bytes, and a key of a page of 4 KiB up to 512. FF does
 * not occur in UTF-8, so no short name has the key of a long one. Names with one hash would be one
 * table, but nobody has ever found two.
 */
final class CatalogKey {
  static final char TABLE = 't';
  static final char SEQUENCE = 's';

  private static final int NAME_BYTES_MAX = 255;
  private static final byte HASHED = (byte) 0xFF;
  private static final int HASH_BYTES = 32;

  private CatalogKey() {}

  /** The key of a table's record. */
  static byte[] of(String name) {
    return of(TABLE, name);
  }

  /** The key of the record of a table or of a sequence. */
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

  /** The name where the key has it, else its hash: for messages. */
  static String describe(byte[] key) {
    return isHashed(key)
        ? "with the hash " + HexFormat.of().formatHex(key, 2, key.length)
        : new String(key, 1, key.length - 1, StandardCharsets.UTF_8);
  }

  /** Adds the name to the sections of its record if the key does not have it. */
  static void write(String name, ExtensionFields to) {
    byte[] utf8 = name.getBytes(StandardCharsets.UTF_8);
    if (utf8.length > NAME_BYTES_MAX) {
      to.put(ExtensionFields.NAME, utf8);
    }
  }

  /**
   * The name of a table or of a sequence.
   *
   * @throws IOException if key and sections make no sense together
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
