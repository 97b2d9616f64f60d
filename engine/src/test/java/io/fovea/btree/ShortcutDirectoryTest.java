package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Availability;
import io.fovea.config.Translation;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Mem;
import io.fovea.memory.MemoryFiles;
import io.fovea.memory.RefusingFiles;
import io.fovea.memory.RefusingFiles.Call;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs the tests of a flat table on one with a shortcut directory, and tests the directory itself.
 */
class ShortcutDirectoryTest extends KeyLocationCacheTest {
  private static final int SIZE = ShortcutDirectory.GRANULE_BYTES;

  /** More overwritten ways than a granule tolerates. */
  private static final int MANY = 2000;

  @BeforeEach
  void assume() {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
  }

  @Override
  KeyLocationCache make(long bytes, int pageSize) {
    try {
      KeyLocationCache made =
          KeyLocationCache.shortcut(
              "test", bytes, pageSize, MemoryFiles.KERNEL, MappingBudget.ofProcess());
      assertTrue(made.isShortcut());
      return made;
    } catch (RefusedException e) {
      throw new AssertionError(e);
    }
  }

  /** Compares a directory with a model: the granule of each slot, by a list of splits. */
  private static final class Model {
    int depth = 2;
    int[] granules = {0, 1, 2, 3};

    void twice() {
      int n = granules.length;
      granules = Arrays.copyOf(granules, 2 * n);
      System.arraycopy(granules, 0, granules, n, n);
      depth++;
    }

    /** Returns the granule that a split creates; -1 if the directory is not deep enough. */
    int split(int g) {
      int[] slots =
          java.util.stream.IntStream.range(0, granules.length)
              .filter(s -> granules[s] == g)
              .toArray();
      if (slots.length == 1) {
        return -1;
      }
      int made = slots[1];
      int distance = made - g;
      for (int s : slots) {
        if ((s & distance) != 0) {
          granules[s] = made;
        }
      }
      return made;
    }
  }

  /** Randomly chosen granules are too small, repeatedly; readers and stores use the same memory. */
  @Test
  void slotsShowTheirGranules() throws RefusedException {
    for (int seed = 0; seed < 6; seed++) {
      Random random = new Random(seed);
      MappingBudget budget = new MappingBudget(5_000);
      int max = 128;
      ShortcutDirectory directory =
          new ShortcutDirectory("test", (long) max * SIZE, MemoryFiles.KERNEL, budget);
      Model model = new Model();
      for (int round = 0; round < 40; round++) {
        int[] full = random.ints(1 + random.nextInt(20), 0, model.granules.length).toArray();
        List<Integer> asked = new ArrayList<>();
        for (int slot : full) {
          int g = model.granules[slot];
          if (directory.countOverwrites(directory.viewOffset((long) slot * SIZE), MANY)
              && !asked.contains(g)) {
            asked.add(g);
          }
        }
        directory.tick();
        int slots = (int) ((directory.mask() + 1 << KeyLocationCache.SET_SHIFT) / SIZE);
        if (slots > model.granules.length) {
          model.twice();
        }
        assertEquals(slots, model.granules.length);
        asked.sort(null);
        long granules = Arrays.stream(model.granules).distinct().count();
        for (int g : asked) {
          if (granules < max && model.split(g) >= 0) {
            granules++;
          }
        }
        assertEquals(granules * SIZE, directory.bytes());
        for (int slot = 0; slot < slots; slot++) {
          long at = (long) slot * SIZE + 64L * random.nextInt(SIZE / 64);
          long home = directory.viewOffset(at);
          assertEquals(model.granules[slot], home / SIZE, "slot " + slot);
          assertEquals(at % SIZE, home % SIZE);
          Mem.putLong(directory.view(), home, slot + 1);
          assertEquals(slot + 1, Mem.getLong(directory.area(), at), "slot " + slot);
        }
        assertEquals(directory.mappings(), budget.used());
      }
      assertTrue(directory.bytes() > 64L * SIZE, () -> directory.bytes() + " bytes");
      assertTrue(directory.mask() < 8L * 1024 * max);
      directory.close();
      assertEquals(0, budget.used());
    }
  }

  /** The content of a granule is in both halves, without seen bits. */
  @Test
  void aSplitLosesNothing() throws RefusedException {
    MappingBudget budget = new MappingBudget(100);
    ShortcutDirectory directory =
        new ShortcutDirectory("test", 64L * SIZE, MemoryFiles.KERNEL, budget);
    for (long at = 0; at < 4L * SIZE; at += 64) {
      Mem.putLong(directory.view(), at, ~at);
    }
    for (int depth = 3; depth <= 6; depth++) {
      for (long at = 0; at < directory.bytes(); at += SIZE) {
        assertTrue(directory.countOverwrites(at, MANY));
      }
      assertTrue(directory.tick());
      assertEquals((1L << depth) * SIZE, directory.bytes());
      assertEquals(directory.bytes() / 64 - 1, directory.mask());
      assertEquals(2, directory.mappings(), "one granule, and one for unused slots");
      for (long at = 0; at < directory.bytes(); at += 64) {
        assertEquals(
            ~(at % (4L * SIZE)) & ~KeyLocationCache.SEEN, Mem.getLong(directory.area(), at));
      }
    }
    assertFalse(directory.countOverwrites(0, MANY), "it uses all of its memory");
    assertFalse(directory.tick());
    directory.close();
  }

