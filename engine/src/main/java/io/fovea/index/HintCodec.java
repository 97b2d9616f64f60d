package io.fovea.index;

import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Position;
import io.fovea.buffer.LeafHints;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * How an entry of a secondary index remembers where its record is.
 *
 * <pre>
 *   value of an entry     | primary key | page id 40 | line 8 | slot + 1  16 | frame + 1  32 |
 *                                         pages                 slots          frames
 * </pre>
 *
 * <p>What an index does without is missing; 0 says that nothing is known. Numbers are little-endian
 * and unaligned. A page id has five bytes: 2^40 pages of 4 KiB are four pebibytes, and the record
 * of a page beyond would just have no hint; four would end at 16 TiB. The line is the 256th of the
 * page in which the record begins: all that comes of it is that its bytes are loaded a little
 * earlier ({@link HintedLeaf}). The frame is the last, so that what is written can be rid of it
 * without knowing the rest ({@link LeafHints}).
 *
 * <p>Immutable; any thread.
 */
public final class HintCodec {
  /** No hints. */
  public static final HintCodec NONE = new HintCodec(false, false, false);

  /** With the line. */
  private static final int PAGE_BYTES = 6;

  private static final int LINE_SHIFT = 40;
  private static final int SLOT_BYTES = 2;
  private static final long PAGE_MAX = (1L << LINE_SHIFT) - 1;
  private static final int SLOT_MAX = (1 << 8 * SLOT_BYTES) - 2;

  private final boolean slots;
  private final boolean frames;
  private final int bytes;

  /**
   * A codec.
   *
   * @param pages whether page ids are kept; without them, nothing is
   * @param frames whether frames are
   * @param slots whether slots are
   */
  public HintCodec(boolean pages, boolean frames, boolean slots) {
    this.slots = pages && slots;
    this.frames = pages && frames;
    this.bytes = pages ? PAGE_BYTES + (slots ? SLOT_BYTES : 0) + (frames ? LeafHints.BYTES : 0) : 0;
  }

  /** How many bytes of a value are the hint. */
  public int bytes() {
    return bytes;
  }

  /** Whether slots are kept. */
  public boolean slots() {
    return slots;
  }

  /** Whether frames are kept. */
  public boolean frames() {
    return frames;
  }

  /**
   * Reads a hint. Whatever the bytes are, it is a position that may be asked for.
   *
   * @param s where it is; native memory
   * @param at where it begins
   * @param p out: the place, with a version that nobody has; pid 0 where nothing is known
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

  /**
   * Writes a hint.
   *
   * @param s where to; native memory
   * @param at where it is to begin
   * @param p the place; one that is nowhere gives a hint that says nothing
   * @param withFrame whether the frame is written, where frames are kept
   */
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
