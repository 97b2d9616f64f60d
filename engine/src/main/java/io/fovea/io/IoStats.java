package io.fovea.io;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of a device's operations. They are striped, since many threads count concurrently; a sum
 * read meanwhile is approximate.
 *
 * <p>Any thread may read; only devices write.
 *
 * @since 0.1.0
 */
public final class IoStats {
  private static final int OPS = IoOp.values().length;

  private final LongAdder[] counts = adders();
  private final LongAdder[] bytes = adders();
  private final LongAdder[] errors = adders();
  private final LongAdder batches = new LongAdder();
  private final LongAdder bounces = new LongAdder();

  public IoStats() {}

  private static LongAdder[] adders() {
    LongAdder[] adders = new LongAdder[OPS];
    for (int i = 0; i < OPS; i++) {
      adders[i] = new LongAdder();
    }
    return adders;
  }

  /**
   * Returns how often an operation was performed, including failures.
   *
   * @param op the operation
   */
  public long count(IoOp op) {
    return counts[op.ordinal()].sum();
  }

  /**
   * Returns the bytes transferred by successful operations.
   *
   * @param op a read or a write
   * @return bytes
   */
  public long bytes(IoOp op) {
    return bytes[op.ordinal()].sum();
  }

  /**
   * Returns how often an operation failed.
   *
   * @param op the operation
   */
  public long errors(IoOp op) {
    return errors[op.ordinal()].sum();
  }

  /** Returns how many batches were started. */
  public long batches() {
    return batches.sum();
  }

  /** Returns how many transfers took a copy because their memory was not aligned. */
  public long bounces() {
    return bounces.sum();
  }

  /**
   * Counts one operation. For devices.
   *
   * @param op the operation
   * @param len the number of bytes that it was to transfer
   * @param errno 0, or why it failed
   */
  public void record(IoOp op, long len, int errno) {
    add(counts[op.ordinal()], 1);
    if (errno != 0) {
      add(errors[op.ordinal()], 1);
    } else if (len > 0) {
      add(bytes[op.ordinal()], len);
    }
  }

  void recordBatch() {
    add(batches, 1);
  }

  void recordBounce() {
    add(bounces, 1);
  }

  /** Adds to a counter. A contended counter allocates; if memory runs out, it loses counts. */
  private static void add(LongAdder counter, long n) {
    try {
      counter.add(n);
    } catch (Error e) {
      // An operation in progress must not fail here: its caller must see it complete.
    }
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (IoOp op : IoOp.values()) {
      text.append(op.word()).append("s ").append(count(op));
      if (op == IoOp.READ || op == IoOp.WRITE) {
        text.append(" (").append(bytes(op)).append(" bytes)");
      }
      if (errors(op) > 0) {
        text.append(", failed ").append(errors(op));
      }
      text.append("; ");
    }
    return text.append("batches ")
        .append(batches())
        .append("; bounces ")
        .append(bounces())
        .toString();
  }
}
