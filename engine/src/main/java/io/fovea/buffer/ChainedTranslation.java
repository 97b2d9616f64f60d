package io.fovea.buffer;

import io.fovea.memory.Mem;

/**
 * A chaining hash table without inlined slots: a bucket is the head of a chain of frames, linked
 * through their header lines. Readers take no latch.
 *
 * <pre>
 *   0          4          8
 *   +----------+----------+
 *   | chain    | latch    |     two buckets for each frame
 *   +----------+----------+
 * </pre>
 *
 * <p><b>Cost.</b> Bucket, header (which names the page), page: the CPU may speculate past the
 * header, but not past the bucket.
 */
final class ChainedTranslation {
  static final int BUCKET_BYTES = 8;
  static final int CHAIN = 0;
  static final int LATCH = 4;

  private ChainedTranslation() {}

  static long at(int bucket) {
    return (long) bucket * BUCKET_BYTES;
  }

  static int predict(Translator t, long pid) {
    return Math.max(0, find(t, t.bucket(pid), pid, Translator.STEPS_MAX));
  }

  static int find(Translator t, int bucket, long pid, int steps) {
    return t.walk(Mem.getIntOpaque(t.table, at(bucket) + CHAIN), pid, steps);
  }

  static void insert(Translator t, int bucket, int frame) {
    t.push(at(bucket) + CHAIN, frame);
  }

  static void remove(Translator t, int bucket, int frame) {
    t.unlink(at(bucket) + CHAIN, frame);
  }
}
