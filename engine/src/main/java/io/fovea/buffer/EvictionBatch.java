package io.fovea.buffer;

import io.fovea.memory.DropList;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Pages that leave together: frames that their finder has latched exclusively and emptied, and how
 * their memory goes back. Made once and used again and again, by one thread at a time.
 *
 * <pre>
 *   finder:  claimCold ─ add ─ claimCold ─ add ...  ──►  Residency.take, or .giveBack
 *                                                        memory of all, rights of all, latches
 * </pre>
 */
final class EvictionBatch {
  /** The frames; in no order. */
  final int[] frames;

  /** How the memory goes; null where pages leave one by one, or where none leaves. */
  final @Nullable DropList memory;

  private int size;

  /** Where it lies in {@link Lists}. */
  private int slot;

  EvictionBatch(int most, @Nullable DropList memory) {
    this.frames = new int[most];
    this.memory = memory;
  }

  int size() {
    return size;
  }

  boolean full() {
    return size == frames.length;
  }

  /** Adds a frame that is latched exclusively, without a page; there is room. */
  void add(int frame) {
    frames[size++] = frame;
  }

  void clear() {
    size = 0;
  }

  /**
   * Some lists, for threads that miss. Who finds all of them lent evicts one page alone, and waits
   * for nobody.
   *
   * <p>There are as many as processors, and fewer where the lists together could empty a quarter of
   * the pool. What a thread writes to a list is there for the next one: {@link #giveBack} is a
   * volatile store, {@link #borrow} a read-modify-write.
   */
  static final class Lists {
    private static final int MOST = 32;

    private final AtomicReferenceArray<@Nullable EvictionBatch> lists;

    /** None, where pages leave one by one. */
    Lists(Residency residency) {
      int together = residency.together();
      int most = residency.places() / 4 / together;
      int wanted = Math.clamp(Runtime.getRuntime().availableProcessors(), 2, MOST);
      int n = together == 1 ? 0 : Math.clamp(most, 1, wanted);
      lists = new AtomicReferenceArray<>(n);
      for (int i = 0; i < n; i++) {
        EvictionBatch list = residency.newLeaving();
        list.slot = i;
        lists.set(i, list);
      }
    }

    /** How many there are, lent or not. */
    int count() {
      return lists.length();
    }

    /** An empty list; null where there is none. */
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

    /** Gives a list back; what is in it is forgotten. */
    void giveBack(EvictionBatch list) {
      list.clear();
      lists.set(list.slot, list);
    }
  }
}
