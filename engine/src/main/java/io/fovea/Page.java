package io.fovea;

import io.fovea.encoding.Tuple;
import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A page of records, and the token of the next page.
 *
 * <p>A token consists of letters, digits, {@code -} and {@code _}, and fits into a URL. It contains
 * the table or index key of the last record of this page, and no transaction state: it remains
 * valid in other transactions, after the database has been closed and reopened, and in a restored
 * backup. The next page contains the records that lie beyond that key when the page is read, even
 * if the record with that key is gone. If each page is requested with the token of the previous
 * one, a record that is present throughout is returned exactly once. In an index this includes
 * records with equal values, because index keys end in the primary key.
 *
 * <p>A token is refused if it is damaged, or belongs to the other order, or to a table or index
 * with another name or other key types. This does not protect against an attacker; the range given
 * with the token limits what can be read. A token reveals the key.
 *
 * @param <T> the type of the items
 * @param items the records in order; unmodifiable
 * @param next the token of the next page; null if this is the last page
 * @since 0.1.0
 */
public record Page<T>(List<T> items, @Nullable String next) {
  /**
   * Creates a page.
   *
   * @param items the records in order; the list is not copied
   * @param next the token of the next page, or null
   */
  public Page {
    items = Collections.unmodifiableList(Objects.requireNonNull(items, "items"));
  }

  /** {@return whether there was a next page when this one was read} */
  public boolean hasNext() {
    return next != null;
  }

  /** Reads the next page of a scan; see {@link Table#page} for the parameters. */
  static <K, V> Page<Map.Entry<K, V>> read(
      Cursor<K, V> c,
      TableCore table,
      @Nullable IndexCore index,
      ScanOrder order,
      @Nullable String after,
      int limit) {
    return read(
        limit,
        after == null ? c.next() : c.seekAfter(Token.key(table, index, order, after)),
        () -> Map.entry(c.key(), c.value()),
        () -> Token.of(table, index, order, c.position()),
        c::next);
  }

  /**
   * Reads a page from a cursor.
   *
   * @param found whether the cursor is at a record
   * @param item converts the current record
   * @param token returns the token of the page after the current record
   * @param step moves to the next record
   */
  static <T> Page<T> read(
      int limit,
      boolean found,
      Supplier<? extends T> item,
      Supplier<String> token,
      BooleanSupplier step) {
    List<T> items = new ArrayList<>();
    String nextToken = null;
    boolean more = found;
    while (more && items.size() < limit) {
      items.add(item.get());
      if (items.size() == limit) {
        nextToken = token.get(); // before the cursor leaves the record
      }
      more = step.getAsBoolean();
    }
    return new Page<>(items, more ? nextToken : null);
  }

  /**
   * Encodes {@link #next}: unpadded URL-safe base64 of these bytes, integers in big-endian order.
   *
   * <pre>
   *   0        1        2                10                          length - 4
   *   | format | order  | table or index | key of the last record ... | CRC32C of all before |
   *     1        0, 1     hash             as in the tree
   * </pre>
   *
   * <p>The hash covers names and types instead of the tree's id, because a load changes that id.
   * The key of an index entry ends in the parts of the primary key that the index lacks; a unique
   * index needs none.
   */
  static final class Token {
    private static final byte FORMAT = 1;
    private static final int HEADER = 10;
    private static final int TRAILER = 4;

    private Token() {}

    static void checkLimit(int limit) {
      Options.check(limit > 0, "The limit of a page must be positive", limit);
    }

    static String of(TableCore table, @Nullable IndexCore index, ScanOrder order, byte[] key) {
      ByteBuffer b = ByteBuffer.allocate(HEADER + key.length + TRAILER);
      b.put(FORMAT).put((byte) order.ordinal()).putLong(identity(table, index)).put(key);
      b.putInt(checksum(b.array(), b.position()));
      return Base64.getUrlEncoder().withoutPadding().encodeToString(b.array());
    }

    /**
     * Returns the key of the last record before the page.
     *
     * @throws InvalidUseException if the token is invalid, or belongs to another table, index or
     *     order
     */
    static byte[] key(TableCore table, @Nullable IndexCore index, ScanOrder order, String token) {
      byte[] bytes = bytes(token);
      ByteBuffer b = ByteBuffer.wrap(bytes);
      byte format = b.get();
      byte ordered = b.get();
      if (format != FORMAT) {
        throw new InvalidUseException(
            "The page token has format "
                + format
                + ", but this version of Fovea reads format "
                + FORMAT
                + ": begin with the first page.");
      }
      if (b.getLong() != identity(table, index)) {
        throw new InvalidUseException(
            "The page token was not created for "
                + (index == null ? "" : "index " + index.displayName() + " of ")
                + "table "
                + table.displayName()
                + ": use it only with the table or index that created it.");
      }
      if (ordered != order.ordinal()) {
        throw new InvalidUseException(
            "The page token was created in the order opposite to " + order + ".");
      }
      int max = index == null ? table.keyBytesMax : index.entryBytesMax();
      if (bytes.length - HEADER - TRAILER > max) {
        throw broken("contains a key that is too long");
      }
      return Arrays.copyOfRange(bytes, HEADER, bytes.length - TRAILER);
    }

    private static byte[] bytes(String token) {
      byte[] bytes;
      try {
        bytes = Base64.getUrlDecoder().decode(token);
      } catch (IllegalArgumentException e) {
        throw broken("contains invalid characters");
      }
      if (bytes.length <= HEADER + TRAILER) {
        throw broken("is too short");
      }
      int end = bytes.length - TRAILER;
      if (ByteBuffer.wrap(bytes).getInt(end) != checksum(bytes, end)) {
        throw broken("has a wrong checksum");
      }
      return bytes;
    }

    private static InvalidUseException broken(String how) {
      return new InvalidUseException(
          "The page token "
              + how
              + ": it was not returned by Page.next, or was changed in transit.");
    }

    private static int checksum(byte[] bytes, int length) {
      CRC32C crc = new CRC32C();
      crc.update(bytes, 0, length);
      return (int) crc.getValue();
    }

    private static long identity(TableCore table, @Nullable IndexCore index) {
      long h = add(0xcbf29ce484222325L, table.name);
      if (index != null) {
        h = add(h, index.name);
        h = mix(h, index.unique ? 1 : 2);
      }
      return add(h, index == null ? table.key : index.entry);
    }

    private static long add(long h, String name) {
      for (int i = 0; i < name.length(); i++) {
        h = mix(h, name.charAt(i));
      }
      return mix(h, 0x10000 + name.length());
    }

    private static long add(long h, KeySpec key) {
      for (Field part : key.parts()) {
        h = mix(h, Tuple.form(part));
        h = part.scale() == 0 ? h : mix(h, part.scale());
      }
      return h;
    }

    /** Applies one step of FNV-1a to a number instead of a byte. */
    private static long mix(long h, int x) {
      return (h ^ x) * 0x100000001b3L;
    }
  }
}
