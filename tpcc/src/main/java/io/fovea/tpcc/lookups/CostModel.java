package io.fovea.tpcc.lookups;

import java.util.List;

/**
 * A model of throughput by miss ratio alone: a lookup that hits takes t_hit, one that misses takes
 * t_miss, and a thread runs them sequentially.
 *
 * <pre>
 *   t(m) = (1 - m) t_hit + m t_miss          throughput(m) = threads / t(m)
 * </pre>
 *
 * <p>The two times come from the measured points with the fewest and the most misses, so the model
 * matches both. The points between are compared with it. A point below the model has costs other
 * than misses, such as waits for a frame or a latch.
 */
record CostModel(double hitNanos, double missNanos) {
  /** If all points have fewer misses per lookup, they do not determine the cost of a miss. */
  private static final double MISSES_MIN = 0.01;

  /**
   * A measured point.
   *
   * @param misses misses per lookup
   * @param nanos time per lookup and thread
   */
  record Point(double misses, double nanos) {}

  /** Fits the model to points; null if they do not determine it. */
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

  /** Returns the time per lookup and thread for a number of misses per lookup. */
  double nanos(double misses) {
    return hitNanos + misses * (missNanos - hitNanos);
  }

  /**
   * Returns the throughput of a point relative to the model; 1 means that the misses explain it.
   */
  double measuredByModel(Point p) {
    return nanos(p.misses) / p.nanos;
  }
}
