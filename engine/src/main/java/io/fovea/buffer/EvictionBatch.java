package io.fovea.buffer;

import io.fovea.memory.DropList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Pages that are evicted together: frames latched exclusively and emptied, and their memory to
 * release. Reusable; owned by one thread at a time.
 *
 * <pre>
 *   finder:  claimCold ─ add ─ claimCold ─ add ...  ──►  Residency.take, or .unclaim
 *                                                        memory of all, grants of all, latches
 * </pre>
 */
final class EvictionBatch {
  final int[] frames;

  /** Releases the memory; null if pages leave one by one, or never. */
  final @Nullable DropList memory;

  private int size;

  private int slot;

  EvictionBatch(int max, @Nullable DropList memory) {
    this.frames = new int[max];
    this.memory = memory;
  }

  int size() {
    return size;
  }

  boolean isFull() {
    return size == frames.length;
  }

  /** Adds a frame that is latched exclusively and has no page; the batch is not full. */
  void add(int frame) {
    frames[size++] = frame;
  }

  void clear() {
    size = 0;
  }

  /**
   * Batches for threads that miss. A thread that finds all of them in use evicts a single page and
   * does not wait.
   *
   * <p>There is one per processor, or fewer if all of them together could empty a quarter of the
   * pool. A thread's writes to a batch are visible to the next one: {@link #putBack} is a volatile
   * store, {@link #borrow} a read-modify-write.
   */
  static final class Lists {
    private static final int MOST = 32;

    private final AtomicReferenceArray<@Nullable EvictionBatch> lists;

    Lists(Residency residency) {
      int together = residency.evictionBatchSize();
      int max = residency.maxResidents() / 4 / together;
      int wanted = Math.clamp(Runtime.getRuntime().availableProcessors(), 2, MOST);
      int n = together == 1 ? 0 : Math.clamp(max, 1, wanted);
      lists = new AtomicReferenceArray<>(n);
      for (int i = 0; i < n; i++) {
        EvictionBatch list = residency.newBatch();
        list.slot = i;
        lists.set(i, list);
      }
    }

    int count() {
      return lists.length();
    }

    @Nullable EvictionBatch borrow() {
      int n = lists.length();
      if (n == 0) {
        return null;
      }
      int at = (int) Long.remainderUnsigned(Thread.currentThread().threadId(), n);
      for (int i = 0; i < n; i++) {
        if (lists.getPlain(at) != null) {
          EvictionBatch list = lists.getAndSet(at, null);
          if (list != null) {
            return list;
          }
        }
        at = at + 1 == n ? 0 : at + 1;
      }
      return null;
    }

    void putBack(EvictionBatch list) {
      list.clear();
      lists.set(list.slot, list);
    }
  }
}
