package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.encoding.Tuple;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Index entries from valid and damaged records and keys. */
class EntryPlanTest {
  private static final int WIDTH = 5;
  private static final int KEY_WIDTH = 3;
  private static final int RECORD = 4 + 2 + WIDTH + 8;

  private final Arena arena = Arena.ofAuto();

  /** Entry: a text and an integer of the record, and both parts of the key: text, integer. */
  private final EntryPlan plan =
      new EntryPlan(
          new int[] {Tuple.TEXT, Tuple.INT32, Tuple.TEXT, Tuple.INT64},
          new int[] {WIDTH, 4, KEY_WIDTH, 8},
          new boolean[] {false, false, true, true},
          new int[] {4, 0, 0, -1},
          new int[] {0, 0, 0, 1},
          new int[] {Tuple.TEXT, Tuple.INT64},
          false);

  private final MemorySegment out = arena.allocate(plan.sizeMax());

  private static MemorySegment memory(Arena arena, byte... bytes) {
    MemorySegment m = arena.allocate(Math.max(1, bytes.length));
    Mem.putBytes(m, 0, bytes, 0, bytes.length);
    return m;
  }

  private MemorySegment record(int length) {
    MemorySegment r = arena.allocate(RECORD);
    Mem.putInt(r, 0, 7);
    Mem.putShort(r, 4, (short) length);
    return r;
  }

  /** A zero in a text takes two bytes, so zeros make the longest entry. */
  @Test
  void theLongestEntryFits() {
    byte[] key = {0, -1, 0, -1, 0, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9};
    int length = plan.build(memory(arena, key), 0, key.length, record(WIDTH), 0, out, 0);
    assertTrue(length <= plan.sizeMax());
    byte[] entry = out.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
    assertArrayEquals(key, Arrays.copyOfRange(entry, length - key.length, length));
  }

  @Test
  void textLongerThanItsFieldIsDamage() {
    byte[] key = {0, 1, 0, 0, 0, 0, 0, 0, 0, 9};
    for (int length : new int[] {WIDTH + 1, 255, 0x7FFF, 0xFFFF}) {
      MemorySegment record = record(length);
      assertThrows(
          CorruptionException.class,
          () -> plan.build(memory(arena, key), 0, key.length, record, 0, out, 0));
    }
  }

  /** Arbitrary bytes yield an entry that fits, or a report of damage. */
  @Test
  void arbitraryBytes() {
    Random r = new Random(11);
    int entries = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] key = new byte[r.nextInt(24)];
      for (int k = 0; k < key.length; k++) {
        key[k] = (byte) (r.nextInt(3) - 1);
      }
      try (Arena own = Arena.ofConfined()) {
        MemorySegment record = own.allocate(RECORD);
        Mem.putShort(record, 4, (short) r.nextInt(WIDTH + 3));
        MemorySegment k = memory(own, key);
        if (plan.build(k, 0, key.length, record, 0, out, 0) >= 0) {
          entries++;
        }
      } catch (CorruptionException expected) {
        // expected
      }
    }
    assertTrue(entries > 100, entries + " entries");
  }
}
