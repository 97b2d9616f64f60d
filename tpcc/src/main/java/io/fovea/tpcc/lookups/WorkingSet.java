package io.fovea.tpcc.lookups;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The records that are looked up at each time of a run. Records are numbered in key order. The
 * working set is a range of them that wraps around at the end.
 *
 * <pre>
 *   0          first                  first + size             records
 *   |----------|######################|------------------------|
 *               ───────► drift              ────────► grow
 *                                           ◄──────── shrink
 * </pre>
 *
 * <p>Immutable, and a function of the time only. Any thread.
 */
sealed interface WorkingSet {
  /**
   * A range of records.
   *
   * @param first from 0
   * @param size at least 1
   */
  record Range(long first, long size) {}

  /**
   * An event of the working set.
   *
   * @param nanos time from the start of the measured time
   */
  record Mark(long nanos, String text) {}

  /**
   * Returns the range at a time.
   *
   * @param nanos time from the start of the measured time
   */
  Range at(long nanos);

  /** Returns the next time at which the range changes, or MAX_VALUE. */
  long nextChange(long nanos);

  /** Returns the notable events in a measured time of this length, in order. */
  List<Mark> marks(long durationNanos);

  long sizeMax();

  /** A constant range. */
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
   * A set that grows or shrinks linearly over the whole time, or returns to its first size.
   *
   * <pre>
   *   to    .          ____
   *         .        /      \
   *   from  .______/          \____     with back: the parts of the time are
   *         0     .4  .5    .9    1
   * </pre>
   *
   * @param to the size at the end, or in the middle
   * @param back whether it returns to the first size
   * @param poolRecords the number of records that fit in the pool; passing it is an event
   */
  record Growing(long from, long to, boolean back, long durationNanos, long poolRecords)
      implements WorkingSet {
    /** The interval at which the size is updated. */
    static final long STEP_NANOS = 50_000_000;

    /** The ends of the parts if it returns: growing, constant, shrinking. */
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
   * A set of constant size of which a part is replaced at intervals: new records replace those that
   * were in it longest (Graefe et al., "In-Memory Performance for Big Data", VLDB 2015, 5.3.3).
   *
   * @param step the number replaced at a time, size + step &lt;= records
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
