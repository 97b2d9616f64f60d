package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the search in one node with a linear search over sorted keys. */
class NodeSearchTest {
  private static final int PAGE = 4096;

  /** Nodes are not at offset 0, as in a pool. */
  private static final long BASE = 2 * PAGE;

  private final MemorySegment pages = Arena.ofAuto().allocate(4 * PAGE, 4096);
  private final MemorySegment other = Arena.ofAuto().allocate(2 * PAGE, 8);
  private final KeyBuffer a = new KeyBuffer(PAGE);
  private final KeyBuffer b = new KeyBuffer(PAGE);

  private static void set(KeyBuffer buffer, byte[] key) {
    Mem.putBytes(buffer.segment(), 0, key, 0, key.length);
    buffer.setLength(key.length);
  }

  /** Puts as many keys as fit into a node, in any order; returns them sorted. */
  private List<byte[]> build(boolean leaf, List<byte[]> keys, byte[] low, byte[] high) {
    int level = leaf ? 0 : 1;
    for (long i = BASE; i < BASE + PAGE; i += 8) {
      Mem.putLong(pages, i, 0xA5A5_A5A5_A5A5_A5A5L);
    }
    PageHeader.setTreeId(pages, BASE, 0);
    int lowLength = low == null ? BTreeNode.NONE : low.length;
    int highLength = high == null ? BTreeNode.NONE : high.length;
    set(a, low == null ? new byte[0] : low);
    set(b, high == null ? new byte[0] : high);
    NodeEditor.init(
        pages, BASE, PAGE, level, a.segment(), 0, lowLength, b.segment(), 0, highLength);
    TreeSet<byte[]> in = new TreeSet<>(TestTree.ORDER);
    if (!leaf) {
      List<byte[]> sorted = new ArrayList<>(keys);
      sorted.sort(TestTree.ORDER);
      if (!sorted.isEmpty()) {
        set(a, sorted.getFirst());
        set(b, sorted.getLast());
        NodeEditor.chooseOpenPrefix(pages, BASE, PAGE, a, b);
      }
      NodeEditor.setChild(pages, BASE, 0, 1000);
    }
    for (byte[] key : keys) {
      set(a, key);
      int prefix = BTreeNode.prefix(pages, BASE);
      int bytes =
          leaf
              ? NodeEditor.leafEntryBytes(prefix, key.length, 3)
              : NodeEditor.innerEntryBytes(prefix, key.length);
      if (in.contains(key) || bytes > BTreeNode.gap(pages, BASE, PAGE, leaf)) {
        continue;
      }
      int slot = in.headSet(key).size();
      if (leaf) {
        long at = NodeEditor.insertLeaf(pages, BASE, PAGE, slot, a.segment(), 0, key.length, 3);
        Mem.putByte(pages, at, (byte) key.length);
      } else {
        NodeEditor.insertInner(
            pages, BASE, PAGE, slot, a.segment(), 0, key.length, 2000 + key.length);
        NodeEditor.makeHeads(pages, BASE);
      }
      in.add(key);
    }
    return new ArrayList<>(in);
  }

