package io.fovea.index;

import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Position;
import io.fovea.buffer.LeafHints;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Encodes the location of a record in an entry of a secondary index.
 *
 * <pre>
 *   value of an entry     | primary key | page id 40 | line 8 | slot + 1  16 | frame + 1  32 |
 *                                         pages                 slots          frames
 * </pre>
 *
 * <p>Parts that an index does not keep are absent; 0 means unknown. Numbers are little-endian and
 * unaligned. A page id of five bytes covers 2^40 pages, or 4 PiB at 4 KiB per page (four bytes
 * would end at 16 TiB); a record on a page beyond that limit has no hint. The line is the 1/256 of
 * the page in which the record begins; it is used only to prefetch the record's bytes ({@link
 * HintedLeaf}). The frame is last, so that it can be removed from a stored value without knowledge
 * of the other parts ({@link LeafHints}).
 *
 * <p>Immutable.
 */
public final class HintCodec {
  public static final HintCodec NONE = new HintCodec(false, false, false);

  /** Includes the line. */
  private static final int PAGE_BYTES = 6;

  private static final int LINE_SHIFT = 40;
  private static final int SLOT_BYTES = 2;
  private static final long PAGE_MAX = (1L << LINE_SHIFT) - 1;
  private static final int SLOT_MAX = (1 << 8 * SLOT_BYTES) - 2;

  private final boolean slots;
  private final boolean frames;
  private final int bytes;

  /** Creates a codec for the given parts; without pages, it keeps nothing. */
  public HintCodec(boolean pages, boolean frames, boolean slots) {
    this.slots = pages && slots;
    this.frames = pages && frames;
    this.bytes = pages ? PAGE_BYTES + (slots ? SLOT_BYTES : 0) + (frames ? LeafHints.BYTES : 0) : 0;
  }

  public int bytes() {
    return bytes;
  }

  public boolean slots() {
    return slots;
  }

  public boolean frames() {
    return frames;
  }

  /**
   * Reads a hint. Whatever the bytes, the result is safe to use as a position: its version matches
   * no page. Its pid is 0 if the location is unknown.
   */
  public void read(MemorySegment s, long at, Position p) {
    p.clear();
    long page = Mem.getInt(s, at) & 0xFFFF_FFFFL | (long) Mem.getUnsignedShort(s, at + 4) << 32;
    p.pid = page & PAGE_MAX;
    p.line = (int) (page >>> LINE_SHIFT);
    if (slots) {
      p.slot = Mem.getUnsignedShort(s, at + PAGE_BYTES) - 1;
      p.found = p.slot >= 0;
    }
    if (frames) {
      p.frame = Mem.getInt(s, at + bytes - LeafHints.BYTES) - 1;
    }
  }

  /** Writes a hint, empty if the location is unset, and without the frame unless requested. */
  public void write(MemorySegment s, long at, Position p, boolean withFrame) {
    long pid = p.frame < 0 || p.pid > PAGE_MAX ? 0 : p.pid;
    long page = pid == 0 ? 0 : pid | (long) p.line << LINE_SHIFT;
    Mem.putInt(s, at, (int) page);
    Mem.putShort(s, at + 4, (short) (page >>> 32));
    if (slots) {
      int slot = pid == 0 || p.slot > SLOT_MAX ? 0 : p.slot + 1;
      Mem.putShort(s, at + PAGE_BYTES, (short) slot);
    }
    if (frames) {
      Mem.putInt(s, at + bytes - LeafHints.BYTES, pid == 0 || !withFrame ? 0 : p.frame + 1);
    }
  }
}
