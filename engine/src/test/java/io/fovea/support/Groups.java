package io.fovea.support;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;

/** Groups of pages, for tests that check the number of reads. */
public final class Groups {
  private Groups() {}

  /** Fetches the group's pages and waits; returns how many were read. */
  public static int fetch(BufferPool pool, PageGroup group, boolean used) {
    pool.begin(group, used);
    group.await();
    int brought = 0;
    for (int i = 0; i < group.size(); i++) {
      brought += group.frame(i) >= 0 ? 1 : 0;
    }
    return brought;
  }
}
