package io.fovea.btree;

import io.fovea.memory.Blocks;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Memory for a structure change: a page copy and key buffers. Taken from the {@link Stock} of the
 * tree and returned to it.
 */
final class TreeScratch {
  final MemorySegment page;
  final KeyBuffer key;
  final KeyBuffer left;
  final KeyBuffer right;
  final KeyBuffer separator;

  /**
   * Whether the key that causes a leaf split goes left although its slot is the first one on the
   * right.
   */
  boolean keyGoesLeft;

  /** Whether a split has changed pages, so that the new page is in use. */
  boolean changed;

  /** The page of a merged leaf without records, or 0. */
  long emptied;

  /** The parent of the changed node. */
  final Position parent = new Position();

  /** Passed leaves without a key, with their versions: see {@link Successor}. */
  final LeafVersions passed = new LeafVersions();

  private TreeScratch(int pageSize, Blocks memory) {
    page = memory.take(pageSize + BTreeNode.SLACK);
    int keyMax = BTreeNode.keyMax(pageSize);
    key = new KeyBuffer(keyMax, memory);
    left = new KeyBuffer(keyMax, memory);
    right = new KeyBuffer(keyMax, memory);
    // A candidate separator may be one byte longer than its key.
    separator = new KeyBuffer(keyMax + 1, memory);
  }

  private void free(Blocks memory) {
    memory.release(page);
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
   * The scratches of one tree: keeps a few and allocates others for the duration of their use.
   * Taking or releasing one is a single atomic exchange.
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

    /** Takes a scratch, allocating if necessary; nothing may be latched. */
    TreeScratch take() {
      TreeScratch scratch = tryTake();
      return scratch != null ? scratch : new TreeScratch(pageSize, memory);
    }

    /** Takes a kept scratch, or returns null; never allocates. */
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

    /** Returns the native memory of the kept scratches. */
    long bytes() {
      long bytes = 0;
      for (int i = 0; i < KEPT; i++) {
        TreeScratch scratch = kept.get(i);
        bytes += scratch == null ? 0 : scratch.bytes();
      }
      return bytes;
    }

    void release(TreeScratch scratch) {
      for (int i = 0; i < KEPT; i++) {
        if (kept.getPlain(i) == null && kept.compareAndSet(i, null, scratch)) {
          return;
        }
      }
      scratch.free(memory);
    }

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
