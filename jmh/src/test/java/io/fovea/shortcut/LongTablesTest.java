package io.fovea.shortcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Availability;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.MappingBudget;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.BeforeTry;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Compares each of the paper's tables with a map. */
class LongTablesTest {
  private static final int DEPTH_MAX = 14;

  /** Multiplying the bucket's hash by this returns the key. */
  private static final long INVERSE = inverse(Entries.bucketHash(1));

  private static long inverse(long odd) {
    long x = odd;
    for (int i = 0; i < 6; i++) {
      x *= 2 - odd * x;
    }
    return x;
  }

  /** Distributions of keys. */
  enum Keys {
    /** Random 64-bit keys. */
    RANDOM,
    /** A few thousand repeated keys. */
    FEW,
    /** 1, 2, 3. */
    ASCENDING,
    /** Most keys belong to a sixteenth of the buckets, so the directory is deep and uneven. */
    CROWDED;

    long next(Random random, int i) {
      long key =
          switch (this) {
            case RANDOM -> random.nextLong();
            case FEW -> random.nextInt(3000) + 1;
            case ASCENDING -> i + 1;
            case CROWDED ->
                (random.nextInt(8) == 0
                        ? random.nextLong()
                        : random.nextLong() >>> 4 | 0x7000_0000_0000_0000L)
                    * INVERSE;
          };
      return key == 0 ? 1 : key;
    }
  }

  /** The compared tables. */
  enum Kind {
    HT,
    HTI,
    CH,
    EH,
    SHORTCUT_EH;

    LongTable make(Random random) throws RefusedException {
      return switch (this) {
        case HT -> new HashTable(random.nextBoolean());
        case HTI -> new IncrementalTable(random.nextBoolean(), 4 << random.nextInt(5));
        case CH -> new ChainedTable(random.nextBoolean(), 4096 << random.nextInt(6), 1 << 20);
        case EH -> new ExtendibleHashing(DEPTH_MAX);
        case SHORTCUT_EH -> new ShortcutHashing(DEPTH_MAX, new MappingBudget(20_000), 0);
      };
    }
  }

  @BeforeTry
  void assume() {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
  }

  @Property(tries = 60)
  void agreesWithAMap(@ForAll Kind kind, @ForAll Keys keys, @ForAll long seed)
      throws RefusedException {
    Random random = new Random(seed);
    try (LongTable table = kind.make(random)) {
      Map<Long, Long> model = new HashMap<>();
      int operations = 2_000 + random.nextInt(20_000);
      for (int i = 0; i < operations; i++) {
        long key = keys.next(random, i);
        if (random.nextInt(4) > 0) {
          long value = random.nextLong();
          table.put(key, value);
          model.put(key, value);
          assertEquals(value, table.get(key, ~value));
        } else {
          assertEquals(model.getOrDefault(key, -7L), table.get(key, -7));
        }
        if (table instanceof ShortcutHashing shortcut && random.nextInt(50) == 0) {
          // Usually not all pending requests, so lookups find an area that is behind or partly
          // updated.
          shortcut.map(random.nextInt(random.nextInt(4) == 0 ? 1_000 : 4));
        }
      }
      assertEquals(model.size(), table.size());
      if (table instanceof ShortcutHashing shortcut) {
        shortcut.map(Integer.MAX_VALUE);
        assertTrue(shortcut.inSync());
      }
      model.forEach((key, value) -> assertEquals(value, table.get(key, ~value)));
      for (int i = 0; i < 1000; i++) {
        long key = random.nextLong() | 1;
        assertEquals(model.getOrDefault(key, -7L), table.get(key, -7));
      }
      assertThrows(IllegalArgumentException.class, () -> table.put(0, 1));
      assertTrue(table.bytes() >= 16L * model.size());
    }
  }

