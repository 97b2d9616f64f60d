package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.bindings.Errno;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Drops parts of a region together, however much each system call does. */
class DropListTest {
  private static final int PAGE = 4096;
  private static final int PAGES = 64;

  private final NativeRegion region = NativeRegion.reserveInPieces((long) PAGES * PAGE, "test");

  @BeforeEach
  void pagesCanBeDropped() {
    assumeTrue(region.canDiscard(), "no native access to memory here");
  }

  @AfterEach
  void release() {
    region.release();
  }

  /** Follows a script, and records which pages were dropped. */
  private final class Scripted implements DropList.Kernel {
    /** The results of the next vectored calls: bytes, or negated error numbers; then all bytes. */
    final List<Long> results = new ArrayList<>();

    final List<String> calls = new ArrayList<>();
    final BitSet gone = new BitSet();
    final BitSet twice = new BitSet();

    @Override
    public boolean together() {
      return true;
    }

    @Override
    public long discardAll(long vector, int count) {
      MemorySegment ranges = MemorySegment.ofAddress(vector).reinterpret(16L * count);
      calls.add("many " + count);
      long all = 0;
      for (int i = 0; i < count; i++) {
        all += ranges.get(ValueLayout.JAVA_LONG, 16L * i + 8);
      }
      long result = results.isEmpty() ? all : results.removeFirst();
      long left = Math.min(result, all);
      for (int i = 0; i < count && left > 0; i++) {
        long length = Math.min(left, ranges.get(ValueLayout.JAVA_LONG, 16L * i + 8));
        went(ranges.get(ValueLayout.JAVA_LONG, 16L * i), length);
        left -= length;
      }
      return result;
    }

    @Override
    public int discard(long address, long length) {
      calls.add("one");
      went(address, length);
      return 0;
    }

    private void went(long address, long length) {
      long off = address - region.segment().address();
      assertEquals(0, off % PAGE);
      assertEquals(0, length % PAGE);
      for (int page = (int) (off / PAGE); page < (off + length) / PAGE; page++) {
        (gone.get(page) ? twice : gone).set(page);
      }
    }
  }

  private static void add(DropList list, int... pages) {
    for (int page : pages) {
      list.add((long) page * PAGE, PAGE);
    }
  }

  private static BitSet set(int... pages) {
    BitSet set = new BitSet();
    for (int page : pages) {
      set.set(page);
    }
    return set;
  }

  @Test
  void adjacentPagesAreOneRange() {
    Scripted kernel = new Scripted();
    DropList list = new DropList(region, 3, kernel);
    add(list, 3, 4, 5, 9, 20, 21);
    assertEquals("3 of 3 ranges", list.toString());
    assertEquals(1, list.drop());
    assertEquals(List.of("many 3"), kernel.calls);
    assertEquals(set(3, 4, 5, 9, 20, 21), kernel.gone);
    assertEquals(0, list.drop(), "the list is empty");
  }

  /** A single range uses the simple call, for which the kernel invalidates only one page. */
  @Test
  void aSingleRangeUsesTheSimpleCall() {
    Scripted kernel = new Scripted();
    DropList list = new DropList(region, 8, kernel);
    add(list, 7, 8);
    assertEquals(1, list.drop());
    assertEquals(List.of("one"), kernel.calls);
    assertEquals(set(7, 8), kernel.gone);
  }

  /**
   * After a partial call, further calls drop the rest of the interrupted range and the remaining
   * ranges.
   */
  @Test
  void aPartialCallIsRepeatedForTheRest() {
    Scripted kernel = new Scripted();
    DropList list = new DropList(region, 8, kernel);
    add(list, 1, 2, 3, 10, 20, 21, 30);
    kernel.results.add(2L * PAGE); // in the middle of a range
    kernel.results.add(2L * PAGE); // up to the end of one
    assertEquals(3, list.drop());
    assertEquals(List.of("many 4", "many 4", "many 2"), kernel.calls);
    assertEquals(set(1, 2, 3, 10, 20, 21, 30), kernel.gone);
    assertTrue(kernel.twice.isEmpty(), kernel.twice.toString());
  }

