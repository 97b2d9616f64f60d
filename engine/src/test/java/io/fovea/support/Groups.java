package io.fovea.support;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;

/** Groups of pages, for tests that want to know what came of one. */
public final class Groups {
  private Groups() {}

  /** Has pages read and waits for them; how many were brought in. */
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
