package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * What transactions note while the tree of a unique index is built: that the entry of a record has
 * come or gone. Two records may have the same entry by then, at different moments or at the same,
 * so the key of a note has both.
 *
 * <pre>
 *   note                                   entry ‖ key of the record ‖ length of the entry, 2 bytes
 *   in the tree, if it fits into a key     key: the note                               value: empty
 *               if not                     key: SHA-256 of the note ‖ FF FF            value: the note
 * </pre>
 *
 * <p>The length at the end makes sure that no two notes are the same bytes. It is less than FF FF,
 * so no note that fits is the key of one that does not. Notes are in the order of entries, but for
 * those that don't fit: whoever settles them finds entries of one leaf side by side.
 *
 * <p>The thread of the transaction; reading one: any.
 */
public final class UniqueBuildJournal {
  private static final int LENGTH_BYTES = 2;
  private static final int DIGEST_BYTES = 32;

  private UniqueBuildJournal() {}

  /**
   * Notes that a record has got an entry, or has lost it.
   *
   * @param index whose tree is that of the notes
   */
  static void put(
      StatementContext statementContext,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    int n = len + keyLen + LENGTH_BYTES;
    MemorySegment note = statementContext.take((long) n + DIGEST_BYTES + LENGTH_BYTES);
    try {
      Mem.copy(entries, at, note, 0, len);
      Mem.copy(key, keyOff, note, len, keyLen);
      Mem.putShort(note, len + (long) keyLen, (short) len);
      if (n <= index.tree.maxKeySize()) {
        t.put(index.tree, note, 0, n, note, 0, 0);
      } else {
        putDigest(note, n);
        t.put(index.tree, note, n, DIGEST_BYTES + LENGTH_BYTES, note, 0, n);
      }
    } finally {
      statementContext.give(note);
    }
  }

  /** Puts the key of a note that is too long behind it. */
  private static void putDigest(MemorySegment note, int n) {
    byte[] all = new byte[n];
    Mem.getBytes(note, 0, all, 0, n);
    byte[] digest;
    try {
      digest = MessageDigest.getInstance("SHA-256").digest(all);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Each Java platform has SHA-256.", e);
    }
    Mem.putBytes(note, n, digest, 0, DIGEST_BYTES);
    Mem.putShort(note, n + (long) DIGEST_BYTES, (short) 0xFFFF);
  }

  /**
   * The length of the entry that a note begins with; the rest but for {@link #keyLength} is the
   * record's key.
   *
   * @param note where it is: in the key of the tree if the value is empty, else in the value
   * @param off where it begins
   * @param n how long it is
   */
  public static int entryLength(MemorySegment note, long off, int n) {
    return Mem.getUnsignedShort(note, off + n - LENGTH_BYTES);
  }

  /** The length of the record's key in a note. */
  public static int keyLength(int n, int entryLength) {
    return n - LENGTH_BYTES - entryLength;
  }
}