  @Test
  void refusedCallIsReplacedByOnePerRange() {
    Scripted kernel = new Scripted();
    DropList list = new DropList(region, 8, kernel);
    for (long errno : new long[] {Errno.EPERM, Errno.ENOSYS, Errno.ENOMEM}) {
      kernel.calls.clear();
      kernel.gone.clear();
      kernel.results.add(-errno);
      add(list, 1, 5, 6, 9);
      assertEquals(4, list.drop());
      assertEquals(List.of("many 3", "one", "one", "one"), kernel.calls);
      assertEquals(set(1, 5, 6, 9), kernel.gone);
    }
    kernel.results.add(0L); // would loop endlessly
    add(list, 1, 5);
    assertEquals(3, list.drop());
  }

  @Test
  void callRefusedMidwayIsReplacedByOnePerRemainingRange() {
    Scripted kernel = new Scripted();
    DropList list = new DropList(region, 8, kernel);
    add(list, 1, 5, 6, 9, 30);
    kernel.results.add(2L * PAGE);
    kernel.results.add((long) -Errno.EINVAL);
    assertEquals(5, list.drop());
    assertEquals(List.of("many 4", "many 3", "one", "one", "one"), kernel.calls);
    assertEquals(set(1, 5, 6, 9, 30), kernel.gone);
    assertTrue(kernel.twice.isEmpty(), kernel.twice.toString());
  }

  /** Random parts, and calls that process random portions of them: each page is dropped once. */
  @Test
  void eachPageIsDroppedOnce() {
    SplittableRandom random = new SplittableRandom(7);
    for (int round = 0; round < 2_000; round++) {
      Scripted kernel = new Scripted();
      DropList list = new DropList(region, PAGES, kernel);
      BitSet expected = new BitSet();
      for (int page = 0; page < PAGES; page++) {
        if (random.nextInt(3) == 0) {
          expected.set(page);
          add(list, page);
        }
      }
      for (int call = random.nextInt(8); call > 0; call--) {
        boolean refused = random.nextInt(6) == 0;
        kernel.results.add(refused ? -1L : (long) PAGE * (1 + random.nextInt(4)));
      }
      list.drop();
      assertEquals(expected, kernel.gone, "round " + round);
      assertTrue(kernel.twice.isEmpty(), "round " + round + ": " + kernel.twice);
    }
  }

  private void isDropped(DropList list, int calls) {
    MemorySegment s = region.segment();
    s.fill((byte) 1);
    int n = 0;
    BitSet gone = new BitSet();
    for (int page = 0; page < PAGES; page += page % 3 == 0 ? 1 : 2) {
      add(list, page);
      gone.set(page);
      n++;
    }
    assertTrue(n > 30);
    int took = list.drop();
    for (int page = 0; page < PAGES; page++) {
      boolean zero = Mem.isZero(s, (long) page * PAGE, PAGE);
      assertEquals(gone.get(page), zero, "page " + page);
    }
    assertTrue(took <= calls, took + " calls");
    s.fill((byte) 1); // writable again
  }

  @Test
  void dropsRealMemoryByOneCallOrOnePerRange() {
    DropList list = new DropList(region, PAGES);
    isDropped(list, list.together() ? 1 : PAGES);
    isDropped(list, list.together() ? 1 : PAGES);
    DropList alone = new DropList(region, PAGES, false);
    assertFalse(alone.together());
    isDropped(alone, PAGES);
    assertEquals(SelfAdvice.works(), list.together());
  }

  @Test
  void refusesMoreThanFits() {
    DropList list = new DropList(region, 2);
    add(list, 1, 3);
    assertThrows(IllegalStateException.class, () -> add(list, 5));
    add(list, 4); // extends the last range
    assertThrows(IndexOutOfBoundsException.class, () -> add(list, PAGES));
    assertThrows(IllegalArgumentException.class, () -> new DropList(region, 0));
    assertThrows(IllegalArgumentException.class, () -> new DropList(region, 1025));
  }
}
