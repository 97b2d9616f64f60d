package io.fovea.tpcc;

/**
 * Cardinalities of clause 1.2.1. The specification's are {@link #FULL}; tests load fewer rows of
 * the same shape.
 *
 * @param items rows of ITEM, and of STOCK in each warehouse
 * @param customers customers of a district, each with one order and one history row after a load
 * @param undelivered the last orders of a district, which have a NEW-ORDER row after a load
 */
record Scale(int items, int customers, int undelivered) {
  /** Districts of a warehouse. */
  static final int DISTRICTS = 10;

  static final Scale FULL = new Scale(100_000, 3_000, 900);

  Scale {
    if (items < 1 || customers < 1 || undelivered < 0 || undelivered > customers) {
      throw new IllegalArgumentException("items, customers or undelivered orders out of range");
    }
  }

  /** The highest number of a last name in use: 999 where there are 1,000 customers or more. */
  int maxLastName() {
    return Math.min(1_000, customers) - 1;
  }

  /** The number of the first order without a carrier. */
  int firstUndelivered() {
    return customers - undelivered + 1;
  }

  /** Rows that a load makes, order lines by their mean. */
  long rows(int warehouses) {
    long perDistrict = 1 + 3L * customers + undelivered + 10L * customers;
    return items + warehouses * (1 + items + DISTRICTS * perDistrict);
  }
}
