package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.btree.TestTree.LocationReader;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Readers that break a rule of {@link KeyLocationCache} must fail where the engine's reader passes.
 */
class LocationReaderMutantsTest {
  /** The keys: at their densest three leaves hold all of them, at their sparsest thirty. */
  private static final int KEYS = 1200;

  private static final int STEPS = 4000;

  /** Readers that trust a location without one of the checks. */
  enum Mutant implements LocationReader {
    /** Assumes that a matching tag means the same key. */
    TAG_FOR_KEY {
      @Override
      boolean read(BTree tree, MemorySegment key, int len, Position p, long base) {
        p.found = p.slot < BTreeNode.leafCount(tree.pool().pages(), base, PAGE);
        return p.found;
      }
    },
    /** Treats a set without the tag as proof that the key is absent. */
    ABSENT_FROM_AN_EMPTY_WAY {
      @Override
      boolean nothing() {
        return true;
      }
    },
    /** Treats another key in the slot as proof that the key is absent. */
    ABSENT_FROM_ANOTHER_KEY {
      @Override
      boolean read(BTree tree, MemorySegment key, int len, Position p, long base) {
        Position right = new Position();
        tree.find(key, 0, len, right);
        p.found = right.found && right.pid == p.pid && right.slot == p.slot;
        return true;
      }
    },
    /** Searches the page without checking its fences. */
    WITHOUT_FENCES {
      @Override
      boolean read(BTree tree, MemorySegment key, int len, Position p, long base) {
        return search(NodeSearch.searchLeaf(tree.pool().pages(), base, PAGE, key, 0, len), p);
      }
    },
    /** Accepts a page of any tree. */
    ANY_TREE {
      @Override
      boolean isOf(int owner, BTree tree) {
        return true;
      }

      @Override
      boolean read(BTree tree, MemorySegment key, int len, Position p, long base) {
        MemorySegment s = tree.pool().pages();
        int owner = PageHeader.treeId(s, base);
        return search(NodeSearch.searchHinted(s, base, PAGE, owner, p.slot, key, 0, len), p);
      }
    };

    private static final int PAGE = 4096;

    boolean nothing() {
      return false;
    }

    boolean isOf(int owner, BTree tree) {
      return owner == tree.treeId();
    }

    /** Reads the leaf of a location; returns whether to trust the result. */
    boolean read(BTree tree, MemorySegment key, int len, Position p, long base) {
      return false;
    }

    static boolean search(int found, Position p) {
      p.slot = found >>> 1;
      p.found = (found & 1) != 0;
      return found >= 0;
    }

    @Override
    public boolean find(
        KeyLocationCache places,
        BTree tree,
        long hash,
        MemorySegment key,
        long off,
        int len,
        Position p,
        int bytes) {
      BufferPool pool = tree.pool();
      places.setHint(tree, hash, p);
      if (p.pid == 0 && nothing()) {
        tree.find(key, off, len, p);
        p.found = false;
        return true;
      }
      int frame = p.pid == 0 ? -1 : pool.resident(p.pid);
      p.version = frame < 0 ? BufferPool.RESTART : pool.optimistic(frame, p.pid);
      if (p.version != BufferPool.RESTART) {
        p.frame = frame;
        long base = pool.base(frame);
        if (PageHeader.type(pool.pages(), base) == PageHeader.LEAF
            && isOf(PageHeader.treeId(pool.pages(), base), tree)
            && read(tree, key, len, p, base)) {
          return true;
        }
      }
      return places.find(tree, hash, key, off, len, p, bytes);
    }
  }

  private static byte[] key(int i) {
    return TestTree.bytes((long) i << 32);
  }

  /** Contains the key, with a different length for each key. */
  private static byte[] value(byte[] key, int i) {
    return Arrays.copyOf(key, key.length + i % 90);
  }

  /** Inserts and deletes keys; leaves split and merge, and pages move to another tree. */
  private static void play(LocationReader reader, Translation translation, boolean few) {
    int frames = translation == Translation.DIRECT ? 600 : 64;
    try (TestTree t = new TestTree(4096, frames, translation)) {
      Random random = new Random(1);
      for (int i = 0; i < KEYS; i += 2) {
        t.put(key(i), value(key(i), i)); // and no other thread has seen it
      }
      t.cachingLocations(reader, few);
      for (int n = 0; n < STEPS; n++) {
        int i = random.nextInt(KEYS);
        byte[] key = key(i);
        boolean growing = n / (STEPS / 4) % 2 == 0;
        switch (random.nextInt(5)) {
          case 0, 1 -> t.checkGet(key);
          case 2 -> {
            if (growing) {
              t.delete(key);
            } else {
              t.put(key, value(key, i));
            }
          }
          default -> {
            if (growing) {
              t.put(key, value(key, i));
            } else {
              t.delete(key);
            }
          }
        }
      }
      for (int i = 0; i < KEYS; i++) {
        t.put(key(i), value(key(i), i));
        t.checkGet(key(i));
      }
      t.checkAll();
      for (int i = 0; i < KEYS; i++) {
        t.delete(key(i));
      }
      BTree other = BTree.create(t.pool, TestTree.TREE_ID + 1, LogSession.NONE);
      Position p = new Position();
      for (int i = 0; i < KEYS; i++) {
        byte[] key = key(i);
        int len = t.staging.key(key);
        Mem.putBytes(t.staging.value, 0, key, 0, len);
        Writes.upsert(other, t.staging.key, 0, len, t.staging.value, 0, len, p);
      }
      for (int i = 0; i < KEYS; i++) {
        t.checkGet(key(i));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void isDetected(Mutant mutant) {
    assertThrows(
        AssertionError.class,
        () -> {
          play(mutant, Translation.PREDICTIVE, true);
          play(mutant, Translation.PREDICTIVE, false);
        });
  }

  @ParameterizedTest
  @EnumSource
  void theEngineReaderIsCorrect(Translation translation) {
    play(KeyLocationCache::find, translation, true);
    play(KeyLocationCache::find, translation, false);
  }
}
