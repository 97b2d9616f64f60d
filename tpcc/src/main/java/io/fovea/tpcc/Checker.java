package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.util.List;

/**
 * Checks the twelve consistency conditions of clause 3.3.2 on all rows. Needs exclusive use of the
 * database.
 *
 * <p>HISTORY is not ordered by customer, so it is read once per group of warehouses whose sums fit
 * in memory. The other tables are read by district, see {@link DistrictCheck}.
 */
final class Checker {
  /** Customers whose sums are kept at a time: 32 MB. */
  private static final int CUSTOMERS_AT_A_TIME = 4_000_000;

  private final Tables tables;
  private final Meta meta;
  private final Progress progress;
  private final Shutdown shutdown;
  private final List<Condition> conditions = Condition.all();

  Checker(Tables tables, Meta meta, Progress progress, Shutdown shutdown) {
    this.tables = tables;
    this.meta = meta;
    this.progress = progress;
    this.shutdown = shutdown;
  }

  /**
   * Checks the conditions and returns them in order. Throws DriverException if rows are missing or
   * a signal arrived.
   */
  List<Condition> check() {
    int group = Math.max(1, CUSTOMERS_AT_A_TIME / (Scale.DISTRICTS * meta.scale().customers()));
    DistrictCheck districtCheck = new DistrictCheck(tables, meta, conditions);
    long lineAt = System.nanoTime();
    for (int from = 1; from <= meta.warehouses(); from += group) {
      int to = Math.min(from + group - 1, meta.warehouses());
      Payments payments = new Payments(from, to);
      payments.read();
      for (int w = from; w <= to; w++) {
        warehouse(w, payments, districtCheck);
        if (System.nanoTime() - lineAt >= Progress.INTERVAL_NANOS) {
          lineAt = System.nanoTime();
          progress.checking(w, meta.warehouses());
        }
      }
    }
    return conditions;
  }

  private Condition condition(int number) {
    return conditions.get(number - 1);
  }

  private void warehouse(int w, Payments payments, DistrictCheck districtCheck) {
    long ytd = warehouseYtd(w);
    long[] districtYtd = new long[Scale.DISTRICTS + 1];
    int[] nextOrder = new int[Scale.DISTRICTS + 1];
    readDistricts(w, districtYtd, nextOrder);
    long sum = 0;
    for (long y : districtYtd) {
      sum += y;
    }
    String where = "warehouse " + w;
    equal(1, where, "W_YTD", ytd, "sum(D_YTD)", sum);
    equal(8, where, "W_YTD", ytd, "sum(H_AMOUNT)", payments.byWarehouse[w - payments.from]);
    for (int d = 1; d <= Scale.DISTRICTS; d++) {
      shutdown.check(progress, "the check is incomplete");
      equal(
          9,
          where + ", district " + d,
          "D_YTD",
          districtYtd[d],
          "sum(H_AMOUNT)",
          payments.byDistrict[payments.district(w, d)]);
      districtCheck.check(w, d, nextOrder[d], payments.byCustomer, payments.customer(w, d, 1));
    }
  }

  private void equal(int number, String where, String what, long found, String of, long expected) {
    if (found != expected) {
      condition(number)
          .violated(
              where
                  + ": "
                  + what
                  + " is "
                  + Money.format(found)
                  + ", expected "
                  + of
                  + " = "
                  + Money.format(expected));
    }
  }

  private long warehouseYtd(int w) {
    return tables
        .database()
        .read(
            tx -> {
              Key key = tables.warehouse().key().set(w);
              Row row = tables.warehouse().row();
              if (!tables.warehouse().get(tx, key, row)) {
                return missing("warehouse " + w);
              }
              return row.getLong(Warehouse.YTD);
            });
  }

  private void readDistricts(int w, long[] ytd, int[] nextOrder) {
    tables
        .database()
        .read(
            tx -> {
              Row row = tables.district().row();
              for (int d = 1; d <= Scale.DISTRICTS; d++) {
                if (!tables.district().get(tx, tables.district().key().set(w, d), row)) {
                  return missing("warehouse " + w + ", district " + d);
                }
                ytd[d] = row.getLong(District.YTD);
                nextOrder[d] = row.getInt(District.NEXT_ORDER);
              }
              return null;
            });
  }

  private static <T> T missing(String what) {
    throw new DriverException(Exit.INCONSISTENT, what + " has no row");
  }

  /** Sums of H_AMOUNT for the warehouses {@code from} to {@code to}. */
  private final class Payments {
    final int from;
    final int to;
    final long[] byWarehouse;
    final long[] byDistrict;
    final long[] byCustomer;

    Payments(int from, int to) {
      this.from = from;
      this.to = to;
      int n = to - from + 1;
      byWarehouse = new long[n];
      byDistrict = new long[n * Scale.DISTRICTS];
      byCustomer = new long[n * Scale.DISTRICTS * meta.scale().customers()];
    }

    int district(int w, int d) {
      return (w - from) * Scale.DISTRICTS + d - 1;
    }

    int customer(int w, int d, int c) {
      return district(w, d) * meta.scale().customers() + c - 1;
    }

    void read() {
      Key first = tables.history().key().set(Integer.MIN_VALUE);
      Key last = tables.history().key().set(Integer.MAX_VALUE);
      new Pieces(tables.database(), 6)
          .each(
              tables.history(),
              first,
              last,
              (key, row, to, at) -> {
                to[at] = row.getInt(History.WAREHOUSE);
                to[at + 1] = row.getInt(History.DISTRICT);
                to[at + 2] = row.getInt(History.CUSTOMER_WAREHOUSE);
                to[at + 3] = row.getInt(History.CUSTOMER_DISTRICT);
                to[at + 4] = row.getInt(History.CUSTOMER);
                to[at + 5] = row.getLong(History.AMOUNT);
              },
              this::add);
    }

    private void add(long[] h, int at) {
      int w = (int) h[at];
      int d = (int) h[at + 1];
      int cw = (int) h[at + 2];
      int cd = (int) h[at + 3];
      int c = (int) h[at + 4];
      long amount = h[at + 5];
      boolean known =
          isWarehouse(w)
              && isDistrict(d)
              && isWarehouse(cw)
              && isDistrict(cd)
              && c >= 1
              && c <= meta.scale().customers();
      if (!known) {
        if (from == 1) {
          String who = "warehouse " + cw + ", district " + cd + ", customer " + c;
          condition(8)
              .violated(
                  "a HISTORY row of warehouse "
                      + w
                      + ", district "
                      + d
                      + " names "
                      + who
                      + ", expected ones within the database");
        }
        return;
      }
      if (w >= from && w <= to) {
        byWarehouse[w - from] += amount;
        byDistrict[district(w, d)] += amount;
      }
      if (cw >= from && cw <= to) {
        byCustomer[customer(cw, cd, c)] += amount;
      }
    }

    private boolean isWarehouse(int w) {
      return w >= 1 && w <= meta.warehouses();
    }

    private static boolean isDistrict(int d) {
      return d >= 1 && d <= Scale.DISTRICTS;
    }
  }
}
