package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.RefusingFiles.Call;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Granules have their own memory, and each slot maps the right granule. */
@Isolated("counts mappings")
class RewiringTest {
  private static final int SIZE = 64 << 10;

  private final MappingBudget budget = new MappingBudget(10_000);
  private final List<Runnable> closing = new ArrayList<>();

  @BeforeEach
  void assume() {
    org.junit.jupiter.api.Assumptions.assumeTrue(
        KernelFacts.memoryFiles() instanceof Availability.Available);
  }

  @AfterEach
  void close() {
    closing.reversed().forEach(Runnable::run);
    assertEquals(0, budget.used());
  }

  private Granules granules(String name, int max) throws RefusedException {
    Granules granules = Granules.make(name, SIZE, max);
    closing.add(granules::close);
    return granules;
  }

  private Rewiring area(Granules granules, int slots) throws RefusedException {
    Rewiring area = Rewiring.reserve(granules, slots, budget);
    closing.add(area::close);
    return area;
  }

  /** Fills each granule with its number. */
  private static void mark(Granules granules, int from, int n) {
    assertEquals(0, granules.populate(from, n));
    for (long off = (long) from * SIZE; off < (long) (from + n) * SIZE; off += 4096) {
      Mem.putLong(granules.view(), off, off / SIZE);
      Mem.putLong(granules.view(), off + 4088, off / SIZE);
    }
  }

  @Test
  void aGranuleInSeveralSlots() throws RefusedException {
    Granules granules = granules("fovea-several", 8);
    mark(granules, 0, 4);
    Rewiring area = area(granules, 8);
    MemorySegment s = area.area();
    assertEquals(0, Mem.getLong(s, 5L * SIZE), "shows nothing");
    assertTrue(area.show(0, 0, 4));
    assertTrue(area.show(4, 0, 4));
    assertTrue(area.populate(0, 8));
    for (int slot = 0; slot < 8; slot++) {
      assertEquals(slot % 4, Mem.getLong(s, (long) slot * SIZE + 4096));
      assertEquals(slot % 4, area.shown(slot));
    }
    Mem.putLong(s, 6L * SIZE, 77);
    assertEquals(77, Mem.getLong(granules.view(), 2L * SIZE), "the same memory");
    assertEquals(77, Mem.getLong(s, 2L * SIZE));
    assertThrows(IndexOutOfBoundsException.class, () -> area.show(7, 0, 2));
    assertThrows(IndexOutOfBoundsException.class, () -> area.show(0, 7, 2));
  }

  /** The budget counts the kernel's mappings. */
  @Test
  void mappingsAreCounted() throws RefusedException {
    Granules granules = granules("fovea-counted", 64);
    mark(granules, 0, 64);
    Rewiring area = area(granules, 64);
    int[] expected = new int[64];
    java.util.Arrays.fill(expected, -1);
    Random random = new Random(3);
    for (int round = 0; round < 400; round++) {
      int n = 1 + random.nextInt(random.nextInt(4) == 0 ? 32 : 3);
      int slot = random.nextInt(64 - n + 1);
      int granule = random.nextBoolean() ? slot : random.nextInt(64 - n + 1);
      assertTrue(area.show(slot, granule, n));
      for (int i = 0; i < n; i++) {
        expected[slot + i] = granule + i;
      }
      int mappings = 0;
      int empty = 0;
      for (int i = 0; i < 64; i++) {
        boolean joined =
            i > 0 && (expected[i] < 0 ? expected[i - 1] < 0 : expected[i - 1] == expected[i] - 1);
        mappings += joined ? 0 : 1;
        empty += !joined && expected[i] < 0 ? 1 : 0;
        long value = Mem.getLong(area.area(), (long) i * SIZE);
        assertEquals(Math.max(0, expected[i]), value);
      }
      assertEquals(mappings, area.mappings());
      assertEquals(mappings, budget.used());
      if (round % 20 == 0) {
        // One more for the view.
        assertEquals(mappings - empty + 1, KernelFacts.mappingsOf("fovea-counted"));
      }
    }
    assertTrue(area.show(0, 0, 64));
    assertEquals(1, area.mappings());
    assertEquals(2, KernelFacts.mappingsOf("fovea-counted"));
    area.close();
    granules.close();
    assertEquals(0, KernelFacts.mappingsOf("fovea-counted"));
    assertEquals(0, Mem.getLong(area.area(), 8L * SIZE), "late readers see zeros");
    assertEquals(0, Mem.getLong(granules.view(), 8L * SIZE));
    assertFalse(area.show(0, 0, 1));
  }

