package io.fovea;

import io.fovea.catalog.Compaction;

/**
 * The progress or result of {@link Database#compact(CompactOptions)}. A value; safe for any thread.
 *
 * @param bytesMoved bytes of pages moved
 * @param bytesBefore bytes of pages in the file at the beginning, including free ones
 * @param bytesAfter bytes of pages in the file now, which grows and shrinks in larger steps
 * @param bytesUsed bytes in use among these
 * @param bytesPunched bytes of free pages punched out: included in {@code bytesAfter}, but not
 *     occupying space on disk
 * @since 0.1.0
 */
public record CompactReport(
    long bytesMoved, long bytesBefore, long bytesAfter, long bytesUsed, long bytesPunched) {

  static CompactReport of(Compaction c, CompactOptions how) {
    return of(
        c.run(
            how.bytesPerSecond(),
            how.movesPages(),
            how.punchesHoles(),
            s -> how.progress().accept(of(s, c.pageSize()))),
        c.pageSize());
  }

  private static CompactReport of(Compaction.State s, long pageSize) {
    return new CompactReport(
        s.moved() * pageSize,
        s.before() * pageSize,
        s.now() * pageSize,
        s.needed() * pageSize,
        s.punched() * pageSize);
  }
}
