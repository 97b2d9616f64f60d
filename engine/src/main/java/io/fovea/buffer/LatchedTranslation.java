package io.fovea.buffer;

import io.fovea.memory.Mem;

/**
 * The traditional pool, the paper's baseline: a reader-writer spin latch per bucket of a chained
 * table, and three dependent accesses (bucket, header, page).
 *
 * <p>The table is that of {@link ChainedTranslation}; its latch counts readers, and is -1 while a
 * writer holds it.
 *
 * <p><b>Cost.</b> Two atomic writes to the bucket's line per access, by every thread.
 */
final class LatchedTranslation {
  private LatchedTranslation() {}

  static int predict(Translator t, long pid) {
    return Math.max(0, lookup(t, pid));
  }

  static int lookup(Translator t, long pid) {
    int bucket = t.bucket(pid);
    long latch = ChainedTranslation.at(bucket) + ChainedTranslation.LATCH;
    lockShared(t, latch);
    try {
      return ChainedTranslation.find(t, bucket, pid, Translator.EXACT);
    } finally {
      Mem.getAndAddInt(t.table, latch, -1);
    }
  }

  private static void lockShared(Translator t, long latch) {
    for (int round = 0; ; round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1)) {
      int readers = Mem.getIntOpaque(t.table, latch);
      if (readers >= 0 && Mem.casInt(t.table, latch, readers, readers + 1)) {
        return;
      }
    }
  }
}
