package io.fovea.btree;

import io.fovea.memory.Blocks;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What a change of structure needs beside the pages: a page to copy to, and room for keys.
 *
 * <p>Belongs to whoever took it from the {@link Stock} of the tree until it is given back.
 */
final class TreeScratch {
  final MemorySegment page;
  final KeyBuffer key;
  final KeyBuffer left;
  final KeyBuffer right;
  final KeyBuffer separator;

  /**
   * Whether the key for which a leaf is split goes left although its slot is the first right one.
   */
  boolean keyGoesLeft;

  /** Whether a split has changed pages: whatever comes now, the new one is in use. */
  boolean changed;

  /** The page of two leaves that were merged and have no record; otherwise 0. */
  long emptied;

  /** Where the parent of the node that is changed is. */
  final Position parent = new Position();

  /** Leaves that were passed without a key, and their versions: see {@link Successor}. */
  int[] passedFrames = new int[8];

  long[] passedVersions = new long[8];

  private TreeScratch(int pageSize, Blocks memory) {
    page = memory.take(pageSize + BTreeNode.SLACK);
    int keyMax = BTreeNode.keyMax(pageSize);
    key = new KeyBuffer(keyMax, memory);
    left = new KeyBuffer(keyMax, memory);
    right = new KeyBuffer(keyMax, memory);
    // One more: a separator may be tried that is a byte longer than the key it is made from.
    separator = new KeyBuffer(keyMax + 1, memory);
  }

  private void free(Blocks memory) {
    memory.give(page);
    key.free(memory);
    left.free(memory);
    right.free(memory);
    separator.free(memory);
  }

  private long bytes() {
    return page.byteSize()
        + key.segment().byteSize()
        + left.segment().byteSize()
        + right.segment().byteSize()
        + separator.segment().byteSize();
  }

  /**
   * The scratches of one tree: as many as were ever in use at once, up to a few; more are made when
   * needed and given back after use. Taking and giving back are one atomic exchange each.
   */
  static final class Stock {
    private static final int KEPT = 4;

    private final AtomicReferenceArray<@Nullable TreeScratch> kept =
        new AtomicReferenceArray<>(KEPT);
    private final int pageSize;
    private final Blocks memory;

    Stock(int pageSize, Blocks memory) {
      this.pageSize = pageSize;
      this.memory = memory;
    }

    /** One of the kept ones, or a new one. Nothing is latched: a new one needs memory. */
    TreeScratch take() {
      TreeScratch scratch = tryTake();
      return scratch != null ? scratch : new TreeScratch(pageSize, memory);
    }

    /** One of the kept ones, or null: allocates nothing. */
    @Nullable TreeScratch tryTake() {
      for (int i = 0; i < KEPT; i++) {
        if (kept.getPlain(i) != null) {
          TreeScratch scratch = kept.getAndSet(i, null);
          if (scratch != null) {
            return scratch;
          }
        }
      }
      return null;
    }

    /** The native memory of those that nobody uses now. */
    long bytes() {
      long bytes = 0;
      for (int i = 0; i < KEPT; i++) {
        TreeScratch scratch = kept.get(i);
        bytes += scratch == null ? 0 : scratch.bytes();
      }
      return bytes;
    }

    void give(TreeScratch scratch) {
      for (int i = 0; i < KEPT; i++) {
        if (kept.getPlain(i) == null && kept.compareAndSet(i, null, scratch)) {
          return;
        }
      }
      scratch.free(memory);
    }

    /** Gives the memory of the kept ones back: the tree is not used any more. */
    void free() {
      for (int i = 0; i < KEPT; i++) {
        TreeScratch scratch = kept.getAndSet(i, null);
        if (scratch != null) {
          scratch.free(memory);
        }
      }
    }
  }
}
