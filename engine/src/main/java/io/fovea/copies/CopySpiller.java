package io.fovea.copies;

import io.fovea.error.FoveaException;
import io.fovea.io.IoBatch;

/**
 * Moves copies from memory to the file, so that there is room in memory for the next ones.
 *
 * <pre>
 *   slots   0 1 2 3 4 5 6 7 ...        a hand goes round; begins where it stopped
 *             └──┬──┘
 *            a batch: sealed, written ─► the table names the file ─► slots free
 * </pre>
 *
 * <p>A copy does not change, and is read in memory until the table names the file: under the lock
 * of its stripe, so no reader is in a slot that is given back. One thread, which holds the lock of
 * {@link PageCopies}: no copy goes meanwhile.
 */
final class CopySpiller {
  private static final int BATCH = 32;

  private final CopyArea area;
  private final CopyTable table;
  private final PageSeal seal;
  private final int pageSize;
  private final IoBatch batch = new IoBatch(BATCH);
  private final int[] slots = new int[BATCH];
  private final long[] places = new long[BATCH];
  private int hand;

  CopySpiller(CopyArea area, CopyTable table, PageSeal seal, int pageSize) {
    this.area = area;
    this.table = table;
    this.seal = seal;
    this.pageSize = pageSize;
  }

  /** Whether more than half of the memory is taken. */
  boolean isDue() {
    return area.freeSlots() < area.slots() / 2;
  }

  /**
   * Moves some copies.
   *
   * @return whether any were moved: else there is no room in the file, or it can't be written
   */
  boolean spill() {
    batch.clear();
    for (int looked = 0, n = area.slots(); looked < n && !batch.isFull(); looked++) {
      int slot = hand;
      hand = slot + 1 == n ? 0 : slot + 1;
      long place = area.pid(slot) == 0 || !sealed(slot) ? 0 : area.takeInFile();
      if (place != 0) {
        int i =
            batch.write(area.fileOffset(place), area.memory(), (long) slot * pageSize, pageSize);
        slots[i] = slot;
        places[i] = place;
      }
    }
    return batch.size() > 0 && write();
  }

  /** Seals the copy in a slot; false where it is not in the table yet. */
  private boolean sealed(int slot) {
    long pid = area.pid(slot);
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      boolean there = stripe.has(pid, area.label(slot), CopyArea.placeOf(slot));
      if (there) {
        seal.seal(area.memory(), (long) slot * pageSize);
      }
      return there;
    } finally {
      stripe.lock.unlock();
    }
  }

  private boolean write() {
    int n = batch.size();
    boolean begun = false;
    try {
      area.file().run(batch);
      begun = true;
    } catch (FoveaException e) {
      return false;
    } finally {
      // Where a device throws it has begun nothing: nobody writes there any more.
      for (int i = 0; i < n && !begun; i++) {
        area.give(places[i]);
      }
    }
    boolean some = false;
    for (int i = 0; i < n; i++) {
      if (batch.error(i) != 0) {
        area.give(places[i]);
      } else {
        moved(slots[i], places[i]);
        some = true;
      }
    }
    return some;
  }

  private void moved(int slot, long place) {
    long pid = area.pid(slot);
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      stripe.move(pid, area.label(slot), CopyArea.placeOf(slot), place);
      area.give(CopyArea.placeOf(slot));
    } finally {
      stripe.lock.unlock();
    }
  }
}
