package io.fovea.buffer;

/** For tests: the latches of a pool that only its own threads use. */
public final class TestLatches {
  private TestLatches() {}

  /** The frames that stay latched or reserved; empty if there are none. */
  public static String held(BufferPool pool) {
    StringBuilder held = new StringBuilder();
    Frames frames = pool.frames;
    for (int frame = 0; frame < frames.count; frame++) {
      // The pool's own threads latch frames briefly.
      int round = 0;
      while (round < 3_000 && latched(frames, frame)) {
        round = Backoff.pause(round);
      }
      if (latched(frames, frame)) {
        held.append(" frame ")
            .append(frame)
            .append(" of page ")
            .append(frames.pid(frame))
            .append(": ")
            .append(Long.toHexString(Latch.word(frames.headers, frame)));
      }
    }
    int round = 0;
    while (round < 3_000 && pool.groups().reserved() != 0) {
      round = Backoff.pause(round);
    }
    if (pool.groups().reserved() != 0) {
      held.append(" frames reserved for groups: ").append(pool.groups().reserved());
    }
    return held.toString();
  }

  /** Dirty pages: page, frame, latch word, type, recLsn, pageLsn. */
  public static String dirty(BufferPool pool) {
    StringBuilder all = new StringBuilder();
    Frames frames = pool.frames;
    for (int frame = 0; frame < frames.count; frame++) {
      if (FrameHeader.recLsn(frames.headers, frame) != 0
          || FrameHeader.isDirty(frames.headers, frame)) {
        all.append(
            String.format(
                "%n page %d in frame %d, dirty %b, word %x, type %d, recLsn %d, pageLsn %d,"
                    + " writing %b, found in %d",
                frames.pid(frame),
                frame,
                FrameHeader.isDirty(frames.headers, frame),
                Latch.word(frames.headers, frame),
                PageHeader.type(frames.pages, frames.base(frame)),
                FrameHeader.recLsn(frames.headers, frame),
                PageHeader.pageLsn(frames.pages, frames.base(frame)),
                FrameHeader.isWriting(frames.headers, frame),
                frames.translator.locate(frames.pid(frame))));
      }
    }
    return all.toString();
  }

  private static boolean latched(Frames frames, int frame) {
    return (Latch.word(frames.headers, frame) & (Latch.EXCLUSIVE | Latch.SHARED_MASK)) != 0;
  }

  /** Holds the latch of a page, like a slow thread. */
  public static int latch(BufferPool pool, long pid) {
    return pool.fixExclusive(pid);
  }

  /** Stops a pool, like an operation that fails while it changes pages. */
  public static void stop(BufferPool pool, Error cause) {
    pool.frames.poolStop.stop(cause);
  }
}
