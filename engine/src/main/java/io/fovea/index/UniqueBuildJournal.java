package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The journal of the entries that transactions add or remove while the tree of a unique index is
 * built. Two records may have the same entry meanwhile, so an item of the journal contains the
 * entry and the record's key.
 *
 * <pre>
 *   item                                   entry ‖ key of the record ‖ length of the entry, 2 bytes
 *   in the tree, if it fits into a key     key: the item                           value: empty
 *               if not                     key: SHA-256 of the item ‖ FF FF        value: the item
 * </pre>
 *
 * <p>The length at the end keeps items distinct. It is less than FF FF, so an item that fits never
 * equals the key of one that does not. Items that fit are in the order of entries, so the items for
 * one leaf are adjacent when they are applied.
 *
 * <p>Written by the thread of the transaction; an item may be read by any thread.
 */
public final class UniqueBuildJournal {
  private static final int LENGTH_BYTES = 2;
  private static final int DIGEST_BYTES = 32;

  private UniqueBuildJournal() {}

  /** Journals that an entry of a record was added or removed, in the tree of {@code index}. */
  static void put(
      StatementContext context,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    int n = len + keyLen + LENGTH_BYTES;
    MemorySegment item = context.take((long) n + DIGEST_BYTES + LENGTH_BYTES);
    try {
      Mem.copy(entries, at, item, 0, len);
      Mem.copy(key, keyOff, item, len, keyLen);
      Mem.putShort(item, len + (long) keyLen, (short) len);
      if (n <= index.tree.maxKeySize()) {
        t.put(index.tree, item, 0, n, item, 0, 0);
      } else {
        putDigest(item, n);
        t.put(index.tree, item, n, DIGEST_BYTES + LENGTH_BYTES, item, 0, n);
      }
    } finally {
      context.releaseBlock(item);
    }
  }

  /** Appends the key of an item that is too long to be a key itself. */
  private static void putDigest(MemorySegment item, int n) {
    byte[] digest;
    try {
      digest = MessageDigest.getInstance("SHA-256").digest(Mem.bytes(item, 0, n));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Each Java platform has SHA-256.", e);
    }
    Mem.putBytes(item, n, digest, 0, DIGEST_BYTES);
    Mem.putShort(item, n + (long) DIGEST_BYTES, (short) 0xFFFF);
  }

  /**
   * Returns the length of the entry in an item of {@code n} bytes; the record's key follows the
   * entry. The item is the key in the tree if the value is empty, otherwise the value.
   */
  public static int entryLength(MemorySegment item, long off, int n) {
    return Mem.getUnsignedShort(item, off + n - LENGTH_BYTES);
  }

  public static int keyLength(int n, int entryLength) {
    return n - LENGTH_BYTES - entryLength;
  }
}
