package io.fovea.buffer;

import io.fovea.memory.Hash;
import io.fovea.memory.Mem;

/**
 * A chaining hash table whose first slot is inlined in the bucket; readers take no latch.
 *
 * <pre>
 *   0                     8          12         16
 *   +---------------------+----------+----------+
 *   | tag << 32 | frame+1 | chain    | latch    |     two buckets for each frame
 *   +---------------------+----------+----------+
 *     tag = the low half of the page id's hash; the bucket comes from the high half
 * </pre>
 *
 * <p>The paper's readers validate a version of the bucket. Here an entry is a hint that the frame's
 * header confirms or refutes, so there is nothing to validate.
 *
 * <p><b>Cost.</b> Bucket, then page and header together: two dependent misses.
 */
final class OptimisticTranslation {
  static final int BUCKET_BYTES = 16;
  static final int ENTRY = 0;
  static final int CHAIN = 8;
  static final int LATCH = 12;

  private OptimisticTranslation() {}

  static long at(int bucket) {
    return (long) bucket * BUCKET_BYTES;
  }

  static long tag(long hash) {
    return hash << 32;
  }

  /**
   * Returns the frame of the bucket's entry if the tag matches, otherwise the result of a full
   * search.
   */
  static int predict(Translator t, long pid) {
    long hash = Hash.spread(pid);
    long entry = Mem.getLongOpaque(t.table, at(Translator.scale(hash, t.buckets)) + ENTRY);
    if (entry != 0 && (entry ^ tag(hash)) >>> 32 == 0) {
      return (int) entry - 1;
    }
    return predictByChain(t, hash, pid);
  }

  /** Returns a legal frame even if the page is in none. */
  static int predictByChain(Translator t, long hash, long pid) {
    long bucket = at(Translator.scale(hash, t.buckets));
    return Math.max(
        0, t.walk(Mem.getIntOpaque(t.table, bucket + CHAIN), pid, Translator.STEPS_MAX));
  }

  static int find(Translator t, int bucket, long pid, int steps) {
    long entry = Mem.getLongOpaque(t.table, at(bucket) + ENTRY);
    if (entry != 0 && (entry ^ tag(Hash.spread(pid))) >>> 32 == 0) {
      int frame = (int) entry - 1;
      if (FrameHeader.pid(t.headers, frame) == pid) {
        return frame;
      }
    }
    return t.walk(Mem.getIntOpaque(t.table, at(bucket) + CHAIN), pid, steps);
  }

  static void insert(Translator t, int bucket, long pid, int frame) {
    if (Mem.getLongOpaque(t.table, at(bucket) + ENTRY) == 0) {
      Mem.putLongRelease(t.table, at(bucket) + ENTRY, tag(Hash.spread(pid)) | frame + 1);
    } else {
      t.push(at(bucket) + CHAIN, frame);
    }
  }

  static void remove(Translator t, int bucket, int frame) {
    if ((int) Mem.getLongOpaque(t.table, at(bucket) + ENTRY) != frame + 1) {
      t.unlink(at(bucket) + CHAIN, frame);
      return;
    }
    int link = Mem.getIntOpaque(t.table, at(bucket) + CHAIN);
    if (link == 0) {
      Mem.putLongRelease(t.table, at(bucket) + ENTRY, 0);
      return;
    }
    // The entry first: a reader that passed it too early may still find the page in the chain.
    long pid = FrameHeader.pid(t.headers, link - 1);
    Mem.putLongRelease(t.table, at(bucket) + ENTRY, tag(Hash.spread(pid)) | link);
    Mem.putIntRelease(t.table, at(bucket) + CHAIN, FrameHeader.next(t.headers, link - 1));
  }
}