  /** With a separate mapper thread, at arbitrary times. */
  @Test
  void theMapperKeepsUp() throws RefusedException {
    MappingBudget budget = new MappingBudget(20_000);
    try (ShortcutHashing table = new ShortcutHashing(DEPTH_MAX, budget, 200_000)) {
      Random random = new Random(5);
      int through = 0;
      int beside = 0;
      for (int i = 1; i <= 200_000; i++) {
        table.put(i, ~i);
        int key = 1 + random.nextInt(i);
        through += table.throughShortcut() ? 1 : 0;
        beside += table.inSync() ? 0 : 1;
        assertEquals(~key, table.get(key, 0));
        if (i % 20_000 == 0) {
          table.sync();
          assertTrue(table.throughShortcut());
          assertEquals(table.version(), table.mappedVersion());
        }
      }
      assertTrue(through > 1000 && beside > 1000, through + " and " + beside);
      table.sync();
      for (int key = 1; key <= 200_000; key++) {
        assertEquals(~key, table.get(key, 0));
      }
      assertEquals(table.mappings(), budget.used());
    }
    assertEquals(0, budget.used());
  }

  /** Doublings remove requests from the queue while the mapper takes them too. */
  @Test
  void mapperDuringDoublings() throws RefusedException {
    for (int round = 0; round < 150; round++) {
      try (ShortcutHashing table =
          new ShortcutHashing(DEPTH_MAX, new MappingBudget(20_000), 1 + round)) {
        for (int i = 1; i <= 6_000; i++) {
          table.put(i, ~i);
          assertEquals(~i, table.get(i, 0));
        }
        table.sync();
        assertTrue(table.throughShortcut());
        for (int i = 1; i <= 6_000; i++) {
          assertEquals(~i, table.get(i, 0));
        }
      }
    }
  }

  /** Lookups use the directory if there are many slots per bucket. */
  @Test
  void highFanInUsesTheDirectory() throws RefusedException {
    try (ShortcutHashing table = new ShortcutHashing(DEPTH_MAX, new MappingBudget(20_000), 0)) {
      // The same first seven bits: the directory doubles for one bucket alone.
      for (long i = 0; i < 90; i++) {
        table.put((0x5400_0000_0000_0000L | i << 50) * INVERSE, i);
      }
      table.map(Integer.MAX_VALUE);
      assertTrue(table.slots() > 8 * table.buckets());
      assertTrue(table.inSync());
      assertFalse(table.throughShortcut());
      for (long i = 0; i < 90; i++) {
        assertEquals(i, table.get((0x5400_0000_0000_0000L | i << 50) * INVERSE, -1));
      }
    }
  }

  /** Without mappings, the table behaves like extendible hashing. */
  @Test
  void outOfMappings() throws RefusedException {
    MappingBudget few = new MappingBudget(40);
    try (ShortcutHashing table = new ShortcutHashing(DEPTH_MAX, few, 0)) {
      Random random = new Random(8);
      long seed = random.nextLong();
      Random keys = new Random(seed);
      for (int i = 0; i < 30_000; i++) {
        table.put(keys.nextLong() | 1, i);
        if (i % 100 == 0) {
          table.map(Integer.MAX_VALUE);
        }
      }
      assertTrue(table.isRefused());
      assertFalse(table.inSync());
      table.sync();
      keys = new Random(seed);
      for (int i = 0; i < 30_000; i++) {
        assertEquals(i, table.get(keys.nextLong() | 1, -1));
      }
      assertTrue(few.used() <= 40);
    }
    assertEquals(0, few.used());
    assertThrows(
        RefusedException.class, () -> new ShortcutHashing(DEPTH_MAX, new MappingBudget(1), 0));
  }

  /** If the directory cannot grow, buckets fill up, and a full one throws. */
  @Test
  void fullBuckets() throws RefusedException {
    try (ExtendibleHashing table = new ExtendibleHashing(0)) {
      for (int i = 1; i <= 255; i++) {
        table.put(i, i);
      }
      assertEquals(255, table.size());
      assertEquals(7, table.get(7, 0));
      assertEquals(0, table.get(1000, 0));
      assertThrows(IllegalStateException.class, () -> table.put(256, 1));
      table.put(255, 3);
      assertEquals(3, table.get(255, 0));
    }
  }
}
