package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A reference from an inner node to a child: the page id, which is always right, and in the same
 * word a hint of the page's frame.
 *
 * <pre>
 *   63                   38 37                                   0
 *   | frame + 1, 0: none    | page id                            |
 *   +-----------------------+------------------------------------+
 *     hint: memory only       name: memory and file
 *
 *   field   written by                                   read by
 *   id      structure changes, latched exclusively       every descent
 *   frame   structure changes, with the id               the descent, which checks it
 *           {@link ChildHints}, latched shared
 * </pre>
 *
 * <p>The reference is one aligned word, so a reader without a latch sees the id with an old or a
 * new hint, and never half of either. Hints take no space in a node; in the file these bits are
 * zeros: {@link #clear}.
 *
 * <p><b>Limits.</b> Page ids of 38 bits address 1 PiB with pages of 4 KiB, 16 PiB with pages of 64
 * KiB. Frame numbers of 26 bits address a pool of 256 GiB or 4 TiB, respectively; a larger pool has
 * no hints.
 *
 * @since 0.1.0
 */
public final class PageRef {
  /** The number of bits of a page id. */
  public static final int PID_BITS = 38;

  /** The largest page id, and the mask of the page id in a reference. */
  public static final long PID_MASK = (1L << PID_BITS) - 1;

  /** The maximum number of frames of a pool for which references can have hints. */
  public static final int FRAMES_MAX = (1 << Long.SIZE - PID_BITS) - 1;

  /** The offset of the number of references in an inner node, minus one; 16 bits. */
  public static final int COUNT = 32;

  /** The offset of the first reference in an inner node. */
  public static final int FIRST = 136;

  /** The distance between references in an inner node. */
  public static final int STRIDE = 16;

  private PageRef() {}

  /** Returns the page id of a reference. */
  public static long pid(long ref) {
    return ref & PID_MASK;
  }

  /** Returns the frame that a reference names, unchecked; -1 for none. */
  public static int frame(long ref) {
    return hint(ref) - 1;
  }

  /** Returns the hint of a reference as it is stored: the frame + 1, or 0. */
  static int hint(long ref) {
    return (int) (ref >>> PID_BITS);
  }

  /** Makes a reference from a page id and a hint in its stored form. */
  static long of(long pid, int hint) {
    return pid & PID_MASK | (long) hint << PID_BITS;
  }

  /**
   * Clears the hints in a copy of a page, if it is an inner node: they mean nothing in the file or
   * the log.
   *
   * @param s the memory of the copy
   * @param base the offset of the copy
   * @param bytes the number of bytes of the page that were copied
   */
  static void clear(MemorySegment s, long base, int bytes) {
    if (PageHeader.type(s, base) != PageHeader.INNER) {
      return;
    }
    int count = Mem.getUnsignedShort(s, base + COUNT);
    for (int i = 0, at = FIRST; i <= count && at + Long.BYTES <= bytes; i++, at += STRIDE) {
      Mem.putLong(s, base + at, pid(Mem.getLong(s, base + at)));
    }
  }
}
