package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Changes an inner node as splits and merges do, and compares it with a sorted list. */
class InnerNodeTest {
  private static final int PAGE = 1024;
  private static final int NODES = 2_000;
  private static final int CHANGES = 150;

  private final MemorySegment pages = Arena.ofAuto().allocate(2 * PAGE, 64);
  private final TreeScratch scratch = new TreeScratch.Stock(PAGE, Blocks.COLLECTED).take();
  private final MemorySegment key = Arena.ofAuto().allocate(PAGE, 8);

  /** Few distinct bytes, so that many keys are equal or prefixes of others. */
  private static byte[] key(Random r) {
    byte[] key = new byte[1 + r.nextInt(r.nextInt(4) == 0 ? 40 : 6)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (i < 3 ? r.nextInt(2) : r.nextInt(4) * 85);
    }
    return key;
  }

  private static int compare(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b);
  }

  private static void set(KeyBuffer buffer, byte[] key) {
    Mem.putBytes(buffer.segment(), 0, key, 0, key.length);
    buffer.setLength(key.length);
  }

  private void init(byte[] low, byte[] high) {
    set(scratch.left, low == null ? new byte[0] : low);
    set(scratch.right, high == null ? new byte[0] : high);
    NodeEditor.init(
        pages,
        PAGE,
        PAGE,
        1,
        scratch.left.segment(),
        0,
        low == null ? BTreeNode.NONE : low.length,
        scratch.right.segment(),
        0,
        high == null ? BTreeNode.NONE : high.length);
    NodeEditor.setChild(pages, PAGE, 0, 1000);
  }

  /** Inserts a separator as a split does. */
  private boolean insert(byte[] separator, int slot, long left, long right) {
    set(scratch.separator, separator);
    int prefix = NodeEditor.prefixWith(pages, PAGE, PAGE, scratch.separator);
    if (prefix < 0) {
      return false;
    }
    NodeEditor.prepareInner(pages, PAGE, PAGE, prefix, scratch.separator, scratch);
    NodeEditor.noteInsert(pages, PAGE, slot);
    NodeEditor.insertInner(
        pages, PAGE, PAGE, slot, scratch.separator.segment(), 0, separator.length, left);
    NodeEditor.setChild(pages, PAGE, slot + 1, right);
    NodeEditor.makeHeads(pages, PAGE);
    return true;
  }

  private void check(List<byte[]> separators, List<Long> children, String what) {
    assertDoesNotThrow(() -> NodeCheck.node(pages, PAGE, PAGE, 1, 0), what);
    assertEquals(separators.size(), BTreeNode.count(pages, PAGE), what);
    for (int i = 0; i <= separators.size(); i++) {
      assertEquals(children.get(i), BTreeNode.child(pages, PAGE, i), what);
      if (i < separators.size()) {
        long slot = BTreeNode.innerSlot(pages, PAGE, i);
        int len = BTreeNode.copyKey(pages, PAGE, PAGE, false, slot, key, 0);
        byte[] separator = separators.get(i);
        assertEquals(TestTree.hex(separator), TestTree.hex(key, 0, len), what);
        assertEquals(
            i << 1 | 1,
            NodeSearch.searchInner(pages, PAGE, PAGE, key, 0, len),
            () -> what + ": search for " + TestTree.hex(separator));
      }
    }
  }

  @Test
  void separatorsAreAddedAndRemoved() {
    Random r = new Random(1);
    int full = 0;
    for (int node = 0; node < NODES; node++) {
      byte[] low = r.nextInt(3) == 0 ? key(r) : null;
      byte[] high = r.nextInt(3) == 0 ? key(r) : null;
      if (low != null && high != null && compare(low, high) >= 0) {
        continue;
      }
      init(low, high);
      List<byte[]> separators = new ArrayList<>();
      List<Long> children = new ArrayList<>(List.of(1000L));
      for (int i = 0; i < CHANGES; i++) {
        // Nodes with few separators become empty repeatedly.
        boolean more = separators.isEmpty() || r.nextInt(4) > 0 && separators.size() <= node % 70;
        if (more) {
          byte[] separator = key(r);
          int slot = 0;
          while (slot < separators.size() && compare(separators.get(slot), separator) < 0) {
            slot++;
          }
          if (slot < separators.size() && compare(separators.get(slot), separator) == 0
              || low != null && compare(separator, low) <= 0
              || high != null && compare(separator, high) >= 0) {
            continue;
          }
          long fresh = 2000 + i;
          if (!insert(separator, slot, children.get(slot), fresh)) {
            full++;
            continue;
          }
          separators.add(slot, separator);
          children.add(slot + 1, fresh);
        } else {
          int slot = r.nextInt(separators.size());
          long left = children.get(slot);
          NodeEditor.noteRemove(pages, PAGE, slot);
          NodeEditor.removeInner(pages, PAGE, PAGE, slot);
          NodeEditor.setChild(pages, PAGE, slot, left);
          NodeEditor.makeHeads(pages, PAGE);
          separators.remove(slot);
          children.remove(slot + 1);
        }
        check(separators, children, "node " + node + ", change " + i);
      }
    }
    assertTrue(full > 0, "no node was ever full");
  }
}