  /**
   * While slots change, each access sees either what the slot showed before or what it shows now.
   */
  @Test
  void readersSeeOldOrNewContents() throws Exception {
    int slots = 64;
    Granules granules = granules("fovea-readers", slots);
    mark(granules, 0, slots);
    Rewiring area = area(granules, slots);
    assertTrue(area.show(0, 0, slots));
    // old granule << 16 | new granule; equal once the change is done
    AtomicIntegerArray states = new AtomicIntegerArray(slots);
    for (int i = 0; i < slots; i++) {
      states.set(i, i << 16 | i);
    }
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong reads = new AtomicLong();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> readers = new ArrayList<>();
    for (int id = 0; id < 2; id++) {
      Random random = new Random(id);
      readers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      while (!stop.get()) {
                        int slot = random.nextInt(slots);
                        long off = (long) slot * SIZE + 4096L * random.nextInt(SIZE / 4096);
                        int before = states.get(slot);
                        long value = Mem.getLongVolatile(area.area(), off);
                        if (before == states.get(slot)) {
                          assertTrue(
                              value == before >>> 16 || value == (before & 0xFFFF),
                              () -> "slot " + slot + " has " + value);
                        }
                        reads.incrementAndGet();
                      }
                    } catch (Throwable t) {
                      failure.compareAndSet(null, t);
                    }
                  }));
    }
    Random random = new Random(9);
    int changes = 0;
    while ((changes < 4_000 || reads.get() < 20_000) && failure.get() == null) {
      int n = 1 + random.nextInt(4);
      int slot = random.nextInt(slots - n + 1);
      int granule = random.nextInt(3) == 0 ? slot : random.nextInt(slots - n + 1);
      for (int i = 0; i < n; i++) {
        states.set(slot + i, area.shown(slot + i) << 16 | granule + i);
      }
      assertTrue(area.show(slot, granule, n));
      if (random.nextBoolean()) {
        assertTrue(area.populate(slot, n));
      }
      for (int i = 0; i < n; i++) {
        states.set(slot + i, (granule + i) << 16 | granule + i);
      }
      changes++;
    }
    stop.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  @Test
  void outOfMappings() throws RefusedException {
    Granules granules = granules("fovea-few", 16);
    mark(granules, 0, 16);
    MappingBudget few = new MappingBudget(6);
    Rewiring area = Rewiring.reserve(granules, 16, few);
    assertTrue(area.show(0, 0, 16));
    assertEquals(1, few.used());
    assertTrue(area.show(4, 8, 2), "three mappings, and two during the call");
    assertEquals(3, few.used());
    assertFalse(area.show(12, 1, 1), "five, and two");
    assertEquals(3, few.used());
    assertEquals(12, area.shown(12));
    assertEquals(12, Mem.getLong(area.area(), 12L * SIZE));
    assertTrue(area.show(4, 4, 2), "one again");
    assertEquals(1, few.used());
    assertTrue(area.show(12, 1, 1));
    area.close();
    area.close();
    assertEquals(0, few.used());
    assertThrows(RefusedException.class, () -> Rewiring.reserve(granules, 1, new MappingBudget(0)));
  }

  @Test
  void outOfKernelMappings() throws RefusedException {
    RefusingFiles files = new RefusingFiles(Call.MAP, 2);
    Granules granules = Granules.make("fovea-kernel", SIZE, 8, files);
    closing.add(granules::close);
    assertEquals(0, granules.populate(0, 8));
    Rewiring area = area(granules, 8);
    assertTrue(area.show(0, 0, 8));
    assertFalse(area.show(1, 5, 1));
    assertEquals(1, area.shown(1));
    assertEquals(1, area.mappings());
    assertEquals(1, budget.used());
    files.stopRefusing();
    assertTrue(area.show(1, 5, 1));
    assertEquals(3, budget.used());
  }

  @Test
  void populateIsRefused() throws RefusedException {
    RefusingFiles files = new RefusingFiles(Call.ALLOCATE, 1);
    Granules granules = Granules.make("fovea-memory", SIZE, 8, files);
    closing.add(granules::close);
    assertEquals(0, granules.populate(0, 2));
    assertEquals(-Errno.ENOSPC, granules.populate(2, 2));
    files.stopRefusing();
    assertEquals(0, granules.populate(2, 2));
    // If populating is refused, accesses fill the page table of an area.
    RefusingFiles tables = new RefusingFiles(Call.POPULATE, 1);
    Granules others = Granules.make("fovea-tables", SIZE, 8, tables);
    closing.add(others::close);
    assertEquals(0, others.populate(0, 1));
    assertEquals(-Errno.ENOMEM, others.populate(1, 1));
    Rewiring area = area(others, 8);
    assertTrue(area.show(3, 0, 1));
    assertFalse(area.populate(3, 1));
    assertEquals(0, Mem.getLong(area.area(), 3L * SIZE));
  }

  /** A refusal leaves no file or mapping behind. */
  @ParameterizedTest
  @EnumSource(names = {"CREATE", "RESIZE", "MAP"})
  void memoryFilesAreDenied(Call call) {
    RefusingFiles files = new RefusingFiles(call, 0);
    RefusedException refused =
        assertThrows(RefusedException.class, () -> Granules.make("fovea-denied", SIZE, 8, files));
    assertTrue(
        refused.reason().contains(call == Call.CREATE ? "memfd_create" : "memory file"),
        refused.reason());
    assertEquals(0, files.open());
    assertEquals(0, KernelFacts.mappingsOf("fovea-denied"));
  }

  @Test
  void facts() {
    assertTrue(MappingBudget.mappingsMax() >= 1000);
    assertTrue(KernelFacts.mappingsToSpare() < MappingBudget.mappingsMax());
    assertTrue(KernelFacts.mappings() > 10);
    assertTrue(KernelFacts.overcommit() >= 0);
    assertTrue(List.of("always", "madvise", "never", "").contains(KernelFacts.hugePages()));
    assertFalse(KernelFacts.hugePagesOfFiles().contains(" "));
    assertTrue(KernelFacts.memoryAvailable().orElse(1) > 0);
    assertTrue(MappingBudget.ofProcess().limit() <= MappingBudget.LIMIT);
    assertTrue(MappingBudget.ofProcess().limit() <= MappingBudget.mappingsMax() / 4);
  }
}
