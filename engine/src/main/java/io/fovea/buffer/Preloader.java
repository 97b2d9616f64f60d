package io.fovea.buffer;

import io.fovea.config.Translation;

/**
 * Reads all pages of a file into memory, where they stay: {@link Translation#DIRECT}.
 *
 * <p><b>Rules</b> for a descent that takes a reference for a frame and compares no page id ({@link
 * BufferPool#optimisticChild}):
 *
 * <ul>
 *   <li><b>D1. A page id that a reader can encounter has its page in memory.</b> It was read here,
 *       or it was allocated later and was latched exclusively in its frame before any node named
 *       it. No page leaves: {@link ResidencyBudget#leave}. Until the preload is done, during
 *       recovery, references are checked as under {@link Translation#VIRTUAL}; so a page that is
 *       not referenced may be unreadable until recovery has put it into the free list.
 *   <li><b>D2. Latches and versions persist.</b> A page that is freed and reused advances its
 *       version, and its parent's version advanced when the reference was removed. Excluded: a
 *       reader takes the frame from a word; the page is freed and becomes part of another tree; the
 *       reader takes its new version and trusts it. The parent is validated after the child's
 *       version was read, and that fails.
 * </ul>
 *
 * <p>A word may be torn and name any frame: {@link VirtualTranslation#frame} makes it a legal one,
 * and nothing read there counts before the parent is validated.
 *
 * <p>A page that can't be read is reported immediately: D1 has no exceptions.
 */
final class Preloader {
  private Preloader() {}

  static void of(Frames frames, PageAllocator allocator, GroupLoader groups, Resolver resolver) {
    Translator translator = frames.translator;
    PageGroup group = new PageGroup();
    // A group does not recognize holes; a single read returns them as free pages.
    int max = allocator.extent().hasHoles() ? 1 : PageGroup.CAPACITY;
    long end = allocator.highWater();
    for (long pid = PoolRecovery.FIRST_PAGE; pid < end; ) {
      group.clear();
      for (; pid < end && group.size() < max; pid++) {
        if (translator.lookup(pid) < 0) {
          group.add(pid);
        }
      }
      if (max > 1) {
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
