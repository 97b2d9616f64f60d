package io.fovea.recovery;

import java.util.ArrayDeque;

/**
 * Maps distances between log positions to space in the log's file.
 *
 * <pre>
 *   position   1000     1400     1800     5000            a group fills whole blocks,
 *   written       0     4096     8192    12288            so small commits take more of the file
 * </pre>
 *
 * <p>Samples are taken from time to time; between two of them the lower one is used, so the space
 * after a position is never underestimated. Used by one thread.
 */
final class LogSpaceAccounting {
  private record Sample(long lsn, long written) {}

  private final long grain;
  private final ArrayDeque<Sample> samples = new ArrayDeque<>();
  private long written;

  /**
   * Creates an instance without samples.
   *
   * @param grain the minimum number of file bytes between two samples
   */
  LogSpaceAccounting(long grain) {
    this.grain = grain;
  }

  /**
   * Adds a sample of the current state. Before the first sample, the file space is assumed to equal
   * the log bytes.
   *
   * @param redo the position at which replay would begin
   * @param tail where the next record goes
   * @param bytes the bytes written to the file since it was opened
   */
  void sample(long redo, long tail, long bytes) {
    written = bytes;
    if (samples.isEmpty()) {
      samples.add(new Sample(redo, bytes - (tail - redo)));
    }
    if (bytes - samples.getLast().written >= grain && tail > samples.getLast().lsn) {
      samples.add(new Sample(tail, bytes));
    }
  }

  /** Returns the file space after a position, and discards samples before it. */
  long bytesAfter(long lsn) {
    Sample last = samples.pollFirst();
    if (last == null) {
      return 0;
    }
    for (Sample next = samples.peekFirst();
        next != null && next.lsn <= lsn;
        next = samples.peekFirst()) {
      last = next;
      samples.removeFirst();
    }
    samples.addFirst(last);
    return written - last.written;
  }

  /**
   * Returns a position after which there is no more than the given file space.
   *
   * @param bytes the file space
   * @param tail where the next record goes
   */
  long position(long bytes, long tail) {
    for (Sample s : samples) {
      if (written - s.written <= bytes) {
        return s.lsn;
      }
    }
    return tail;
  }
}
