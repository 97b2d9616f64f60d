package io.fovea.copies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.memory.Blocks;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Compares the table of copies with sorted maps from labels to offsets, one for each page. */
class CopyTableTest {
  private static final int PAGES = 400;

  @Test
  void agreesWithTheModel() {
    for (long seed = 1; seed <= 20; seed++) {
      Random random = new Random(seed);
      Blocks memory = new Blocks("test");
      CopyTable table = new CopyTable(memory);
      Map<Long, TreeMap<Long, Long>> model = new HashMap<>();
      TreeSet<Long> open = new TreeSet<>();
      long count = 0;
      long place = 0;
      for (int step = 0; step < 20_000; step++) {
        long pid = 2 + random.nextInt(PAGES);
        int what = random.nextInt(200);
        if (open.isEmpty() || what == 0) {
          open.add(++count);
        } else if (what == 1) {
          open.remove(random.nextBoolean() ? open.first() : open.last());
          sweep(table, model, open);
        } else if (what < 100) {
          add(table, model, pid, open.last(), ++place);
        } else if (what < 110) {
          move(table, model, pid, -(++place));
        } else {
          check(table, model, pid, random.nextInt((int) count + 2));
        }
      }
      long all = model.values().stream().mapToLong(Map::size).sum();
      assertEquals(all, table.size());
      sweep(table, model, new TreeSet<>());
      assertEquals(0, table.size());
      assertEquals(0, memory.bytesUsed());
      memory.close();
    }
  }

  private static void add(
      CopyTable table, Map<Long, TreeMap<Long, Long>> model, long pid, long label, long place) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      TreeMap<Long, Long> labels = model.computeIfAbsent(pid, p -> new TreeMap<>());
      assertEquals(labels.isEmpty() ? 0 : labels.lastKey(), stripe.newest(pid));
      if (stripe.newest(pid) < label) {
        stripe.add(pid, label, place);
        labels.put(label, place);
      }
    } finally {
      stripe.lock.unlock();
    }
  }

  private static void move(
      CopyTable table, Map<Long, TreeMap<Long, Long>> model, long pid, long place) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      TreeMap<Long, Long> labels = model.getOrDefault(pid, new TreeMap<>());
      for (Map.Entry<Long, Long> e : labels.entrySet()) {
        assertTrue(stripe.has(pid, e.getKey(), e.getValue()));
        assertTrue(!stripe.move(pid, e.getKey(), e.getValue() + 1_000_000, place));
        assertTrue(stripe.move(pid, e.getKey(), e.getValue(), place - 1_000_000 * e.getKey()));
        e.setValue(place - 1_000_000 * e.getKey());
      }
    } finally {
      stripe.lock.unlock();
    }
  }

  private static void check(
      CopyTable table, Map<Long, TreeMap<Long, Long>> model, long pid, long number) {
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      Map.Entry<Long, Long> e = model.getOrDefault(pid, new TreeMap<>()).ceilingEntry(number);
      assertEquals(e == null ? CopyTable.NONE : e.getValue(), stripe.find(pid, number));
    } finally {
      stripe.lock.unlock();
    }
  }

  /** Removes exactly the copies that no open snapshot reads. */
  private static void sweep(
      CopyTable table, Map<Long, TreeMap<Long, Long>> model, TreeSet<Long> open) {
    Set<Long> gone = new HashSet<>();
    for (TreeMap<Long, Long> labels : model.values()) {
      Set<Long> needed = new HashSet<>();
      for (long number : open) {
        Long label = labels.ceilingKey(number);
        if (label != null) {
          needed.add(label);
        }
      }
      labels.forEach(
          (label, place) -> {
            if (!needed.contains(label)) {
              gone.add(place);
            }
          });
      labels.keySet().retainAll(needed);
    }
    Set<Long> freed = new HashSet<>();
    table.sweep(open.stream().mapToLong(n -> n).toArray(), p -> assertTrue(freed.add(p)));
    assertEquals(gone, freed);
  }
}
