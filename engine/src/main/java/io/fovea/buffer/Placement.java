package io.fovea.buffer;

/**
 * Where the pages of a pool lie at one moment, and how many were moved to get there.
 *
 * @param pages frames that hold a page
 * @param pagesInPreferredFrame how many of those hold one whose preferred frame they are; 0 for
 *     translations that prefer none
 * @param promotions pages that were copied to their preferred frame since the pool was opened
 * @param demotions pages that were copied out of it to make room for one
 * @since 0.1.0
 */
public record Placement(long pages, long pagesInPreferredFrame, long promotions, long demotions) {

  /**
   * Reads all headers, 16 MiB of them for a pool of 1 GiB: nothing for a counter that is polled.
   * What is moved meanwhile may be counted twice or not at all.
   */
  static Placement of(Frames frames) {
    long pages = 0;
    long inPreferred = 0;
    Residency residency = frames.residency;
    for (int i = 0; i < residency.places(); i++) {
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
