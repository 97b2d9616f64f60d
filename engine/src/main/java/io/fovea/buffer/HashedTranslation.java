package io.fovea.buffer;

import io.fovea.memory.Hash;
import io.fovea.memory.Mem;

/**
 * The paper's predictive translation (section 5.2, listing 3): the table is read first, and a
 * branch says whether the page is in its preferred frame, a hash of the page id modulo the number
 * of frames.
 *
 * <p>The table is that of {@link OptimisticTranslation}. Where its entry is exactly the one of a
 * page in its preferred frame, the frame that is returned comes from the page id and not from the
 * entry: the CPU predicts the branch and reads the page while the entry is still on its way.
 *
 * <p>That rests on the compiler keeping the branch. Returning {@code entry == expected ? preferred
 * : frameOf(entry)} would become a conditional move when hits are 18 to 82 %, and every access
 * would wait for the table; so the other side is a call of a method with a chain to walk, which
 * promotes the page now and then as well (by trying latches: any thread that predicts may hold
 * some). Comparing frames, not entries, would be worse: {@code a == b ? a : b} is simply b to the
 * compiler.
 */
final class HashedTranslation {
  private HashedTranslation() {}

  /** The page's position by its hash; the bucket comes from the other half of the bits. */
  static int preferred(Translator t, long hash) {
    return Translator.scale(hash << 32, t.frames);
  }

  static int predict(Translator t, long pid) {
    long hash = Hash.spread(pid);
    int preferred = preferred(t, hash);
    long at = OptimisticTranslation.at(Translator.scale(hash, t.buckets));
    long entry = Mem.getLongOpaque(t.table, at + OptimisticTranslation.ENTRY);
    if (entry == (OptimisticTranslation.tag(hash) | preferred + 1)) {
      return preferred;
    }
    return elsewhere(t, pid, preferred);
  }

  /**
   * The page is in another frame, in the chain (where its frame may be the right one), or absent.
   */
  private static int elsewhere(Translator t, long pid, int preferred) {
    int frame = OptimisticTranslation.find(t, t.bucket(pid), pid, Translator.STEPS_MAX);
    if (frame < 0) {
      return preferred;
    }
    return frame == preferred ? frame : t.maybePromote(pid, frame, preferred);
  }
}
