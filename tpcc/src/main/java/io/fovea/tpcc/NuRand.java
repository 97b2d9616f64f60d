package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;

/**
 * The non-uniform distribution of clause 2.1.6 with the constants C of one run: one constant per
 * field, drawn from [0, A], the same for all workers.
 *
 * @param cLast for C_LAST, in [0, 255]
 * @param cCustomer for C_ID, in [0, 1023]
 * @param cItem for OL_I_ID, in [0, 8191]
 */
record NuRand(int cLast, int cCustomer, int cItem) {
  static final int A_LAST = 255;
  static final int A_CUSTOMER = 1023;
  static final int A_ITEM = 8191;

  NuRand {
    if (outside(cLast, A_LAST) || outside(cCustomer, A_CUSTOMER) || outside(cItem, A_ITEM)) {
      throw new IllegalArgumentException("a constant of NURand lies outside [0, A]");
    }
  }

  private static boolean outside(int c, int a) {
    return c < 0 || c > a;
  }

  static NuRand forLoad(Rng rng) {
    return new NuRand(rng.between(0, A_LAST), rng.between(0, A_CUSTOMER), rng.between(0, A_ITEM));
  }

  static NuRand forRun(Rng rng, int loadCLast) {
    int c;
    do {
      c = rng.between(0, A_LAST);
    } while (!fits(loadCLast, c));
    return new NuRand(c, rng.between(0, A_CUSTOMER), rng.between(0, A_ITEM));
  }

  /**
   * Tests clause 2.1.6.1: the two constants for C_LAST differ by 65 to 119, but not by 96 or 112.
   */
  static boolean fits(int loadCLast, int runCLast) {
    int delta = Math.abs(loadCLast - runCLast);
    return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
  }

  static int draw(Rng rng, int a, int c, int x, int y) {
    return ((rng.between(0, a) | rng.between(x, y)) + c) % (y - x + 1) + x;
  }

  /** Draws the number of a last name, 0 to 999 at full scale. */
  int lastName(Rng rng, Scale scale) {
    return draw(rng, A_LAST, cLast, 0, scale.maxLastName());
  }

  int customer(Rng rng, Scale scale) {
    return draw(rng, A_CUSTOMER, cCustomer, 1, scale.customers());
  }

  int item(Rng rng, Scale scale) {
    return draw(rng, A_ITEM, cItem, 1, scale.items());
  }
}
