package io.fovea.tpcc;

/**
 * The cardinalities of clause 1.2.1. {@link #FULL} is the specification's; tests load fewer rows of
 * the same shape.
 *
 * @param items rows of ITEM, and of STOCK per warehouse
 * @param customers customers per district, each with one order and one history row after a load
 * @param undelivered the last orders of a district, which have a NEW-ORDER row after a load
 */
record Scale(int items, int customers, int undelivered) {
  static final int DISTRICTS = 10;

  static final Scale FULL = new Scale(100_000, 3_000, 900);

  Scale {
    if (items < 1 || customers < 1 || undelivered < 0 || undelivered > customers) {
      throw new IllegalArgumentException("items, customers or undelivered orders out of range");
    }
  }

  /** Returns the highest number of a last name: 999 for 1,000 customers or more. */
  int maxLastName() {
    return Math.min(1_000, customers) - 1;
  }

  int firstUndelivered() {
    return customers - undelivered + 1;
  }

  /** Returns the number of rows of a load, with an average number of order lines. */
  long rows(int warehouses) {
    long perDistrict = 1 + 3L * customers + undelivered + 10L * customers;
    return items + warehouses * (1 + items + DISTRICTS * perDistrict);
  }
}
