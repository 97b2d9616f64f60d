package io.fovea.wal;

import io.fovea.error.StorageFullException;

/**
 * Makes slots ahead of need and cuts off surplus ones: the thread "fovea-log-spare".
 *
 * <p>The writer does not do this because filling a segment takes as long as hundreds of groups.
 * Lack of space is reported and retried; any other failure ends the log, since a failed sync may
 * concern the writer's groups.
 */
final class SegmentPreallocator implements Runnable {
  private final SegmentSlots slots;
  private final SegmentSpace space;
  private final Log log;

  SegmentPreallocator(SegmentFile file, Log log) {
    this.slots = file.slots();
    this.space = file.space();
    this.log = log;
  }

  @Override
  public void run() {
    try {
      while (slots.awaitNeed()) {
        slots.trim();
        long questions = space.requests();
        if (!space.isShort(questions)) {
          continue;
        }
        try {
          slots.answer(questions, slots.make(log::isStopping), null);
          log.space().changed();
        } catch (StorageFullException e) {
          slots.answer(questions, -1, e);
        }
      }
    } catch (Throwable t) {
      log.fail(t);
    }
  }
}