  @ParameterizedTest
  @EnumSource(names = {"ALLOCATE", "MAP"})
  void growthFails(Call call) throws RefusedException {
    // Creation uses the first two calls.
    RefusingFiles files = new RefusingFiles(call, call == Call.MAP ? 2 : 1);
    MappingBudget budget = new MappingBudget(100);
    ShortcutDirectory directory = new ShortcutDirectory("test", 64L * SIZE, files, budget);
    for (int round = 0; round < 3; round++) {
      for (int g = 0; g < 4; g++) {
        assertTrue(directory.countOverwrites((long) g * SIZE, MANY));
      }
      directory.tick();
      assertFalse(directory.tick(), "growth is not retried immediately");
      for (int slot = 0; slot < 4; slot++) {
        long at = (long) slot * SIZE;
        assertEquals(at, directory.viewOffset(at));
        Mem.putLong(directory.view(), at, round);
        assertEquals(round, Mem.getLong(directory.area(), at));
      }
    }
    assertTrue(files.refusals() > 0);
    files.stopRefusing();
    for (int g = 0; g < 4; g++) {
      directory.countOverwrites((long) g * SIZE, MANY);
    }
    assertTrue(directory.tick());
    for (long at = 0; at <= directory.mask() << KeyLocationCache.SET_SHIFT; at += SIZE) {
      Mem.putLong(directory.view(), directory.viewOffset(at), at);
      assertEquals(at, Mem.getLong(directory.area(), at));
    }
    directory.close();
    assertEquals(0, files.open());
    assertEquals(0, budget.used());
  }

  /** Mappings run out while granules have different depths. */
  @Test
  void outOfMappings() throws RefusedException {
    MappingBudget few = new MappingBudget(12);
    ShortcutDirectory directory =
        new ShortcutDirectory("test", 256L * SIZE, MemoryFiles.KERNEL, few);
    Random random = new Random(4);
    for (int round = 0; round < 200; round++) {
      long slots = (directory.mask() + 1 << KeyLocationCache.SET_SHIFT) / SIZE;
      for (int i = 0; i < 3; i++) {
        directory.countOverwrites(directory.viewOffset(random.nextLong(slots) * SIZE), MANY);
      }
      directory.tick();
      assertTrue(few.used() <= few.limit());
      // A granule's own slot maps it, or nothing is stored there; its other slots may lag.
      for (long at = 0; at <= directory.mask() << KeyLocationCache.SET_SHIFT; at += SIZE) {
        long home = directory.viewOffset(at);
        Mem.putLong(directory.view(), home, home + round);
        if (home == at) {
          assertEquals(home + round, Mem.getLong(directory.area(), at), "slot " + at / SIZE);
        }
      }
    }
    directory.close();
    assertEquals(0, few.used());
  }

  @ParameterizedTest
  @EnumSource
  void creationFails(Call call) {
    RefusingFiles files = new RefusingFiles(call, 0);
    MappingBudget budget = new MappingBudget(100);
    assertThrows(
        RefusedException.class,
        () -> KeyLocationCache.shortcut("test", 1 << 20, 4096, files, budget));
    assertEquals(0, files.open());
    assertEquals(0, budget.used());
  }

  @Test
  void noMappingAtAll() {
    RefusingFiles files = new RefusingFiles(Call.CREATE, 1);
    for (int limit = 0; limit < 3; limit++) {
      MappingBudget none = new MappingBudget(limit);
      assertThrows(
          RefusedException.class,
          () -> KeyLocationCache.shortcut("test", 1 << 20, 4096, files, none));
      assertEquals(0, none.used());
      files.stopRefusing();
    }
    assertEquals(0, files.open());
  }

  /** Up to the memory limit, which is not a power of two. */
  @Test
  void growsToItsLimit() {
    BTree tree = filled(pool(4096, 4096, Translation.PREDICTIVE), 7, 60_000);
    KeyLocationCache places = places(11L * SIZE, tree);
    assertEquals(11L * SIZE, places.maxBytes());
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (places.bytes() < places.maxBytes()) {
      right(places, tree, 0, 120_000, 2);
      assertTrue(System.nanoTime() < deadline, () -> places.bytes() + " bytes");
    }
    for (int round = 0; round < 4; round++) {
      right(places, tree, 0, 120_000, 2);
    }
    assertEquals(11L * SIZE, places.bytes());
    assertTrue(right(places, tree, 0, 120_000, 2) > 40_000);
  }
}
