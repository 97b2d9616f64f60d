package io.fovea.copies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Changes pages under snapshots, and compares with a model. A page has its number at both ends. */
class PageCopiesTest {
  private static final int PAGE = 4096;
  private static final int PAGES = 60;

  /** The first page id: 0 means none. */
  private static final int FIRST = 2;

  private static final PageSeal SEAL = (s, at) -> Mem.putInt(s, at + 8, 1);

  /** A snapshot, and the expected numbers of its pages. */
  private record Frozen(PageSnapshot snapshot, long[] numbers) {}

  private final Arena arena = Arena.ofAuto();
  private final MemorySegment pages = arena.allocate((long) PAGES * PAGE, PAGE);
  private final MemorySegment out = arena.allocate(PAGE, PAGE);
  private final long[] numbers = new long[PAGES];
  private final List<Frozen> open = new ArrayList<>();
  private final PageCopies copies = new PageCopies(PAGES, PAGE, SEAL);
  private long next;

  private void change(int page) {
    long at = (long) page * PAGE;
    copies.beforeChange(page, FIRST + page, pages, at);
    numbers[page] = ++next;
    write(pages, at, next);
  }

  private static void write(MemorySegment s, long at, long number) {
    Mem.putLong(s, at, number);
    Mem.putLong(s, at + PAGE - 8, number);
  }

  private void open() {
    open.add(new Frozen(copies.open(FIRST + PAGES), numbers.clone()));
  }

  /** Returns false if the snapshot was evicted. */
  private boolean check(Frozen f, int page) {
    if (!copies.read(f.snapshot, FIRST + page, out, 0)) {
      Mem.copy(pages, (long) page * PAGE, out, 0, PAGE);
    }
    if (f.snapshot.isEvicted()) {
      return false;
    }
    assertEquals(f.numbers[page], Mem.getLong(out, 0));
    assertEquals(f.numbers[page], Mem.getLong(out, PAGE - 8));
    return true;
  }

  private int run(long seed, int steps, int atOnce) {
    Random random = new Random(seed);
    int evicted = 0;
    for (int step = 0; step < steps; step++) {
      int what = random.nextInt(100);
      if (what < 2 && open.size() < atOnce) {
        open();
      } else if (what < 4 && !open.isEmpty()) {
        copies.close(open.remove(random.nextInt(open.size())).snapshot);
      } else if (what < 50 || open.isEmpty()) {
        change(random.nextInt(PAGES));
      } else {
        Frozen f = open.get(random.nextInt(open.size()));
        if (!check(f, random.nextInt(PAGES))) {
          open.remove(f);
          copies.close(f.snapshot);
          evicted++;
        }
      }
    }
    for (Frozen f : open) {
      copies.close(f.snapshot);
      copies.close(f.snapshot);
    }
    open.clear();
    assertEquals(0, copies.snapshots());
    assertEquals(0, copies.entries());
    assertEquals(0, copies.memoryBytes());
    assertEquals(0, copies.fileBytes());
    return evicted;
  }

  private static CopyLimits limits(int memoryPages, int filePages, Supplier<BlockDevice> file) {
    return new CopyLimits((long) memoryPages * PAGE, (long) filePages * PAGE, file::get, () -> {});
  }

  @Test
  void inMemory() {
    copies.prepare(CopyLimits.memory(1000L * PAGE));
    for (long seed = 1; seed <= 10; seed++) {
      assertEquals(0, run(seed, 20_000, 6));
    }
    assertEquals(0, copies.evicted());
    copies.end();
  }

  /** Memory is cleared between snapshots: released, it would be replaced with its chunk. */
  @Test
  void memoryOfEarlierSnapshotsIsUsedAgain() {
    long large = 9L << 30; // two do not fit into a chunk of address space
    NativeRegion first = NativeRegion.reserve(large, false, "first");
    copies.prepare(CopyLimits.memory(1000L * PAGE));
    NativeRegion.reserve(large, false, "uses up the chunk").release();
    for (int i = 0; i < PAGES; i++) {
      change(i);
    }
    open();
    copies.close(open.removeFirst().snapshot);
    open();
    for (int i = 0; i < PAGES; i++) {
      change(i);
    }
    first.release();
    for (int i = 0; i < PAGES; i++) {
      assertTrue(check(open.getFirst(), i));
    }
    copies.close(open.removeFirst().snapshot);
    copies.end();
  }

  @Tag("slow")
  @Test
  void inMemoryAndFile() {
    copies.prepare(limits(8, 1000, MemoryDevice::new));
    for (long seed = 1; seed <= 10; seed++) {
      assertEquals(0, run(seed, 20_000, 6));
    }
    copies.end();
  }

  @Tag("slow")
  @Test
  void withoutSpace() {
    copies.prepare(limits(8, 40, MemoryDevice::new));
    int evicted = 0;
    for (long seed = 1; seed <= 10; seed++) {
      evicted += run(seed, 20_000, 6);
    }
    assertTrue(evicted > 10, "evicted: " + evicted);
    assertTrue(copies.evicted() >= evicted);
    copies.end();
  }

  /** The file cannot be created or written: only memory is used. */
  @Test
  void withoutAFile() {
    copies.prepare(
        new CopyLimits(
            40L * PAGE,
            1000L * PAGE,
            () -> {
              throw new StorageException("open", "copies", -1, 13, "EACCES");
            },
            () -> {}));
    int evicted = 0;
    for (long seed = 1; seed <= 5; seed++) {
      evicted += run(seed, 20_000, 6);
    }
    assertTrue(evicted > 10, "evicted: " + evicted);
    copies.end();
  }

  /**
   * An error during a copy counts as lack of space: the page changes, and the snapshot is evicted.
   */
  @Test
  void anErrorEvictsTheSnapshot() {
    PageCopies failing =
        new PageCopies(
            PAGES,
            PAGE,
            (s, at) -> {
              throw new OutOfMemoryError("a test's");
            });
    failing.prepare(limits(1, 1000, MemoryDevice::new));
    PageSnapshot s = failing.open(PAGES);
    failing.beforeChange(0, FIRST, pages, 0); // into memory
    assertFalse(s.isEvicted());
    failing.beforeChange(1, FIRST + 1, pages, PAGE); // into the file, sealed before
    assertTrue(s.isEvicted());
    assertEquals(0, failing.snapshots());
    failing.end();
  }

  @Test
  void youngPagesAreNotCopied() {
    copies.prepare(CopyLimits.memory(10L * PAGE));
    PageSnapshot s = copies.open(10);
    copies.beforeChange(3, 10, pages, 3L * PAGE);
    assertEquals(0, copies.entries());
    copies.beforeChange(3, 9, pages, 3L * PAGE);
    assertEquals(1, copies.entries());
    assertTrue(copies.isWatched(9));
    assertFalse(copies.isWatched(10));
    copies.close(s);
    assertFalse(copies.isWatched(9));
    copies.end();
  }
}
