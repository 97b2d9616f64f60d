package io.fovea.buffer;

/**
 * The number of pages in their preferred frames at one instant, and the number of moves that led
 * there.
 *
 * @param pages frames that hold a page
 * @param pagesInPreferredFrame how many of those are the preferred frame of their page; 0 for
 *     translations without preferred frames
 * @param promotions pages that moved to their preferred frame since the pool was opened
 * @param demotions pages that were displaced from it by a promotion
 * @since 0.1.0
 */
public record Placement(long pages, long pagesInPreferredFrame, long promotions, long demotions) {

  /**
   * Reads all headers, 16 MiB of them for a pool of 1 GiB, so it is too slow to be polled. A page
   * that moves concurrently may be counted twice or not at all.
   */
  static Placement of(Frames frames) {
    long pages = 0;
    long inPreferred = 0;
    Residency residency = frames.residency;
    for (int i = 0; i < residency.maxResidents(); i++) {
      int frame = residency.resident(i);
      long pid = frame < 0 ? 0 : frames.pid(frame);
      if (pid != 0) {
        pages++;
        inPreferred += frames.translator.preferred(pid) == frame ? 1 : 0;
      }
    }
    return new Placement(
        pages, inPreferred, frames.counters.promotions.sum(), frames.counters.demotions.sum());
  }
}
