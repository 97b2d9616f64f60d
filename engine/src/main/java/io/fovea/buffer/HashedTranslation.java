package io.fovea.buffer;

import io.fovea.memory.Hash;
import io.fovea.memory.Mem;

/**
 * The paper's predictive translation (section 5.2, listing 3): the table is read first, and a
 * branch decides whether the page is in its preferred frame, a hash of the page id modulo the
 * number of frames.
 *
 * <p>The table is that of {@link OptimisticTranslation}. If its entry is exactly that of a page in
 * its preferred frame, the returned frame is computed from the page id and not from the entry: the
 * CPU predicts the branch and reads the page while the entry is still being loaded.
 *
 * <p>This relies on the compiler keeping the branch. {@code entry == expected ? preferred :
 * frameOf(entry)} would become a conditional move at hit rates of 18 to 82 %, and every access
 * would wait for the table. So the other branch calls a method, which walks a chain and sometimes
 * promotes the page (by trying latches, as any thread that predicts may hold some). Comparing
 * frames instead of entries would be worse: the compiler reduces {@code a == b ? a : b} to b.
 */
final class HashedTranslation {
  private HashedTranslation() {}

  /** Returns the preferred frame by the hash; the bucket comes from the other half of the bits. */
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
   * The page is in another frame, in the chain (where its frame may be the preferred one), or
   * absent.
   */
  private static int elsewhere(Translator t, long pid, int preferred) {
    int frame = OptimisticTranslation.find(t, t.bucket(pid), pid, Translator.STEPS_MAX);
    if (frame < 0) {
      return preferred;
    }
    return frame == preferred ? frame : t.maybePromote(pid, frame, preferred);
  }
}
