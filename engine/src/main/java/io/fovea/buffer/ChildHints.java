package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;

/**
 * What a descent does where the hint of a child entry does not lead to the child, or there is none:
 * finds the child as if there were no hints, and puts the hint right.
 *
 * <pre>
 *   hint ──wrong, none──► predict ──wrong──► findSlow: table, device
 *    ▲                      │                 │
 *    └──── repair: try-latch the parent, store, not dirty ◄──┘
 * </pre>
 *
 * <p><b>A wrong hint is harmless.</b> It is compared with the number of frames before it is one,
 * and the frame's header, which is read in one look with the version, says which page the frame
 * holds. A page is in one frame at most. So a hint that passes is right at that moment, whoever
 * stored it and when, and what comes after that moment the version tells: the page was evicted, it
 * has moved, it was freed and is another page now.
 *
 * <p><b>The repair.</b> The parent is latched <i>shared</i>, by one attempt, and must still have
 * the version in which the entry was read; then the word is stored.
 *
 * <ul>
 *   <li>Under a shared latch nobody changes the page but for such words; and with the version
 *       unchanged since the search, the word is still that of this child. Forbidden: the entries
 *       have moved meanwhile, or the frame holds another page, and the store hits what is no
 *       reference.
 *   <li>Two that repair one word at once store the same page id; one of the two hints is lost.
 *   <li>The version does not move, though a byte of the page does: what an optimistic reader
 *       derives from the word is the page id, which the store leaves as it is, and a hint, which it
 *       checks against the header. So nothing that it concludes depends on which of the words it
 *       saw. That is what {@link Latch#releaseExclusiveUnchanged} asks for, too; but an exclusive
 *       latch would hold up readers, and hints come in crowds, to one parent, when many children
 *       are new.
 *   <li>A copy for the device or for the log may be taken beside it (shared, or exclusive and thus
 *       not beside it): hints are zeroed in the copy before its checksum is made. So the page does
 *       not get dirty: what the file would get is what it has.
 * </ul>
 *
 * <p>Under {@link Translation#SWIZZLED} what is stored is believed, and more is asked for before it
 * is: {@link Swizzling}.
 *
 * <p>A repair that finds the latch taken, or the version moved, is left to the next descent.
 */
final class ChildHints {
  private final Frames frames;
  private final Resolver resolver;
  private final boolean on;

  /** Hints of this many frames are tried: of all, or of none. */
  final int limit;

  /** The bits of a frame + 1 that a reference should have. */
  final int mask;

  ChildHints(Frames frames, Resolver resolver, boolean wanted) {
    this.frames = frames;
    this.resolver = resolver;
    // Where frames are pages' own, a reference says where its page is without naming a frame.
    boolean fit = frames.count <= PageRef.FRAMES_MAX && !frames.translator.own;
    this.on = frames.swizzling.on || fit && wanted;
    this.limit = on ? frames.count : 0;
    this.mask = on ? -1 : 0;
  }

  /** See {@link BufferPool#findChild}. */
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
    if (!isThere(frame, pid)) {
      frame = frames.translator.predict(pid);
      if (!isThere(frame, pid)) {
        frame = resolver.findSlow(pid);
      }
    }
    repair(parent, version, at, ref, frame + 1);
    return frame;
  }

  /** See {@link BufferPool#reference}. */
  long reference(long pid, int frame, int parent) {
    if (frames.swizzling.on) {
      return frames.swizzling.reference(pid, frame, parent);
    }
    return PageRef.of(pid, frame + 1 & mask);
  }

  private boolean isThere(int frame, long pid) {
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
      // Under the shared latch nothing moves the version any more.
      try {
        done = Latch.validate(frames.headers, parent, version);
        if (done) {
          Mem.putLongOpaque(frames.pages, at, PageRef.of(ref, hint));
        }
      } finally {
        Latch.releaseShared(frames.headers, parent);
      }
    }
    (done ? frames.counters.hintRepairs : frames.counters.hintRepairsGivenUp).increment();
  }
}