  private void check(boolean leaf, List<byte[]> keys, List<byte[]> probes) {
    assertEquals(keys.size(), BTreeNode.count(pages, BASE));
    for (int i = 0; i < keys.size(); i++) {
      byte[] key = keys.get(i);
      long slot = BTreeNode.slot(pages, BASE, leaf, i);
      int len = BTreeNode.copyKey(pages, BASE, PAGE, leaf, slot, other, 1);
      assertEquals(TestTree.hex(key), TestTree.hex(other, 1, len));
      if (leaf) {
        long at = BTreeNode.valueAt(BASE, PAGE, slot);
        assertEquals((byte) key.length, Mem.getByte(pages, at));
        for (int hint : new int[] {i, -1, i + 1, keys.size(), 70_000}) {
          assertEquals(
              i << 1 | 1, NodeSearch.searchHinted(pages, BASE, PAGE, 0, hint, other, 1, len));
        }
        assertEquals(-1, NodeSearch.searchHinted(pages, BASE, PAGE, 1, i, other, 1, len));
      } else {
        assertEquals(2000 + key.length, BTreeNode.child(pages, BASE, i));
      }
    }
    if (!leaf) {
      assertEquals(1000, BTreeNode.child(pages, BASE, keys.size()));
    }
    for (byte[] probe : probes) {
      int expected = 0;
      while (expected < keys.size() && Arrays.compareUnsigned(keys.get(expected), probe) < 0) {
        expected++;
      }
      boolean found = expected < keys.size() && Arrays.equals(keys.get(expected), probe);
      // Memory ends right after the key: the search must not read past it.
      MemorySegment exact = other.asSlice(2 * PAGE - probe.length);
      Mem.putBytes(exact, 0, probe, 0, probe.length);
      int result =
          leaf
              ? NodeSearch.searchLeaf(pages, BASE, PAGE, exact, 0, probe.length)
              : NodeSearch.searchInner(pages, BASE, PAGE, exact, 0, probe.length);
      assertEquals(
          expected << 1 | (found ? 1 : 0),
          result,
          () -> "search for " + TestTree.hex(probe) + " among " + keys.size());
      if (leaf) {
        assertEquals(
            result, NodeSearch.searchHinted(pages, BASE, PAGE, 0, 1, exact, 0, probe.length));
        for (int gap : new int[] {expected, expected + 1, 0, keys.size(), 70_000}) {
          int hint = NodeSearch.absent(gap);
          assertEquals(
              result, NodeSearch.searchHinted(pages, BASE, PAGE, 0, hint, exact, 0, probe.length));
        }
        for (int i = 0; i < keys.size(); i += 1 + keys.size() / 10) {
          int c =
              NodeSearch.compareKey(
                  pages, BASE, PAGE, BTreeNode.leafSlot(pages, BASE, i), exact, 0, probe.length);
          assertEquals(
              Integer.signum(Arrays.compareUnsigned(keys.get(i), probe)), Integer.signum(c));
        }
      }
    }
  }

  private static List<byte[]> probes(List<byte[]> keys, byte[] low, byte[] high) {
    List<byte[]> probes = new ArrayList<>(keys);
    for (byte[] key : keys) {
      probes.add(Arrays.copyOf(key, key.length + 1));
      probes.add(Arrays.copyOf(key, Math.max(0, key.length - 1)));
      for (int at : new int[] {0, key.length / 2, key.length - 1}) {
        if (at >= 0 && at < key.length) {
          byte[] up = key.clone();
          up[at]++;
          probes.add(up);
          byte[] down = key.clone();
          down[at]--;
          probes.add(down);
        }
      }
    }
    probes.removeIf(
        p ->
            low != null && Arrays.compareUnsigned(p, low) <= 0
                || high != null && Arrays.compareUnsigned(p, high) > 0);
    return probes;
  }

  @ParameterizedTest
  @CsvSource({"true", "false"})
  void kindsOfKeys(boolean leaf) {
    for (RandomKeys.Kind kind : RandomKeys.Kind.values()) {
      for (long seed = 0; seed < 40; seed++) {
        RandomKeys random = new RandomKeys(kind, seed, PAGE / 8);
        List<byte[]> keys = new ArrayList<>();
        for (int i = 0; i < 10 * seed; i++) {
          keys.add(random.next());
        }
        check(leaf, build(leaf, keys, null, null), probes(keys, null, null));
        byte[] low = random.next();
        byte[] high = random.next();
        if (Arrays.compareUnsigned(low, high) < 0) {
          keys.removeIf(
              k -> Arrays.compareUnsigned(k, low) <= 0 || Arrays.compareUnsigned(k, high) > 0);
          check(leaf, build(leaf, keys, low, high), probes(keys, low, high));
        }
      }
    }
  }

