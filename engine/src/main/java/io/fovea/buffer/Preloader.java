package io.fovea.buffer;

import io.fovea.config.Translation;

/**
 * Brings all pages of a file into memory, which then stay there: {@link Translation#DIRECT}.
 *
 * <p><b>Rules</b>, for a descent that takes a reference for a frame and asks no page id ({@link
 * BufferPool#optimisticChild}):
 *
 * <ul>
 *   <li><b>D1. A page id that a reader can meet has its page in memory.</b> It was read here; or it
 *       was allocated later, and was latched exclusively in its frame before any node named it. No
 *       page leaves: {@link ResidencyBudget#leave}. Before this is done, while a file is recovered,
 *       references are checked as under {@link Translation#VIRTUAL}; so what nobody names may be
 *       unreadable until recovery has put it into the free list.
 *   <li><b>D2. Latches and versions stay.</b> A page that is freed and used again moves its
 *       version, and its parent's version moved when the reference went. Forbidden: a reader takes
 *       the frame from a word, the page is freed and becomes another tree's, the reader takes its
 *       new version and believes it: the parent is validated after the child's version was read,
 *       and that fails.
 * </ul>
 *
 * <p>A word may be torn out of another page, so the frame that it names may be any: a legal one by
 * {@link VirtualTranslation#frame}, and what is read there means nothing before the parent is
 * validated.
 *
 * <p>A page that can't be read is reported, whoever would have asked for it: D1 has no exceptions.
 */
final class Preloader {
  private Preloader() {}

  static void of(Frames frames, PageAllocator allocator, GroupLoader groups, Resolver resolver) {
    Translator translator = frames.translator;
    PageGroup group = new PageGroup();
    // A hole is no page to a group, and a free one to who reads it alone.
    int most = allocator.extent().hasHoles() ? 1 : PageGroup.CAPACITY;
    long end = allocator.highWater();
    for (long pid = PoolRecovery.FIRST_PAGE; pid < end; ) {
      group.clear();
      for (; pid < end && group.size() < most; pid++) {
        if (translator.lookup(pid) < 0) {
          group.add(pid);
        }
      }
      if (most > 1) {
        groups.begin(group, true);
        group.await();
      }
      for (int i = 0; i < group.size(); i++) {
        if (translator.lookup(group.pids[i]) < 0) {
          resolver.findSlow(group.pids[i]);
        }
      }
    }
  }
}
