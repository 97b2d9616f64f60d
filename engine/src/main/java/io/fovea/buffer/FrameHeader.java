package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * One cache line per frame: its latch, its page, and the bucket of the pages that prefer the frame.
 *
 * <pre>
 *   0                 8                 16                24                32
 *   +-----------------+-----------------+-----------------+-----------------+
 *   | version word    | pid             | recLsn          | writingRecLsn   |   the frame
 *   +--------+--------+--------+--------+--------+--------+--------+--+--+--+--+
 *   | latch  | chain  | entry 0         | entry 1         | next   |us|di|wr|ul|
 *   +--------+--------+--------+--------+--------+--------+--------+--+--+--+--+
 *   32       36       40                48                56       60 61 62 63
 *     the bucket of the pages that prefer this frame                the frame
 *
 *   field         written by, holding                        read by
 *   version word  see {@link Latch}                          all
 *   pid           loader, evictor, promoter: frame exclusive optimistic readers (checked by the
 *                 AND the page's bucket                      version), latch holders; 0 = free
 *   recLsn        log: frame exclusive; write-back: shared   checkpoint, see Flusher
 *   writingRecLsn write-back: frame shared, or writing = 1   checkpoint, see Flusher
 *   latch         the bucket's spin latch, see Translator    -
 *   chain         bucket latch (PREDICTIVE only)             lookups without a latch, as a hint
 *   entry 0, 1    bucket latch (PREDICTIVE only)             lookups without a latch, as a hint
 *   entry 0       SWIZZLED: the frame + 1 of the parent,     {@link Swizzling}
 *                 see {@link Swizzling}
 *   entry 0       VIRTUAL: index in the list of residents,   policies, as a hint
 *                 see ResidencyBudget; frame exclusive
 *   next          latch of the page's bucket                 lookups without a latch, as a hint
 *   us  usage     readers set it if it is not set; the       policy, writer, promoter
 *                 policy clears it; writer: candidate
 *   di  dirty     exclusive sets; write-back clears (shared) policy, evictor, promoter
 *   wr  writing   write-back: sets under shared, clears      policy, evictor, promoter (exclusive)
 *   ul  unlisted  the free list's latch                      the same
 * </pre>
 *
 * <p>Headers are type-stable: a line stays a frame's header while the pool is open, and its version
 * never decreases. So a reader may read any line at any time without a latch and without memory
 * reclamation; page id and version decide afterwards whether the read is valid.
 *
 * <p>Usage: 0 not used since the policy's last visit, 1 used, 2 eviction candidate, which the
 * writer has made ready to leave ({@link ReadyFrames}). Readers turn 0 and 2 into 1, which rescues
 * a candidate. These stores are unordered and may be lost; whether a page leaves is decided under
 * the frame's latch.
 *
 * <p>Each flag has a separate byte, because they are written under different protection: in one
 * byte the store of one could undo another.
 *
 * <p>Frames are numbered from 0. Links and entries hold frame + 1, so that 0 means "none" and
 * zeroed memory is a table of free frames with empty buckets.
 */
final class FrameHeader {
  static final int SHIFT = 6;
  static final int BYTES = 1 << SHIFT;

  static final int VERSION = 0;
  static final int PID = 8;
  static final int REC_LSN = 16;
  static final int WRITING_REC_LSN = 24;
  static final int BUCKET_LATCH = 32;
  static final int CHAIN = 36;
  static final int ENTRY_0 = 40;
  static final int ENTRY_1 = 48;

  /** Shares entry 0, which is unused if the translation has no buckets in header lines. */
  static final int PARENT = ENTRY_0;

  static final int NEXT = 56;
  static final int USAGE = 60;
  static final int DIRTY = 61;
  static final int WRITING = 62;
  static final int UNLISTED = 63;

  private static final byte USED = 1;
  private static final byte CANDIDATE = 2;

  private FrameHeader() {}

  static long at(int frame) {
    return (long) frame << SHIFT;
  }

  /**
   * Returns the page in the frame, 0 for none. Stable under any latch of the frame; otherwise a
   * hint that the version confirms or refutes.
   */
  static long pid(MemorySegment headers, int frame) {
    return Mem.peekLongOpaque(headers, at(frame) + PID);
  }

  static void setPid(MemorySegment headers, int frame, long pid) {
    Mem.putLongOpaque(headers, at(frame) + PID, pid);
  }

  /**
   * Returns whether the frame holds the page, for a reader without a latch. If so, marks the frame
   * used.
   */
  static boolean use(MemorySegment headers, int frame, long pid) {
    long line = at(frame);
    if (Mem.peekLong(headers, line + PID) != pid) {
      return false;
    }
    if (Mem.peekByte(headers, line + USAGE) != USED) {
      setUsed(headers, frame, true);
    }
    return true;
  }

  /** Marks the frame used, for a reader that does not check the page id. */
  static void touch(MemorySegment headers, int frame) {
    if (Mem.peekByte(headers, at(frame) + USAGE) != USED) {
      setUsed(headers, frame, true);
    }
  }

  static int next(MemorySegment headers, int frame) {
    return Mem.getIntOpaque(headers, at(frame) + NEXT);
  }

  static void setNext(MemorySegment headers, int frame, int link) {
    Mem.putIntOpaque(headers, at(frame) + NEXT, link);
  }

  /**
   * Returns the frame + 1 of the node whose reference names this frame, 0 for none; see Swizzling.
   */
  static int parent(MemorySegment headers, int frame) {
    return Mem.getIntOpaque(headers, at(frame) + PARENT);
  }

  static void setParent(MemorySegment headers, int frame, int link) {
    Mem.putIntOpaque(headers, at(frame) + PARENT, link);
  }

  /** Sets the parent if there is none; returns whether the parent is the given one. */
  static boolean linkParent(MemorySegment headers, int frame, int link) {
    return Mem.casInt(headers, at(frame) + PARENT, 0, link) || parent(headers, frame) == link;
  }

  static boolean isUsed(MemorySegment headers, int frame) {
    return Mem.getByteOpaque(headers, at(frame) + USAGE) == USED;
  }

  static void setUsed(MemorySegment headers, int frame, boolean used) {
    Mem.putByteOpaque(headers, at(frame) + USAGE, used ? USED : 0);
  }

  static boolean isEvictionCandidate(MemorySegment headers, int frame) {
    return Mem.getByteOpaque(headers, at(frame) + USAGE) == CANDIDATE;
  }

  static void markCandidate(MemorySegment headers, int frame) {
    Mem.putByteOpaque(headers, at(frame) + USAGE, CANDIDATE);
  }

  static boolean isDirty(MemorySegment headers, int frame) {
    return Mem.getByteOpaque(headers, at(frame) + DIRTY) != 0;
  }

  static void setDirty(MemorySegment headers, int frame, boolean dirty) {
    Mem.putByteOpaque(headers, at(frame) + DIRTY, dirty ? (byte) 1 : 0);
  }

  static boolean isWriting(MemorySegment headers, int frame) {
    return Mem.getByteOpaque(headers, at(frame) + WRITING) != 0;
  }

  static void setWriting(MemorySegment headers, int frame, boolean writing) {
    Mem.putByteOpaque(headers, at(frame) + WRITING, writing ? (byte) 1 : 0);
  }

  static long recLsn(MemorySegment headers, int frame) {
    return Mem.peekLongOpaque(headers, at(frame) + REC_LSN);
  }

  static void setRecLsn(MemorySegment headers, int frame, long lsn) {
    Mem.putLongOpaque(headers, at(frame) + REC_LSN, lsn);
  }

  /** Lowers the frame's recLsn to an LSN; 0 means "none". */
  static void lowerRecLsn(MemorySegment headers, int frame, long lsn) {
    long old = recLsn(headers, frame);
    if (lsn != 0 && (old == 0 || lsn < old)) {
      setRecLsn(headers, frame, lsn);
    }
  }

  static long writingRecLsn(MemorySegment headers, int frame) {
    return Mem.peekLongOpaque(headers, at(frame) + WRITING_REC_LSN);
  }

  static void setWritingRecLsn(MemorySegment headers, int frame, long lsn) {
    Mem.putLongOpaque(headers, at(frame) + WRITING_REC_LSN, lsn);
  }
}
