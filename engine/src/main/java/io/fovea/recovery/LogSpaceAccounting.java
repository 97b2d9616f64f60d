package io.fovea.recovery;

import java.util.ArrayDeque;

/**
 * How much of the log's file lies between two positions of the log.
 *
 * <pre>
 *   position   1000     1400     1800     5000            a group fills whole blocks, however little
 *   written       0     4096     8192    12288            is in it: small commits take more file
 * </pre>
 *
 * <p>Samples are taken now and then; between two of them the lower one counts, so that what lies
 * behind a position is never said to be less than it is. One thread.
 */
final class LogSpaceAccounting {
  private record Sample(long lsn, long written) {}

  private final long grain;
  private final ArrayDeque<Sample> samples = new ArrayDeque<>();
  private long written;

  /**
   * Knows nothing yet.
   *
   * @param grain how many bytes of the file lie between two samples at least
   */
  LogSpaceAccounting(long grain) {
    this.grain = grain;
  }

  /**
   * Where the log is now. What was there before the first sample is taken to be as large in the
   * file as it is in the log.
   *
   * @param redo replay would begin here
   * @param tail where the next record goes
   * @param bytes written to the file since it was opened
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

  /** How much of the file lies behind a position. What lies before it is forgotten. */
  long behind(long lsn) {
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
   * A position behind which there is no more of the file than so much.
   *
   * @param bytes how much
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
