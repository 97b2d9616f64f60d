package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/**
 * The reused tables of a transaction's sets, whatever their former size, contain exactly its own
 * entries.
 */
class SetTablesTest {
  private static final int TRANSACTIONS = 8;
  private static final int[] SIZES = {1, 3, 20, 300, 5_000};

  /** Locks, some of them only staged, in transactions of all sizes. */
  @Property(tries = 100)
  void lockedSlots(@ForAll long seed, @ForAll @IntRange(min = 1, max = 31) int bits) {
    SplittableRandom random = new SplittableRandom(seed);
    SlotSet set = new SlotSet();
    for (int t = 0; t < TRANSACTIONS; t++) {
      int n = random.nextInt(SIZES[random.nextInt(SIZES.length)]);
      List<Integer> order = new ArrayList<>();
      Set<Integer> locked = new HashSet<>();
      Set<Integer> tried = new HashSet<>();
      for (int i = 0; i < n; i++) {
        int slot = random.nextInt() >>> 32 - bits;
        tried.add(slot);
        assertEquals(locked.contains(slot), set.contains(slot));
        if (!locked.contains(slot)) {
          set.stage(slot);
          assertFalse(set.contains(slot), "a staged slot is not locked");
          if (random.nextInt(4) > 0) {
            set.size++;
            locked.add(slot);
            order.add(slot);
          }
        }
      }
      for (int i = 0; i < order.size(); i++) {
        assertEquals(order.get(i), set.get(i));
      }
      for (int slot : tried) {
        assertEquals(locked.contains(slot), set.contains(slot));
      }
      if (random.nextBoolean()) {
        set.size = 0; // unlocked one by one
      }
      set.clear();
      assertEquals(0, set.size());
      for (int slot : tried) {
        assertFalse(set.contains(slot), "a slot of the transaction before");
      }
    }
  }

  /** Items with the same first slot, in transactions of all sizes. */
  @Property(tries = 100)
  void readItems(@ForAll long seed, @ForAll @IntRange(min = 4, max = 31) int bits) {
    SplittableRandom random = new SplittableRandom(seed);
    ReadSet set = new ReadSet();
    for (int t = 0; t < TRANSACTIONS; t++) {
      int n = random.nextInt(SIZES[random.nextInt(SIZES.length)]) % (64 << Math.min(bits, 16));
      List<Long> items = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        long item = (long) random.nextInt() << 32 | random.nextInt() >>> 32 - bits;
        if (set.find(item) < 0) {
          assertEquals(items.size(), set.add(item, i, 0));
          items.add(item);
        }
      }
      for (int i = 0; i < items.size(); i++) {
        assertEquals(i, set.find(items.get(i)));
      }
      set.clear();
      for (long item : items) {
        assertEquals(-1, set.find(item), "an item of the transaction before");
      }
    }
  }

  /** One call per entry clears the table, even if runs meet or wrap. */
  @Test
  void clearing() {
    SplittableRandom random = new SplittableRandom(1);
    int whole = 0;
    for (int round = 0; round < 20_000; round++) {
      int[] table = new int[16];
      int[] hashes = new int[random.nextInt(16)];
      whole += hashes.length == 15 ? 1 : 0;
      for (int e = 0; e < hashes.length; e++) {
        hashes[e] = random.nextInt();
        int i = hashes[e] & 15;
        while (table[i] != 0) {
          i = i + 1 & 15;
        }
        table[i] = e + 1;
      }
      for (int hash : hashes) {
        ProbeTable.clearFrom(table, hash);
      }
      for (int place : table) {
        assertEquals(0, place);
      }
    }
    assertTrue(whole > 0);
  }
}
