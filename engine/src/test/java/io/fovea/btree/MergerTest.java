package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Leaves emptied in an order in which they do not at first fit into their siblings. */
class MergerTest {
  /** So long that a leaf with two fences and one record is not yet underfull. */
  private static final int PREFIX = 480;

  /** Keys with such a long common prefix that only a leaf with two fences holds many. */
  private static byte[] key(int number) {
    return ByteBuffer.allocate(PREFIX + 4).putInt(PREFIX, number).array();
  }

  private static void delete(TestTree t, int from, int to) {
    for (int i = from; i < to; i++) {
      t.delete(key(i));
    }
  }

  /**
   * The first and the last leaf lack a fence and so a prefix, so the leaves between them do not fit
   * into them. They are emptied first; the last one of the others must merge with both.
   */
  @ParameterizedTest
  @ValueSource(ints = {100, 400})
  void emptyLeavesMergeWithTheLeafBetweenThem(int count) {
    try (TestTree t = new TestTree()) {
      // The ends first: later keys fill leaves with two fences.
      for (int i = 0; i < count; i++) {
        int at = i < 16 ? (i & 1) == 0 ? i / 2 : count - 1 - i / 2 : i - 8;
        t.put(key(at), new byte[100]);
      }
      long full = t.verify().pages();
      assertTrue(full >= 4, full + " pages");
      int few = 8; // in the first and the last leaf
      delete(t, 0, few);
      delete(t, count - few, count);
      assertEquals(full, t.verify().pages(), "the two empty leaves remain");
      delete(t, few, count - few);
      assertEquals(1, t.verify().pages(), "an empty tree is its root");
    }
  }
}
