package io.fovea.wal;

import io.fovea.memory.Checksum;

/**
 * A record in the ring and in the file, little-endian.
 *
 * <pre>
 *   0        4          8      9        16
 *   | length | checksum | type | zero(7) | body ... | zeros to a multiple of 8
 *   └──── word ────────┘  checksum covers 8 .. length, seeded with start, incarnation, length
 * </pre>
 *
 * <p>The length includes header and body. The word is stored last, by one release store: it is 0
 * until the record is complete and never 0 afterwards, since no length is 0.
 *
 * <p>One exception: at the end of a lap of the ring there may be space for the word alone. A record
 * of length 8 is a {@link RecordType#VOID} that consists of nothing else.
 */
final class Record {
  static final int HEADER = 16;
  static final int TYPE = 8;
  static final int WORD = 8;

  private Record() {}

  /** Returns the word of a complete record. */
  static long word(int length, int checksum) {
    return (long) checksum << 32 | length;
  }

  static int length(long word) {
    return (int) word;
  }

  static int checksum(long word) {
    return (int) (word >>> 32);
  }

  /** Returns the space that a record takes in the stream. */
  static long aligned(long length) {
    return length + 7 & ~7L;
  }

  /** Computes the checksum of the record at {@code off}. */
  static int sum(Checksum.Reusable memory, long off, long start, long incarnation, int length) {
    return memory.sum(start, incarnation, length, off + WORD, length - WORD);
  }
}
