package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.memory.Mem;
import java.util.function.LongConsumer;

/** Walks the free list of a pool, while no other thread uses the pool. */
public final class FreeList {
  private FreeList() {}

  /** Passes each page id to the visitor, in order, and checks the list. */
  public static void visit(BufferPool pool, LongConsumer visitor) {
    AllocatorState state = pool.allocatorState();
    long pid = state.freeHead();
    for (long i = 0; i < state.freePages(); i++) {
      int frame = pool.fixShared(pid);
      int type = PageHeader.type(pool.pages(), pool.base(frame));
      long next = Mem.getLong(pool.pages(), pool.base(frame) + PageAllocator.NEXT_FREE);
      pool.releaseShared(frame);
      assertEquals(PageHeader.FREE, type, "type of page " + pid + " of the free list");
      visitor.accept(pid);
      pid = next;
    }
    assertEquals(0, pid, "end of the free list");
  }
}
