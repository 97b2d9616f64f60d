package io.fovea.tpcc.lookups;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Which records are looked up at each moment of a run. Records are numbered in the order of their
 * keys, and the working set is a range of them, which goes on at the beginning when it passes the
 * end.
 *
 * <pre>
 *   0          first                  first + size             records
 *   |----------|######################|------------------------|
 *               ───────► drift              ────────► grow
 *                                           ◄──────── shrink
 * </pre>
 *
 * <p>Values that depend on the time alone, so that what a run did can be said without having run
 * it. Any thread.
 */
sealed interface WorkingSet {
  /**
   * So many records from this one on.
   *
   * @param first from 0
   * @param size at least 1
   */
  record Range(long first, long size) {}

  /**
   * A moment at which something changes.
   *
   * @param nanos from the beginning of the measured time
   * @param text what a plot says there
   */
  record Mark(long nanos, String text) {}

  /**
   * The range at a moment.
   *
   * @param nanos from the beginning of the measured time
   */
  Range at(long nanos);

  /** The next moment after this one at which the range is another; MAX_VALUE where none is. */
  long nextChange(long nanos);

  /** What is worth a mark in a measured time of such a length, in order. */
  List<Mark> marks(long durationNanos);

  /** The largest that it will be. */
  long sizeMax();

  /** Always the same records. */
  record Fixed(long size) implements WorkingSet {
    @Override
    public Range at(long nanos) {
      return new Range(0, size);
    }

    @Override
    public long nextChange(long nanos) {
      return Long.MAX_VALUE;
    }

    @Override
    public List<Mark> marks(long durationNanos) {
      return List.of();
    }

    @Override
    public long sizeMax() {
      return size;
    }
  }

  /**
   * A set that grows (or shrinks) at a steady pace over the whole time, or that is back where it
   * began at the end.
   *
   * <pre>
   *   to    .          ____
   *         .        /      \
   *   from  .______/          \____     with back: the parts of the time are
   *         0     .4  .5    .9    1
   * </pre>
   *
   * @param from the size at the beginning
   * @param to the size at the end, or in the middle
   * @param back whether it goes back
   * @param durationNanos the measured time
   * @param poolRecords how many records the pool holds: to pass it is worth a mark
   */
  record Growing(long from, long to, boolean back, long durationNanos, long poolRecords)
      implements WorkingSet {
    /** How often the size follows the line. */
    static final long STEP_NANOS = 50_000_000;

    /** Where the parts end, with a way back: grown, still grown, back. */
    private static final double[] PARTS = {0.4, 0.5, 0.9};

    private double moved(double time) {
      double t = Math.clamp(time, 0.0, 1.0);
      if (!back) {
        return t;
      }
      if (t < PARTS[1]) {
        return Math.min(1, t / PARTS[0]);
      }
      return Math.max(0, 1 - (t - PARTS[1]) / (PARTS[2] - PARTS[1]));
    }

    @Override
    public Range at(long nanos) {
      double moved = moved((double) nanos / durationNanos);
      return new Range(0, from + Math.round((to - from) * moved));
    }

    @Override
    public long nextChange(long nanos) {
      if (nanos >= durationNanos) {
        return Long.MAX_VALUE;
      }
      return nanos < 0 ? 0 : (nanos / STEP_NANOS + 1) * STEP_NANOS;
    }

    @Override
    public List<Mark> marks(long duration) {
      List<Mark> marks = new ArrayList<>();
      double passes = (double) (poolRecords - from) / (to - from);
      boolean passed = passes > 0 && passes < 1;
      if (passed) {
        mark(marks, back ? PARTS[0] * passes : passes, "as large as the pool");
      }
      if (back) {
        mark(marks, PARTS[0], text(to));
        mark(marks, PARTS[1], to > from ? "shrinks" : "grows");
        if (passed) {
          double away = 1 - passes;
          mark(marks, PARTS[1] + (PARTS[2] - PARTS[1]) * away, "as large as the pool");
        }
        mark(marks, PARTS[2], text(from));
      }
      return marks;
    }

    private void mark(List<Mark> marks, double time, String text) {
      marks.add(new Mark((long) (time * durationNanos), text));
    }

    private String text(long size) {
      return String.format(Locale.ROOT, "%.2f of the pool", (double) size / poolRecords);
    }

    @Override
    public long sizeMax() {
      return Math.max(from, to);
    }
  }

  /**
   * A set of constant size of which a part is replaced at intervals: the records that were in it
   * longest leave, as many new ones come (Graefe et al., "In-Memory Performance for Big Data", VLDB
   * 2015, 5.3.3).
   *
   * @param records how many there are
   * @param size how many are in the set
   * @param step how many of them are replaced at a time, size + step &lt;= records
   * @param intervalNanos the time between two replacements
   */
  record Drifting(long records, long size, long step, long intervalNanos) implements WorkingSet {
    @Override
    public Range at(long nanos) {
      long times = Math.max(0, nanos) / intervalNanos;
      return new Range(Math.multiplyExact(times, step) % records, size);
    }

    @Override
    public long nextChange(long nanos) {
      return (Math.max(0, nanos) / intervalNanos + 1) * intervalNanos;
    }

    @Override
    public List<Mark> marks(long duration) {
      List<Mark> marks = new ArrayList<>();
      String text = String.format(Locale.ROOT, "%.0f %% replaced", 100.0 * step / size);
      for (long nanos = intervalNanos; nanos < duration; nanos += intervalNanos) {
        marks.add(new Mark(nanos, text));
      }
      return marks;
    }

    @Override
    public long sizeMax() {
      return size;
    }
  }
}
