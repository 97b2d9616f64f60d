package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;

/**
 * Handles a child entry whose hint is missing or wrong: finds the child without the hint, and
 * repairs the hint.
 *
 * <pre>
 *   hint ──wrong, none──► predict ──wrong──► findSlow: table, device
 *    ▲                      │                 │
 *    └──── repair: try-latch the parent, store, not dirty ◄──┘
 * </pre>
 *
 * <p><b>A wrong hint is harmless.</b> It is compared with the number of frames before it is used,
 * and the frame's header, read together with the version, names the page that the frame holds. So a
 * hint that passes is right at that instant, whatever its origin; later changes advance the
 * version.
 *
 * <p><b>The repair.</b> The parent is latched <i>shared</i>, in a single attempt, and must still
 * have the version in which the entry was read; then the word is stored. On failure the next
 * descent repairs it.
 *
 * <ul>
 *   <li>Under a shared latch the page changes only by such stores; and with the version unchanged
 *       since the search, the word is still that of this child. Excluded: the entries have moved,
 *       or the frame holds another page, and the store overwrites something else.
 *   <li>Two concurrent repairs of a word store the same page id; one of the two hints is lost.
 *   <li>The version stays, though bytes of the page change: an optimistic reader takes from the
 *       word only the page id, which the store preserves, and a hint, which it checks. An exclusive
 *       latch with {@link Latch#releaseExclusiveUnchanged} would be correct too, but delay readers.
 *   <li>A copy for the device or the log may be made concurrently, under a shared latch: hints are
 *       cleared in the copy before its checksum is computed. So the page does not become dirty.
 * </ul>
 *
 * <p>Under {@link Translation#SWIZZLED} the stored frame is trusted, by the stricter rules of
 * {@link Swizzling}.
 */
final class ChildHints {
  private final Frames frames;
  private final Resolver resolver;
  private final boolean on;

  /** Hints below this limit are tried: the number of frames, or 0 if there are no hints. */
  final int limit;

  /** The bits of a frame + 1 that a reference should have. */
  final int mask;

  ChildHints(Frames frames, Resolver resolver, boolean wanted) {
    this.frames = frames;
    this.resolver = resolver;
    // If the frame of a page is its page id, a reference needs no frame.
    boolean fit = frames.count <= PageRef.FRAMES_MAX && !frames.translator.own;
    this.on = frames.swizzling.on || fit && wanted;
    this.limit = on ? frames.count : 0;
    this.mask = on ? -1 : 0;
  }

  int find(int parent, long version, long at, long ref, int tried) {
    long pid = PageRef.pid(ref);
    if (!on) {
      return resolver.findSlow(pid);
    }
    int hint = PageRef.frame(ref);
    if (hint < 0) {
      frames.counters.hintsNone.increment();
    } else if (hint >= limit || frames.pid(hint) != pid) {
      frames.counters.hintsStale.increment();
    }
    int frame = tried;
    if (!holds(frame, pid)) {
      frame = frames.translator.predict(pid);
      if (!holds(frame, pid)) {
        frame = resolver.findSlow(pid);
      }
    }
    repair(parent, version, at, ref, frame + 1);
    return frame;
  }

  long reference(long pid, int frame, int parent) {
    if (frames.swizzling.on) {
      return frames.swizzling.reference(pid, frame, parent);
    }
    return PageRef.of(pid, frame + 1 & mask);
  }

  private boolean holds(int frame, long pid) {
    return frames.pid(frame) == pid && !Latch.isExclusive(frames.headers, frame);
  }

  private void repair(int parent, long version, long at, long ref, int hint) {
    if (PageRef.hint(ref) == hint) {
      return; // it was right: the child was latched
    }
    boolean done = false;
    if (frames.swizzling.on) {
      done = frames.swizzling.swizzle(parent, version, at, ref, hint - 1);
    } else if (Latch.tryShared(frames.headers, parent)) {
      // Under the shared latch the version stays.
      try {
        done = Latch.validate(frames.headers, parent, version);
        if (done) {
          Mem.putLongOpaque(frames.pages, at, PageRef.of(ref, hint));
        }
      } finally {
        Latch.releaseShared(frames.headers, parent);
      }
    }
    (done ? frames.counters.hintRepairs : frames.counters.hintRepairsAbandoned).increment();
  }
}
