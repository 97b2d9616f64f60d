package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Range;
import io.fovea.RowCursor;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;

/** The state shared by the transactions of one worker. One thread. */
final class Session {
  final Tables tables;
  final Scale scale;
  final int warehouses;
  final NuRand nuRand;
  final Rng rng;

  final int stream;

  final byte[] scratch = new byte[Schema.CUSTOMER_DATA_MAX];

  private final int[] homes;
  private final int homeDistrict;
  private final Key nameKey;
  private final Range sameName;
  private int[] namesakes = new int[64];

  /**
   * Creates a session.
   *
   * @param homeDistrict the district of its Stock-Levels, or 0 to draw one each time
   */
  Session(
      Tables tables,
      Scale scale,
      int warehouses,
      NuRand nuRand,
      Rng rng,
      int stream,
      int[] homes,
      int homeDistrict) {
    this.tables = tables;
    this.scale = scale;
    this.warehouses = warehouses;
    this.nuRand = nuRand;
    this.rng = rng;
    this.stream = stream;
    this.homes = homes;
    this.homeDistrict = homeDistrict;
    this.nameKey = tables.customerByName().key();
    this.sameName = Range.prefix(nameKey);
  }

  int drawHome() {
    return homes.length == 1 ? homes[0] : homes[rng.below(homes.length)];
  }

  int drawDistrict() {
    return rng.between(1, Scale.DISTRICTS);
  }

  /**
   * Clause 2.8.1.1: a terminal has a fixed district; other workers represent all terminals of a
   * warehouse.
   */
  int drawStockLevelDistrict() {
    return homeDistrict != 0 ? homeDistrict : drawDistrict();
  }

  int drawRemote(int home) {
    if (warehouses == 1) {
      return home;
    }
    int w = rng.between(1, warehouses - 1);
    return w >= home ? w + 1 : w;
  }

  /**
   * Finds a customer by last name (clause 2.5.2.2): of n customers with that name, ordered by first
   * name, number ceil(n / 2). Reads index entries only.
   */
  int findByName(Transaction tx, int w, int d, String last) {
    nameKey.clear().int32(w).int32(d).text(last);
    int n = 0;
    try (RowCursor cursor = tables.customerByName().scan(tx, sameName, ScanOrder.ASCENDING)) {
      while (cursor.next()) {
        if (n == namesakes.length) {
          namesakes = Arrays.copyOf(namesakes, 2 * n);
        }
        namesakes[n++] = cursor.key().getInt(2);
      }
    }
    if (n == 0) {
      throw missing(Customer.SPEC.name(), w, d, -1);
    }
    return namesakes[(n + 1) / 2 - 1];
  }

  static void require(boolean found, String table, int w, int d, int id) {
    if (!found) {
      throw missing(table, w, d, id);
    }
  }

  private static IllegalStateException missing(String table, int w, int d, int id) {
    return new IllegalStateException(
        "no row of " + table + " for warehouse " + w + ", district " + d + ", number " + id);
  }
}
