package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Leaves that are emptied in an order in which they do not fit to their neighbours at first. */
class MergerTest {
  /** So long that a leaf with two fences and one record does not ask for a neighbour yet. */
  private static final int PREFIX = 480;

  /** One of some keys that share so much that only a leaf between two fences has many of them. */
  private static byte[] key(int number) {
    return ByteBuffer.allocate(PREFIX + 4).putInt(PREFIX, number).array();
  }

  private static void delete(TestTree t, int from, int to) {
    for (int i = from; i < to; i++) {
      t.delete(key(i));
    }
  }

  /**
   * The first and the last leaf have an open fence and so no prefix: what the leaves between have
   * does not fit into them. They are emptied first and stay; the last of the others must take both
   * with it.
   */
  @ParameterizedTest
  @ValueSource(ints = {100, 400})
  void emptyLeavesGoWithTheLeafThatWasBetween(int count) {
    try (TestTree t = new TestTree()) {
      // The ends first: what comes between them fills leaves that have two fences.
      for (int i = 0; i < count; i++) {
        int at = i < 16 ? (i & 1) == 0 ? i / 2 : count - 1 - i / 2 : i - 8;
        t.put(key(at), new byte[100]);
      }
      long full = t.verify().pages();
      assertTrue(full >= 4, full + " pages");
      int few = 8; // the first leaf's, and the last one's
      delete(t, 0, few);
      delete(t, count - few, count);
      assertEquals(full, t.verify().pages(), "the two empty ones are there");
      delete(t, few, count - few);
      assertEquals(1, t.verify().pages(), "an empty tree is its root");
    }
  }
}