  /** More slots than one step compares, up to the maximum of the largest page. */
  @Test
  void leavesOfManySlots() {
    int pageSize = 1 << 16;
    int most = (pageSize - BTreeNode.LEAF_SLOTS) / BTreeNode.LEAF_STRIDE;
    MemorySegment page = Arena.ofAuto().allocate(2L * pageSize, 4096);
    for (long at = 0; at < page.byteSize(); at += 8) {
      Mem.putLong(page, at, 0x0A5A_5A5A_5A5A_5A5AL);
    }
    Mem.putShort(page, BTreeNode.PREFIX, (short) 0);
    Mem.putShort(page, BTreeNode.LOW, (short) BTreeNode.NONE);
    Mem.putShort(page, BTreeNode.HIGH, (short) BTreeNode.NONE);
    for (int count = 0; count <= most; count += count < 500 ? 1 : 433) {
      Mem.putShort(page, BTreeNode.COUNT, (short) count);
      if (count > 0) {
        // Odd four-byte keys: the slots alone decide.
        for (int i = Math.max(0, count - 433); i < count; i++) {
          long slot = BTreeNode.makeSlot(2 * i + 1 << 12, pageSize - 2, 4);
          Mem.putLong(page, BTreeNode.LEAF_SLOTS + (long) i * BTreeNode.LEAF_STRIDE, slot);
        }
      }
      for (int k = 0; k <= 2 * count; k += count < 200 ? 1 : 3) {
        Mem.putIntBE(other, 0, k << 12);
        assertEquals(
            k >>> 1 << 1 | k & 1,
            NodeSearch.searchLeaf(page, 0, pageSize, other, 0, 4),
            "search for " + k + " among " + count);
      }
    }
  }

  /** Many bytes 0x00 and 0xFF, only some of which are the padding of heads. */
  @Provide
  Arbitrary<byte[]> keys() {
    Arbitrary<Byte> bytes =
        Arbitraries.frequencyOf(
            net.jqwik.api.Tuple.of(3, Arbitraries.of((byte) 0, (byte) 0xFF, (byte) 1)),
            net.jqwik.api.Tuple.of(1, Arbitraries.bytes()));
    Arbitrary<byte[]> tails = bytes.array(byte[].class).ofMaxSize(11);
    Arbitrary<Integer> repeats = Arbitraries.integers().between(0, 3);
    return Combinators.combine(tails, repeats, bytes)
        .as(
            (tail, repeat, filler) -> {
              byte[] key = new byte[repeat * 7 + tail.length];
              Arrays.fill(key, filler);
              System.arraycopy(tail, 0, key, repeat * 7, tail.length);
              return key;
            });
  }

  @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
  void anyKeys(@ForAll boolean leaf, @ForAll List<@net.jqwik.api.From("keys") byte[]> keys) {
    check(leaf, build(leaf, keys, null, null), probes(keys, null, null));
  }

  @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
  void betweenFences(
      @ForAll boolean leaf,
      @ForAll("keys") byte[] low,
      @ForAll("keys") byte[] high,
      @ForAll List<@net.jqwik.api.From("keys") byte[]> keys) {
    if (Arrays.compareUnsigned(low, high) >= 0) {
      return;
    }
    List<byte[]> inside = new ArrayList<>(keys);
    inside.add(high);
    inside.removeIf(
        k -> Arrays.compareUnsigned(k, low) <= 0 || Arrays.compareUnsigned(k, high) > 0);
    check(leaf, build(leaf, inside, low, high), probes(inside, low, high));
    for (byte[] key : keys) {
      Mem.putBytes(other, 0, key, 0, key.length);
      boolean in = Arrays.compareUnsigned(key, low) > 0 && Arrays.compareUnsigned(key, high) <= 0;
      boolean after =
          Arrays.compareUnsigned(key, low) >= 0 && Arrays.compareUnsigned(key, high) < 0;
      assertEquals(in, NodeSearch.covers(pages, BASE, PAGE, other, 0, key.length, false));
      if (leaf) {
        int count = BTreeNode.count(pages, BASE);
        for (int hint : new int[] {0, -1, NodeSearch.absent(count), NodeSearch.absent(1)}) {
          int found = NodeSearch.searchHinted(pages, BASE, PAGE, 0, hint, other, 0, key.length);
          assertEquals(in, found >= 0);
        }
      }
      assertEquals(after, NodeSearch.covers(pages, BASE, PAGE, other, 0, key.length, true));
    }
  }

