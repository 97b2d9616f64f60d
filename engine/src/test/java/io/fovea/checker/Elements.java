package io.fovea.checker;

/**
 * Elements of lists: unique, each with the transaction that appended it.
 *
 * <pre>
 *   63                              5 4          0
 *  +---------------------------------+------------+
 *  | transaction                     | number     |
 *  +---------------------------------+------------+
 * </pre>
 */
final class Elements {
  /** The maximum number of appends of a transaction. */
  static final int PER_TXN = 32;

  private Elements() {}

  static long of(long txn, int n) {
    if (n >= PER_TXN) {
      throw new IllegalArgumentException("a transaction appends less than " + PER_TXN);
    }
    return txn * PER_TXN + n;
  }

  static long txn(long element) {
    return element / PER_TXN;
  }

  static String name(long element) {
    long n = element % PER_TXN;
    return txn(element) + (n == 0 ? "" : "." + n);
  }
}
