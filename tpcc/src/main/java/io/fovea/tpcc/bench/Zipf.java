package io.fovea.tpcc.bench;

/**
 * Draws Zipf-distributed ranks by rejection inversion (Hörmann and Derflinger, "Rejection-inversion
 * to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): exact,
 * without a table or a sum over all ranks, with about 1.1 draws of the generator per rank.
 * Immutable; any thread.
 */
public final class Zipf {
  private static final double TAYLOR_BELOW = 1e-8;

  private final long n;
  private final double theta;
  private final double integralAtFirst;
  private final double integralAtLast;
  private final double accept;

  /**
   * Creates a distribution in which rank k has the weight 1 / k^theta.
   *
   * @param n the number of ranks, at least 1
   * @param theta above 0
   */
  public Zipf(long n, double theta) {
    this.n = n;
    this.theta = theta;
    integralAtFirst = integral(1.5) - 1;
    integralAtLast = integral(n + 0.5);
    accept = 2 - integralInverse(integral(2.5) - weight(2));
  }

  /** Draws a rank; 0 is the most frequent one. */
  public long next(Rng rng) {
    while (true) {
      double u = integralAtLast + rng.unit() * (integralAtFirst - integralAtLast);
      double x = integralInverse(u);
      long k = Math.clamp((long) (x + 0.5), 1L, n);
      if (k - x <= accept || u >= integral(k + 0.5) - weight(k)) {
        return k - 1;
      }
    }
  }

  private double weight(double x) {
    return Math.exp(-theta * Math.log(x));
  }

  /**
   * Returns the integral of the weights up to x, (x^(1-theta) - 1) / (1-theta), or log x for theta
   * 1.
   */
  private double integral(double x) {
    double log = Math.log(x);
    return expm1Quotient((1 - theta) * log) * log;
  }

  private double integralInverse(double x) {
    double t = Math.max(-1, x * (1 - theta));
    return Math.exp(log1pQuotient(t) * x);
  }

  /** log(1 + x) / x. */
  private static double log1pQuotient(double x) {
    return Math.abs(x) > TAYLOR_BELOW
        ? Math.log1p(x) / x
        : 1 - x * (0.5 - x * (1.0 / 3 - 0.25 * x));
  }

  /** (exp(x) - 1) / x. */
  private static double expm1Quotient(double x) {
    return Math.abs(x) > TAYLOR_BELOW
        ? Math.expm1(x) / x
        : 1 + x * 0.5 * (1 + x * (1.0 / 3) * (1 + 0.25 * x));
  }
}
