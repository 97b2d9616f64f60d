package io.fovea.buffer;

import io.fovea.memory.Mem;

/**
 * Predictive translation that reads the preferred frame before any table. The preferred frame of a
 * page is its id modulo the number of frames. The header line of that frame is also the bucket of
 * all pages that prefer it.
 *
 * <pre>
 *   header line of frame h:   ... | latch | chain | entry 0 | entry 1 | ...
 *                                             |       |         |
 *                        frame + 1 of a page -+       +---------+-- tag << 32 | frame + 1
 *                        beyond the two; its          tag = pid / frames, which with h is the pid
 *                        header's next continues
 * </pre>
 *
 * <p>Exactly one of these holds for a resident page p with preferred frame h: it is in frame h; an
 * entry of h names its frame; or its frame is in the chain of h. A page in its preferred frame has
 * no entry.
 *
 * <p><b>Cost.</b> In the preferred frame: no table access; line and page are loaded together,
 * because both addresses follow from the page id. Elsewhere: one more dependent miss, as the line
 * just read names the frame.
 */
final class PredictiveTranslation {
  private PredictiveTranslation() {}

  /** Exact under the bucket's latch, a hint without it (the chain may be changing). */
  static int find(Translator t, int preferred, long pid, int steps) {
    long line = FrameHeader.at(preferred);
    if (Mem.getLongOpaque(t.headers, line + FrameHeader.PID) == pid) {
      return preferred;
    }
    long tag = (long) t.tag(pid) << 32;
    int frame = frameOf(t, Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_0), tag, pid);
    if (frame < 0) {
      frame = frameOf(t, Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_1), tag, pid);
    }
    return frame >= 0
        ? frame
        : t.walk(Mem.getIntOpaque(t.headers, line + FrameHeader.CHAIN), pid, steps);
  }

  /**
   * Returns the frame that an entry names, if it names this page and the frame agrees; otherwise
   * -1.
   */
  private static int frameOf(Translator t, long entry, long tag, long pid) {
    if (((entry ^ tag) >>> 32) != 0 || entry == 0) {
      return -1;
    }
    int frame = (int) entry - 1;
    return FrameHeader.pid(t.headers, frame) == pid ? frame : -1;
  }

  static void insert(Translator t, int preferred, long pid, int frame) {
    if (frame == preferred) {
      return;
    }
    long line = FrameHeader.at(preferred);
    long entry = (long) t.tag(pid) << 32 | frame + 1;
    if (Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_0) == 0) {
      Mem.putLongRelease(t.headers, line + FrameHeader.ENTRY_0, entry);
    } else if (Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_1) == 0) {
      Mem.putLongRelease(t.headers, line + FrameHeader.ENTRY_1, entry);
    } else {
      t.push(line + FrameHeader.CHAIN, frame);
    }
  }

  static void remove(Translator t, int preferred, int frame) {
    if (frame == preferred) {
      return;
    }
    long line = FrameHeader.at(preferred);
    if ((int) Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_0) == frame + 1) {
      refill(t, line, FrameHeader.ENTRY_0);
    } else if ((int) Mem.getLongOpaque(t.headers, line + FrameHeader.ENTRY_1) == frame + 1) {
      refill(t, line, FrameHeader.ENTRY_1);
    } else {
      t.unlink(line + FrameHeader.CHAIN, frame);
    }
  }

  /**
   * Empties an entry, or fills it from the chain, so that chains exist only behind full entries.
   */
  private static void refill(Translator t, long line, int at) {
    int link = Mem.getIntOpaque(t.headers, line + FrameHeader.CHAIN);
    long entry = 0;
    if (link != 0) {
      int frame = link - 1;
      entry = (long) t.tag(FrameHeader.pid(t.headers, frame)) << 32 | link;
    }
    Mem.putLongRelease(t.headers, line + at, entry);
    if (link != 0) {
      // After the entry: a reader without a latch that passed the entry too early may still find
      // the page in the chain.
      Mem.putIntRelease(t.headers, line + FrameHeader.CHAIN, FrameHeader.next(t.headers, link - 1));
    }
  }
}
