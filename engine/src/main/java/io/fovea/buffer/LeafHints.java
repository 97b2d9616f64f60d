package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Clears the frame numbers that end the values of some leaves, before the leaf is written.
 *
 * <pre>
 *   layout 1 of a leaf     every value that is in the leaf ends with 4 bytes that name a frame + 1
 *   slot i, 8 bytes at 64 + 8 i       | head 32 | offset 16 | length of the suffix 16 |
 *   record at the offset              | length of the value 16 | suffix from byte 4 on | value |
 * </pre>
 *
 * <p>A frame number means nothing in another process, and checking it would cost the first use of
 * each entry a wasted read. So neither the file nor an image in the log contains any, and the
 * contents of files do not depend on the frames of their pages.
 *
 * <p>The layout of slots and records is the B-tree's ({@code BTreeNode}), repeated here because the
 * pool does not depend on trees. The page was latched while it was copied, so its offsets are
 * whole; those of a damaged page are clamped to the page.
 */
public final class LeafHints {
  /** The layout of a leaf whose values end with a frame number. */
  public static final int LAYOUT = 1;

  /** The size of the number, in bytes. */
  public static final int BYTES = 4;

  private static final int COUNT = 32;
  private static final int SLOTS = 64;
  private static final int STRIDE = 8;
  private static final int HEAD_BYTES = 4;
  private static final int FIELD_BYTES = 2;
  private static final int ELSEWHERE = 0xFFFF;

  private LeafHints() {}

  /** Returns whether a page is a leaf of this layout. */
  public static boolean has(MemorySegment s, long base) {
    return PageHeader.type(s, base) == PageHeader.LEAF && PageHeader.layout(s, base) == LAYOUT;
  }

  /**
   * Sets the frames of all values in a copy of a page to 0, if it has any.
   *
   * @param s the memory of the copy
   * @param base the offset of the copy
   * @param pageSize the size of the whole page
   * @param hole the number of bytes between slots and records that were not copied; 0 for none
   */
  static void clear(MemorySegment s, long base, int pageSize, int hole) {
    if (!has(s, base)) {
      return;
    }
    int count = Math.min(Mem.getUnsignedShort(s, base + COUNT), (pageSize - hole - SLOTS) / STRIDE);
    int heap = SLOTS + count * STRIDE;
    for (int i = 0; i < count; i++) {
      long slot = Mem.getLong(s, base + SLOTS + (long) i * STRIDE);
      int at = ((int) slot >>> 16) - hole;
      if (at < heap || at > pageSize - hole - FIELD_BYTES) {
        continue;
      }
      int length = Mem.getUnsignedShort(s, base + at);
      int end = at + FIELD_BYTES + Math.max(0, ((int) slot & 0xFFFF) - HEAD_BYTES) + length;
      if (length != ELSEWHERE && length >= BYTES && end <= pageSize - hole) {
        Mem.putInt(s, base + end - BYTES, 0);
      }
    }
  }
}
