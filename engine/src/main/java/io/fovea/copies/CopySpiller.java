package io.fovea.copies;

import io.fovea.error.FoveaException;
import io.fovea.io.IoBatch;

/**
 * Moves copies from memory to the file, so that memory is available for the next ones.
 *
 * <pre>
 *   slots   0 1 2 3 4 5 6 7 ...        a clock hand; continues where it stopped
 *             └──┬──┘
 *            a batch: sealed, written ─► the table refers to the file ─► slots free
 * </pre>
 *
 * <p>A copy does not change. It is read in memory until the table refers to the file, which changes
 * under the lock of its stripe, so no reader uses a slot that is freed. One thread, which holds the
 * lock of {@link PageCopies}, so no copy is dropped at the same time.
 */
final class CopySpiller {
  private static final int BATCH = 32;

  private final CopyArea area;
  private final CopyTable table;
  private final PageSeal seal;
  private final int pageSize;
  private final IoBatch batch = new IoBatch(BATCH);
  private final int[] slots = new int[BATCH];
  private final long[] locations = new long[BATCH];
  private int hand;

  CopySpiller(CopyArea area, CopyTable table, PageSeal seal, int pageSize) {
    this.area = area;
    this.table = table;
    this.seal = seal;
    this.pageSize = pageSize;
  }

  /** Returns whether more than half of the memory is used. */
  boolean isDue() {
    return area.freeSlots() < area.slots() / 2;
  }

  /**
   * Moves a batch of copies.
   *
   * @return whether any were moved; if not, the file has no space or cannot be written
   */
  boolean spill() {
    batch.clear();
    for (int examined = 0, n = area.slots(); examined < n && !batch.isFull(); examined++) {
      int slot = hand;
      hand = slot + 1 == n ? 0 : slot + 1;
      long location = area.pid(slot) == 0 || !sealed(slot) ? 0 : area.takeInFile();
      if (location != 0) {
        int i =
            batch.write(area.fileOffset(location), area.memory(), (long) slot * pageSize, pageSize);
        slots[i] = slot;
        locations[i] = location;
      }
    }
    return batch.size() > 0 && write();
  }

  /** Seals the copy in a slot; returns false if it is not in the table yet. */
  private boolean sealed(int slot) {
    long pid = area.pid(slot);
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      boolean live = stripe.has(pid, area.label(slot), CopyArea.locationOf(slot));
      if (live) {
        seal.seal(area.memory(), (long) slot * pageSize);
      }
      return live;
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
      // If the device throws, it has started nothing, so no write to these slots is in progress.
      for (int i = 0; i < n && !begun; i++) {
        area.release(locations[i]);
      }
    }
    boolean some = false;
    for (int i = 0; i < n; i++) {
      if (batch.error(i) != 0) {
        area.release(locations[i]);
      } else {
        moved(slots[i], locations[i]);
        some = true;
      }
    }
    return some;
  }

  private void moved(int slot, long location) {
    long pid = area.pid(slot);
    CopyTable.Stripe stripe = table.stripe(pid);
    stripe.lock.lock();
    try {
      stripe.move(pid, area.label(slot), CopyArea.locationOf(slot), location);
      area.release(CopyArea.locationOf(slot));
    } finally {
      stripe.lock.unlock();
    }
  }
}
