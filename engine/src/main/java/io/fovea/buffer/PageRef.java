package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A reference from an inner node to a child: the page's id, which is always right, and beside it,
 * in the same word, a hint of the frame that the page is in.
 *
 * <pre>
 *   63                   38 37                                   0
 *   | frame + 1, 0: none    | page id                            |
 *   +-----------------------+------------------------------------+
 *     hint: memory only       name: memory and file
 *
 *   field   who writes it                                who reads it
 *   id      changes of structure, latched exclusively    everyone who goes down
 *   frame   changes of structure, with the id            the descent, which checks it
 *           {@link ChildHints}, latched shared
 * </pre>
 *
 * <p>One aligned word, so that a reader without a latch sees the name with an old hint or with a
 * new one and never half of either; and no byte of a node is spent on it, so that nodes with and
 * without hints are the same to the file, which has zeros there: {@link #clear}.
 *
 * <p><b>Limits.</b> 38 bits of page ids are 1 PiB of pages of 4 KiB, 16 PiB of those of 64 KiB. 26
 * bits of frames are a pool of 256 GiB of pages of 4 KiB, or of 4 TiB; a larger one has no hints in
 * its nodes.
 *
 * @since 0.1.0
 */
public final class PageRef {
  /** How many bits a page id has at most. */
  public static final int PID_BITS = 38;

  /** The largest page id, and the part of a reference that is one. */
  public static final long PID_MASK = (1L << PID_BITS) - 1;

  /** How many frames a pool has at most for references to name them. */
  public static final int FRAMES_MAX = (1 << Long.SIZE - PID_BITS) - 1;

  /** Where an inner node says how many references it has, but one; 16 bits. */
  public static final int COUNT = 32;

  /** Where the first reference of an inner node is. */
  public static final int FIRST = 136;

  /** From one reference of an inner node to the next. */
  public static final int STRIDE = 16;

  private PageRef() {}

  /** The page id of a reference. */
  public static long pid(long ref) {
    return ref & PID_MASK;
  }

  /** The frame that a reference names, unchecked; -1 where it names none. */
  public static int frame(long ref) {
    return hint(ref) - 1;
  }

  /** The hint of a reference as it is stored: the frame + 1, or 0. */
  static int hint(long ref) {
    return (int) (ref >>> PID_BITS);
  }

  /** A reference of a page id and a hint as it is stored. */
  static long of(long pid, int hint) {
    return pid & PID_MASK | (long) hint << PID_BITS;
  }

  /**
   * Takes the hints out of a copy of a page, if it is an inner node: what is in the file or in the
   * log says nothing of memory.
   *
   * @param s where the copy is
   * @param base where in it
   * @param bytes how much of the page there is
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
