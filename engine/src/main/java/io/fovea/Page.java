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
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A page of records, and where the next one begins.
 *
 * <p>The token of the next page is a text of letters, digits, {@code -} and {@code _} that fits
 * into a URL. It names the last record of this page by its key in the table or the index, and
 * nothing of the transaction: it may be used in any other, after the database was closed and
 * opened, and in a restored backup. The next page has the records that lie behind that key when it
 * is read, whatever became of the record itself. So what is there all the time is met once, if each
 * page is asked for with the token of the one before; of an index, records with equal values too,
 * because its keys end in the primary key.
 *
 * <p>A token is checked for being whole, and for being one of the same table or index, by its name
 * and the types of its key, and of the same order; otherwise it is refused. That is no protection
 * against an attacker, and need not be: the range that is given along with the token bounds what
 * can be read. It is no secret either: the key can be read out of it.
 *
 * @param <T> what a record is turned into
 * @param items the records in their order; can't be changed
 * @param next the token of the page behind this one; null if there was nothing behind this one
 * @since 0.1.0
 */
public record Page<T>(List<T> items, @Nullable String next) {
  /**
   * A page.
   *
   * @param items the records in their order; the list is not copied
   * @param next the token of the page behind this one, or null
   */
  public Page {
    items = Collections.unmodifiableList(Objects.requireNonNull(items, "items"));
  }

  /**
   * Whether there was a record behind this page when it was read.
   *
   * @return true if {@link #next} is not null
   */
  public boolean hasNext() {
    return next != null;
  }

  /**
   * Reads one where a cursor stands.
   *
   * @param limit how many records at most
   * @param found whether it stands on one
   * @param item makes something of the record
   * @param token is the one of the page behind the record
   * @param step goes to the next record
   */
  static <T> Page<T> read(
      int limit,
      boolean found,
      Supplier<? extends T> item,
      Supplier<String> token,
      BooleanSupplier step) {
    List<T> items = new ArrayList<>();
    String behind = null;
    boolean more = found;
    while (more && items.size() < limit) {
      items.add(item.get());
      if (items.size() == limit) {
        behind = token.get(); // before the cursor leaves the record
      }
      more = step.getAsBoolean();
    }
    return new Page<>(items, more ? behind : null);
  }

  /**
   * What {@link #next} is: base64 for URLs, without padding, of these bytes, integers with the
   * highest byte first.
   *
   * <pre>
   *   0        1        2                10                          length - 4
   *   | format | order  | table or index | key of the last record ... | CRC32C of all before |
   *     1        0, 1     hash             as in the tree
   * </pre>
   *
   * <p>The hash is of names and types, not of a tree's id: that is another one after a load. The
   * key of an index's entry ends in what of the primary key is not among the index's fields; in a
   * unique index there are no two entries of a value.
   */
  static final class Token {
    private static final byte FORMAT = 1;
    private static final int HEADER = 10;
    private static final int TRAILER = 4;

    private Token() {}

    static int checkLimit(int limit) {
      if (limit <= 0) {
        throw new IllegalArgumentException("A page of " + limit + " records.");
      }
      return limit;
    }

    /** Makes one. */
    static String of(TableCore table, @Nullable IndexCore index, ScanOrder order, byte[] key) {
      ByteBuffer b = ByteBuffer.allocate(HEADER + key.length + TRAILER);
      b.put(FORMAT).put((byte) order.ordinal()).putLong(identity(table, index)).put(key);
      b.putInt(checksum(b.array(), b.position()));
      return Base64.getUrlEncoder().withoutPadding().encodeToString(b.array());
    }

    /**
     * Reads one.
     *
     * @return the key of the last record before the page
     * @throws InvalidUseException if it is none, or another table's, index's or order's
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
                + ", this version of Fovea reads format "
                + FORMAT
                + ": begin with the first page.");
      }
      if (b.getLong() != identity(table, index)) {
        throw new InvalidUseException(
            "The page token is one of another table or index than "
                + (index == null ? "" : "index " + index.shown() + " of ")
                + "table "
                + table.shown()
                + ": pass it where it came from.");
      }
      if (ordered != order.ordinal()) {
        throw new InvalidUseException(
            "The page token is one of pages in the opposite order to " + order + ".");
      }
      int most = index == null ? table.keyBytesMax : index.entryBytesMax();
      if (bytes.length - HEADER - TRAILER > most) {
        throw broken("holds a key that is too long");
      }
      return Arrays.copyOfRange(bytes, HEADER, bytes.length - TRAILER);
    }

    private static byte[] bytes(String token) {
      byte[] bytes;
      try {
        bytes = Base64.getUrlDecoder().decode(token);
      } catch (IllegalArgumentException e) {
        throw broken("has characters that no token has");
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
              + ": it is not one that Page.next has returned, or was changed on its way.");
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

    /** FNV-1a, of numbers instead of bytes. */
    private static long mix(long h, int x) {
      return (h ^ x) * 0x100000001b3L;
    }
  }
}
