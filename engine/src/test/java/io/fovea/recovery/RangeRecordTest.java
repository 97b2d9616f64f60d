package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.KeyRange;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Valid and invalid RANGE records. */
class RangeRecordTest {
  private static final long LSN = 4096;

  private static MemorySegment body(
      long id, int tree, int ends, int low, int high, int zero, byte[] rest) {
    MemorySegment s = Arena.ofAuto().allocate(20 + rest.length + 8L, 8);
    Mem.putLong(s, 0, id);
    Mem.putInt(s, 8, tree);
    Mem.putShort(s, 12, (short) ends);
    Mem.putShort(s, 14, (short) low);
    Mem.putShort(s, 16, (short) high);
    Mem.putShort(s, 18, (short) zero);
    Mem.putBytes(s, 20, rest, 0, rest.length);
    return s;
  }

  private static RangeRecord open(MemorySegment s, int length) {
    RangeRecord r = new RangeRecord();
    r.open(s, 0, length, LSN);
    return r;
  }

  @Test
  void boundsRoundTrip() {
    RangeRecord r = open(body(800, 7, 1 | 2 | 4, 2, 3, 0, new byte[] {1, 2, 3, 4, 5}), 25);
    assertEquals(800, r.id());
    assertEquals(7, r.treeId());
    KeyRange range = r.range();
    assertEquals(2, range.lowLength());
    assertTrue(range.lowInclusive());
    assertEquals(1, Mem.getByte(range.low(), range.lowOffset()));
    assertEquals(3, range.highLength());
    assertFalse(range.highInclusive());
    assertEquals(3, Mem.getByte(range.high(), range.highOffset()));
    KeyRange all = open(body(800, 7, 0, 0, 0, 0, new byte[0]), 20).range();
    assertEquals(-1, all.lowLength());
    assertEquals(-1, all.highLength());
    KeyRange empty = open(body(800, 7, 4 | 8, 0, 0, 0, new byte[0]), 20).range();
    assertEquals(0, empty.highLength());
    assertTrue(empty.highInclusive());
  }

  @Test
  void invalidRecordsAreDamage() {
    byte[] rest = new byte[5];
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 5, 2, 3, 0, rest), 19));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 5, 2, 3, 0, rest), 24));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 5, 2, 3, 0, rest), 26));
    assertThrows(CorruptionException.class, () -> open(body(0, 7, 5, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(LSN, 7, 5, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(800, 0, 5, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 16, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 2, 0, 0, 0, rest), 20));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 8, 0, 0, 0, rest), 20));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 4, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 1, 2, 3, 0, rest), 25));
    assertThrows(CorruptionException.class, () -> open(body(800, 7, 5, 2, 3, 1, rest), 25));
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      byte[] any = new byte[20 + random.nextInt(40)];
      random.nextBytes(any);
      MemorySegment s = Arena.ofAuto().allocate(64, 8);
      Mem.putBytes(s, 0, any, 0, any.length);
      try {
        KeyRange range = open(s, any.length).range();
        assertTrue(range.lowLength() + range.highLength() <= any.length - 20);
      } catch (CorruptionException e) {
        // expected
      }
    }
  }
}