  /** Half of a split: narrower fences, and hence an equal or longer prefix. */
  @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
  void entriesOfAHalf(
      @ForAll("keys") byte[] x,
      @ForAll("keys") byte[] y,
      @ForAll("keys") byte[] z,
      @ForAll boolean left,
      @ForAll List<@net.jqwik.api.From("keys") byte[]> keys) {
    List<byte[]> fences = new ArrayList<>(List.of(x, y, z));
    fences.sort(TestTree.ORDER);
    byte[] low = fences.get(0);
    byte[] middle = fences.get(1);
    byte[] high = fences.get(2);
    if (Arrays.equals(low, middle) || Arrays.equals(middle, high)) {
      return;
    }
    List<byte[]> inside = new ArrayList<>(keys);
    inside.addAll(List.of(middle, high));
    for (byte[] key : keys) {
      byte[] longer = Arrays.copyOf(middle, middle.length + key.length);
      System.arraycopy(key, 0, longer, middle.length, key.length);
      inside.add(longer);
    }
    inside.removeIf(
        k -> Arrays.compareUnsigned(k, low) <= 0 || Arrays.compareUnsigned(k, high) > 0);
    List<byte[]> in = build(true, inside, low, high);
    int at = 0;
    while (at < in.size() && Arrays.compareUnsigned(in.get(at), middle) <= 0) {
      at++;
    }
    MemorySegment old = Arena.ofAuto().allocate(PAGE + BTreeNode.SLACK, 8);
    Mem.copy(pages, BASE, old, 0, PAGE);
    set(a, left ? low : middle);
    set(b, left ? middle : high);
    NodeEditor.init(pages, BASE, PAGE, 0, a.segment(), 0, a.length(), b.segment(), 0, b.length());
    int from = left ? 0 : at;
    int to = left ? at : in.size();
    NodeEditor.appendLeaf(old, 0, from, to, pages, BASE, PAGE, new KeyBuffer(PAGE));
    NodeCheck.entries(pages, BASE, PAGE, true);
    List<byte[]> half = in.subList(from, to);
    check(true, half, probes(half, left ? low : middle, left ? middle : high));
  }

  @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
  void separators(@ForAll("keys") byte[] x, @ForAll("keys") byte[] y) {
    int c = Arrays.compareUnsigned(x, y);
    if (c == 0) {
      return;
    }
    byte[] left = c < 0 ? x : y;
    byte[] right = c < 0 ? y : x;
    set(a, left);
    set(b, right);
    KeyBuffer separator = new KeyBuffer(PAGE);
    Separators.between(a.segment(), left.length, b.segment(), right.length, separator);
    byte[] s = new byte[separator.length()];
    Mem.getBytes(separator.segment(), 0, s, 0, s.length);
    assertTrue(Arrays.compareUnsigned(left, s) <= 0, "not below the left key");
    assertTrue(Arrays.compareUnsigned(s, right) < 0, "below the right key");
    assertTrue(s.length <= Math.max(left.length, right.length), "no longer than the keys");
  }

  @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
  void removeAndCompact(
      @ForAll boolean leaf,
      @ForAll List<@net.jqwik.api.From("keys") byte[]> keys,
      @ForAll List<Integer> victims) {
    List<byte[]> in = build(leaf, keys, null, null);
    for (int victim : victims) {
      if (in.isEmpty()) {
        break;
      }
      int slot = Math.floorMod(victim, in.size());
      in.remove(slot);
      if (leaf) {
        NodeEditor.removeLeaf(pages, BASE, PAGE, slot);
      } else {
        NodeEditor.removeInner(pages, BASE, PAGE, slot);
        NodeEditor.makeHeads(pages, BASE);
      }
    }
    check(leaf, in, probes(in, null, null));
    int used = BTreeNode.used(pages, BASE, PAGE, leaf);
    NodeEditor.compact(pages, BASE, PAGE, leaf, other);
    assertEquals(0, BTreeNode.dead(pages, BASE));
    assertEquals(used, BTreeNode.used(pages, BASE, PAGE, leaf));
    check(leaf, in, probes(in, null, null));
  }
}
