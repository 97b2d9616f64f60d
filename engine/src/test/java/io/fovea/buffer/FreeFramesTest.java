package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class FreeFramesTest {
  private static final int N = 16;

  private static FreeFrames list() {
    MemorySegment memory = Arena.ofAuto().allocate(N * FrameHeader.BYTES + 4L * N, 64);
    return new FreeFrames(
        memory.asSlice(0, N * FrameHeader.BYTES), memory.asSlice(N * FrameHeader.BYTES), N);
  }

  @Test
  void allFramesOnceInOrder() {
    FreeFrames free = list();
    for (int i = 0; i < N; i++) {
      free.list(i);
      assertEquals(i, free.pop(), "listing a frame that was never popped changes nothing");
    }
    assertEquals(-1, free.pop());
  }

  @Property(tries = 300)
  void aStackWithoutDuplicates(@ForAll long seed) {
    FreeFrames free = list();
    Random random = new Random(seed);
    Deque<Integer> stack = new ArrayDeque<>();
    for (int i = N - 1; i >= 0; i--) {
      stack.push(i);
    }
    for (int i = 0; i < 300; i++) {
      if (random.nextBoolean()) {
        Integer expected = stack.poll();
        assertEquals(expected == null ? -1 : expected, free.pop());
      } else {
        int frame = random.nextInt(N);
        free.list(frame);
        if (!stack.contains(frame)) {
          stack.push(frame);
        }
      }
    }
  }

  @Test
  void threadsShareTheFrames() throws Exception {
    FreeFrames free = list();
    List<Thread> threads = new ArrayList<>();
    Set<Integer> twice = java.util.concurrent.ConcurrentHashMap.newKeySet();
    Set<Integer> out = java.util.concurrent.ConcurrentHashMap.newKeySet();
    for (int t = 0; t < 3; t++) {
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < 20_000; i++) {
                      int frame = free.pop();
                      if (frame >= 0) {
                        if (!out.add(frame)) {
                          twice.add(frame);
                        }
                        out.remove(frame);
                        free.list(frame);
                      }
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertTrue(twice.isEmpty());
    Set<Integer> left = new HashSet<>();
    for (int frame = free.pop(); frame >= 0; frame = free.pop()) {
      assertTrue(left.add(frame));
    }
    assertEquals(N, left.size());
  }
}
