package io.fovea.tpcc.lookups;

import java.util.List;

/**
 * What the miss ratio alone explains: a lookup that hits takes t_hit, one that misses takes t_miss,
 * and a thread does one after the other.
 *
 * <pre>
 *   t(m) = (1 - m) t_hit + m t_miss          throughput(m) = threads / t(m)
 * </pre>
 *
 * <p>The two times come from two of the points that were measured, that with the fewest misses and
 * that with the most, so that the model meets both; what is between them is compared with it. A
 * point below the model pays for something that is not a miss of its own: a wait for a frame, or
 * for a latch.
 *
 * @param hitNanos a lookup without a miss
 * @param missNanos a lookup with one
 */
record CostModel(double hitNanos, double missNanos) {
  /** Fewer misses in a lookup than this at the most say nothing about what a miss costs. */
  private static final double MISSES_MIN = 0.01;

  /**
   * A measured point.
   *
   * @param misses in a lookup
   * @param nanos that a thread took for a lookup
   */
  record Point(double misses, double nanos) {}

  /** Fits it to points; null where they don't determine it. */
  static CostModel of(List<Point> points) {
    if (points.isEmpty()) {
      return null;
    }
    Point least = points.getFirst();
    Point most = points.getFirst();
    for (Point p : points) {
      least = p.misses < least.misses ? p : least;
      most = p.misses > most.misses ? p : most;
    }
    double between = most.misses - least.misses;
    if (!(between >= MISSES_MIN)) {
      return null;
    }
    double slope = (most.nanos - least.nanos) / between;
    double hit = least.nanos - slope * least.misses;
    return new CostModel(hit, hit + slope);
  }

  /** What a thread takes for a lookup with so many misses. */
  double nanos(double misses) {
    return hitNanos + misses * (missNanos - hitNanos);
  }

  /** The throughput of a point as a part of what the model says; 1 is what the misses explain. */
  double measuredByModel(Point p) {
    return nanos(p.misses) / p.nanos;
  }
}
