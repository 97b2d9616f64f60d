package io.fovea.buffer;

/**
 * The frame of a page is its page id. There is no lookup: the page table of the operating system
 * translates, and the header line of the frame holds the state of the page, whether the page is in
 * memory or not.
 *
 * <pre>
 *   frame numbers   0   1   2   3   4   5   ...            as many as the file may have pages
 *   header lines    |   |   | 2 |   | 4 |   |              the page id while the page is in memory
 *   memory                  ███     ███                    while it has a grant: {@link ResidencyBudget}
 * </pre>
 *
 * <p>Frame 0 never holds a page; it represents numbers that are not page ids of the file. The
 * bucket of a page is the latch in its own header line.
 *
 * <p>Source: V. Leis et al., "Virtual-Memory Assisted Buffer Management", SIGMOD 2023.
 */
final class VirtualTranslation {
  private VirtualTranslation() {}

  static int frame(Translator t, long pid) {
    return Long.compareUnsigned(pid, t.frames) < 0 ? (int) pid : 0;
  }

  /** Exact under the bucket's latch, a hint without it. */
  static int find(Translator t, long pid) {
    int frame = frame(t, pid);
    return frame != 0 && FrameHeader.pid(t.headers, frame) == pid ? frame : -1;
  }
}
