package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Regions are aligned, zeroed and bounded, and can be read after their release. */
@Isolated("counts mappings and their page tables")
class NativeRegionTest {
  @Test
  void isAlignedAndZero() {
    for (long bytes : new long[] {1, 4096, 5000, 3 << 20, NativeRegion.HUGE_PAGE_BYTES}) {
      NativeRegion region = NativeRegion.reserve(bytes, bytes > 4096, "test");
      MemorySegment seg = region.segment();
      assertEquals(bytes, seg.byteSize());
      assertEquals(0, seg.address() % NativeRegion.HUGE_PAGE_BYTES);
      assertTrue(Mem.isZero(seg, 0, bytes));
      assertThrows(IndexOutOfBoundsException.class, () -> Mem.getByte(seg, bytes));
      seg.fill((byte) 1);
      region.release();
    }
  }

  @Test
  void costsNothingUntilTouched() {
    // More than most machines have.
    long bytes = 1L << 40;
    NativeRegion region;
    try {
      region = NativeRegion.reserve(bytes, true, "large");
    } catch (OutOfMemoryError e) {
      abort("This machine limits address space: " + e.getMessage());
      return;
    }
    Mem.putLong(region.segment(), bytes - 8, 7);
    assertEquals(7, Mem.getLong(region.segment(), bytes - 8));
    region.release();
  }

  @Test
  void releasedRegionsCostNoMappings() throws IOException {
    Path maps = Path.of("/proc/self/maps");
    if (!Files.isReadable(maps)) {
      abort("No /proc/self/maps");
    }
    int before = count(maps);
    for (int i = 0; i < 800; i++) {
      NativeRegion region = NativeRegion.reserve(3 << 20, i % 2 == 0, "test");
      region.segment().fill((byte) 1);
      region.release();
    }
    int more = count(maps) - before;
    assertTrue(more < 200, () -> more + " mappings more than before");
  }

  /** Released regions cost no page tables either. */
  @Test
  void releasedRegionsCostNoPageTables() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      abort("No /proc/self/status");
    }
    long before = pageTablesKib(status);
    int regions = 2000;
    for (int i = 0; i < regions; i++) {
      // One page, several, more than a huge page, and a multiple of it.
      long bytes = new long[] {4096, 100_000, 3 << 20, 4 << 20}[i % 4];
      NativeRegion region = NativeRegion.reserve(bytes, false, "test");
      Mem.putLong(region.segment(), 0, 1);
      Mem.putLong(region.segment(), bytes - 8, 1);
      region.release();
    }
    long more = pageTablesKib(status) - before;
    // A page of 4 KiB per region would be 8,000.
    assertTrue(more < 1000, () -> more + " KiB of page tables more than before");
  }

  /** The same for regions as large as a second-level page maps. */
  @Test
  void largeRegionsCostNoPageTablesOnceTheyAreReleased() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      abort("No /proc/self/status");
    }
    long before = pageTablesKib(status);
    // Two are always in use: the last region of a chunk may be released after the chunk is used up.
    NativeRegion[] inUse = new NativeRegion[2];
    for (int i = 0; i < 2000; i++) {
      try {
        inUse[i % 2] = NativeRegion.reserve(1L << 30, false, "test");
      } catch (OutOfMemoryError e) {
        abort("This machine limits address space: " + e.getMessage());
      }
      Mem.putLong(inUse[i % 2].segment(), 0, 1);
      if (inUse[(i + 1) % 2] != null) {
        inUse[(i + 1) % 2].release();
      }
    }
    inUse[1].release();
    inUse[1].release(); // a repeated release has no effect
    long more = pageTablesKib(status) - before;
    // A page of 4 KiB per region would be 8,000; two per chunk of 16 GiB would be 1,000.
    assertTrue(more < 1500, () -> more + " KiB of page tables more than before");
  }

  /** A region larger than a chunk does not use up the current chunk. */
  @Test
  void alternatesBetweenSmallAndHuge() throws IOException {
    Path maps = Path.of("/proc/self/maps");
    if (!Files.isReadable(maps)) {
      abort("No /proc/self/maps");
    }
    int before = count(maps);
    int jumps = 0;
    long last = NativeRegion.reserve(4096, false, "small").segment().address();
    for (int i = 0; i < 20; i++) {
      try {
        NativeRegion.reserve(40L << 30, false, "huge").release();
      } catch (OutOfMemoryError e) {
        abort("This machine limits address space: " + e.getMessage());
      }
      NativeRegion small = NativeRegion.reserve(4096, false, "small");
      jumps += Math.abs(small.segment().address() - last) > 16L << 20 ? 1 : 0;
      last = small.segment().address();
      small.release();
    }
    assertTrue(jumps <= 1, jumps + " small regions are far from their predecessor");
    int more = count(maps) - before;
    assertTrue(more < 50, () -> more + " mappings more than before");
  }

  private static long pageTablesKib(Path status) throws IOException {
    for (String line : Files.readAllLines(status)) {
      if (line.startsWith("VmPTE:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new AssertionError("no VmPTE in " + status);
  }

  private static int count(Path maps) throws IOException {
    try (Stream<String> lines = Files.lines(maps)) {
      return (int) lines.count();
    }
  }

  @Test
  void readsZerosAfterItsRelease() {
    NativeRegion region = NativeRegion.reserve(1 << 20, false, "test");
    MemorySegment seg = region.segment();
    seg.fill((byte) 1);
    region.release();
    region.release();
    assertTrue(Mem.isZero(seg, 0, 1 << 20));
    Mem.putLong(seg, 8, 1);
    assertEquals(1, Mem.getLong(seg, 8));
  }

  /** Unlike a released one: the chunk around it is replaced when its last region is released. */
  @Test
  void aClearedRegionKeepsWhatIsWrittenNext() {
    long large = 9L << 30; // two do not fit into a chunk
    NativeRegion first = NativeRegion.reserve(large, false, "first");
    NativeRegion region = NativeRegion.reserve(4096, false, "test");
    Mem.putLong(region.segment(), 8, 1);
    region.clear();
    assertEquals(0, Mem.getLong(region.segment(), 8));
    Mem.putLong(region.segment(), 8, 2);
    NativeRegion.reserve(large, false, "uses up the chunk").release();
    first.release();
    assertEquals(2, Mem.getLong(region.segment(), 8));
    region.release();
  }

  @Test
  void rejectsInvalidSizes() {
    assertThrows(IllegalArgumentException.class, () -> NativeRegion.reserve(0, false, "none"));
    assertThrows(
        IllegalArgumentException.class, () -> NativeRegion.reserve(Long.MAX_VALUE, false, "all"));
    assertEquals("test, 10 bytes", NativeRegion.reserve(10, false, "test").toString());
  }
}
