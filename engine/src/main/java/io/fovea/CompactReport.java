package io.fovea;

import io.fovea.catalog.Compaction;

/**
 * How far a compaction is, or what it came to: {@link Database#compact(CompactOptions)}.
 *
 * @param bytesMoved how many bytes of pages were moved
 * @param bytesBefore how many bytes the file had in pages when it began, free ones included
 * @param bytesAfter how many it has in pages now. The file itself is a little longer, since it
 *     grows and shrinks in steps
 * @param bytesUsed how many of these are in use
 * @param bytesPunched of how many bytes of free pages in the middle of the file the space was given
 *     back to the file system: they count in {@code bytesAfter}, and take no space
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
