package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.RowTable;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import java.util.Arrays;
import java.util.List;

/**
 * Checks the conditions that concern one district: 2 to 7, 10, 11 and 12. Reads the orders into
 * arrays and then passes once over the new-orders, order lines and customers.
 */
final class DistrictCheck {
  private final Tables tables;
  private final Meta meta;
  private final List<Condition> conditions;
  private final Pieces orderPieces;
  private final Pieces newOrderPieces;
  private final Pieces linePieces;
  private final Pieces customerPieces;

  // the current district
  private int w;
  private int d;
  private String where = "";

  // its orders, by number
  private int orders;
  private int[] id = new int[4_096];
  private int[] customer = new int[id.length];
  private int[] lines = new int[id.length];
  private int[] carrier = new int[id.length];
  private int[] linesFound = new int[id.length];
  private boolean[] isNew = new boolean[id.length];

  private int newOrders;
  private int firstNewOrder;
  private int lastNewOrder;
  private long linesOfDistrict;

  /** The array position of a pass over rows ordered by order number. */
  private int at;

  /** The delivered OL_AMOUNT by customer, from index 1. */
  private final long[] delivered;

  private final boolean[] hasRow;

  DistrictCheck(Tables tables, Meta meta, List<Condition> conditions) {
    this.tables = tables;
    this.meta = meta;
    this.conditions = conditions;
    orderPieces = new Pieces(tables.database(), 4);
    newOrderPieces = new Pieces(tables.database(), 1);
    linePieces = new Pieces(tables.database(), 4);
    customerPieces = new Pieces(tables.database(), 3);
    delivered = new long[meta.scale().customers() + 1];
    hasRow = new boolean[delivered.length];
  }

  /**
   * Checks a district.
   *
   * @param nextOrder its D_NEXT_O_ID
   * @param payments sums of H_AMOUNT by customer; those of its first customer are at {@code
   *     firstCustomer}
   */
  void check(int w, int d, int nextOrder, long[] payments, int firstCustomer) {
    this.w = w;
    this.d = d;
    where = "warehouse " + w + ", district " + d;
    readOrders();
    readNewOrders();
    orderNumbers(nextOrder);
    carriers();
    readLines();
    lineCounts();
    customers(payments, firstCustomer);
  }

  private void violated(int condition, String what) {
    conditions.get(condition - 1).violated(where + what);
  }

  private void each(RowTable table, Pieces pieces, Pieces.Extractor e, Pieces.Visitor v) {
    Key district = table.key().set(w, d);
    pieces.each(table, district, district, e, v);
  }

  private void readOrders() {
    orders = 0;
    each(
        tables.order(),
        orderPieces,
        (key, row, to, i) -> {
          to[i] = key.getInt(2);
          to[i + 1] = row.getInt(Order.CUSTOMER);
          to[i + 2] = row.getInt(Order.LINES);
          to[i + 3] = row.getInt(Order.CARRIER);
        },
        (o, i) -> {
          if (orders == id.length) {
            grow();
          }
          id[orders] = (int) o[i];
          customer[orders] = (int) o[i + 1];
          lines[orders] = (int) o[i + 2];
          carrier[orders] = (int) o[i + 3];
          orders++;
        });
    Arrays.fill(linesFound, 0, orders, 0);
    Arrays.fill(isNew, 0, orders, false);
  }

  private void grow() {
    int size = 2 * id.length;
    id = Arrays.copyOf(id, size);
    customer = Arrays.copyOf(customer, size);
    lines = Arrays.copyOf(lines, size);
    carrier = Arrays.copyOf(carrier, size);
    linesFound = Arrays.copyOf(linesFound, size);
    isNew = Arrays.copyOf(isNew, size);
  }

  /** Advances to an order; false if no order has this number. */
  private boolean goTo(int order) {
    while (at < orders && id[at] < order) {
      at++;
    }
    return at < orders && id[at] == order;
  }

  private void readNewOrders() {
    at = 0;
    newOrders = 0;
    each(
        tables.newOrder(),
        newOrderPieces,
        (key, row, to, i) -> to[i] = key.getInt(2),
        (n, i) -> {
          int order = (int) n[i];
          if (newOrders++ == 0) {
            firstNewOrder = order;
          }
          lastNewOrder = order;
          if (goTo(order)) {
            isNew[at] = true;
          } else {
            violated(5, ", NEW-ORDER row " + order + ": found no ORDER row, expected one");
          }
        });
  }

  /** Conditions 2, 3 and 11. */
  private void orderNumbers(int nextOrder) {
    int last = orders == 0 ? 0 : id[orders - 1];
    if (nextOrder - 1 != last) {
      violated(2, ": D_NEXT_O_ID is " + nextOrder + ", expected max(O_ID) + 1 = " + (last + 1));
    }
    if (newOrders > 0) {
      if (nextOrder - 1 != lastNewOrder) {
        violated(
            2,
            ": D_NEXT_O_ID is "
                + nextOrder
                + ", expected max(NO_O_ID) + 1 = "
                + (lastNewOrder + 1));
      }
      int span = lastNewOrder - firstNewOrder + 1;
      if (span != newOrders) {
        violated(
            3,
            ": found "
                + newOrders
                + " NEW-ORDER rows, expected max(NO_O_ID) - min(NO_O_ID) + 1 = "
                + span);
      }
    }
    int carriers = 0;
    for (int i = 0; i < orders; i++) {
      if (carrier[i] != Schema.NONE) {
        carriers++;
      }
    }
    int difference = orders - newOrders;
    if (difference != carriers) {
      violated(
          11,
          ": count(ORDER) - count(NEW-ORDER) is "
              + difference
              + ", expected the number of orders with a carrier, "
              + carriers);
    }
    int loaded = meta.scale().firstUndelivered() - 1;
    if (meta.runs() == 0 && difference != loaded) {
      violated(
          11,
          ": count(ORDER) - count(NEW-ORDER) is "
              + difference
              + ", expected "
              + loaded
              + " after a load");
    }
  }

  /** Condition 5. */
  private void carriers() {
    for (int i = 0; i < orders; i++) {
      if (isNew[i] == (carrier[i] != Schema.NONE)) {
        violated(
            5,
            ", order "
                + id[i]
                + ": O_CARRIER_ID is "
                + carrierText(i)
                + ", expected "
                + (isNew[i] ? "null, for there is" : "a carrier, for there is no")
                + " NEW-ORDER row");
      }
    }
  }

  private String carrierText(int i) {
    return carrier[i] == Schema.NONE ? "null" : Integer.toString(carrier[i]);
  }

  /** Condition 7, and the counts for 4 and 6. */
  private void readLines() {
    at = 0;
    linesOfDistrict = 0;
    Arrays.fill(delivered, 0);
    each(
        tables.orderLine(),
        linePieces,
        (key, row, to, i) -> {
          to[i] = key.getInt(2);
          to[i + 1] = key.getInt(3);
          to[i + 2] = row.getLong(OrderLine.DELIVERY_DATE);
          to[i + 3] = row.getLong(OrderLine.AMOUNT);
        },
        (l, i) -> {
          int order = (int) l[i];
          linesOfDistrict++;
          if (!goTo(order)) {
            violated(
                6,
                ", order " + order + ", line " + l[i + 1] + ": found no ORDER row, expected one");
            return;
          }
          linesFound[at]++;
          boolean isDelivered = l[i + 2] != Schema.NONE;
          if (isDelivered != (carrier[at] != Schema.NONE)) {
            violated(
                7,
                ", order "
                    + order
                    + ", line "
                    + l[i + 1]
                    + ": OL_DELIVERY_D is "
                    + (isDelivered ? "a date" : "null")
                    + ", expected "
                    + (isDelivered ? "null" : "a date")
                    + ", for O_CARRIER_ID is "
                    + carrierText(at));
          }
          int c = customer[at];
          if (isDelivered && c >= 1 && c < delivered.length) {
            delivered[c] += l[i + 3];
          }
        });
  }

  /** Conditions 4 and 6. */
  private void lineCounts() {
    long sum = 0;
    for (int i = 0; i < orders; i++) {
      sum += lines[i];
      if (lines[i] != linesFound[i]) {
        violated(
            6,
            ", order "
                + id[i]
                + ": O_OL_CNT is "
                + lines[i]
                + ", expected the number of its lines, "
                + linesFound[i]);
      }
    }
    if (sum != linesOfDistrict) {
      violated(
          4, ": sum(O_OL_CNT) is " + sum + ", expected the number of lines, " + linesOfDistrict);
    }
  }

  /** Conditions 10 and 12. */
  private void customers(long[] payments, int firstCustomer) {
    Arrays.fill(hasRow, false);
    each(
        tables.customer(),
        customerPieces,
        (key, row, to, i) -> {
          to[i] = key.getInt(2);
          to[i + 1] = row.getLong(Customer.BALANCE);
          to[i + 2] = row.getLong(Customer.YTD_PAYMENT);
        },
        (values, i) -> {
          int c = (int) values[i];
          if (c < 1 || c >= hasRow.length) {
            violated(10, ", customer " + c + ": found a row, expected none of that number");
            return;
          }
          hasRow[c] = true;
          balance(c, values[i + 1], values[i + 2], payments[firstCustomer + c - 1]);
        });
    for (int c = 1; c < hasRow.length; c++) {
      if (!hasRow[c]) {
        violated(10, ", customer " + c + ": found no row, expected one");
      }
    }
    for (int i = 0; i < orders; i++) {
      if (customer[i] < 1 || customer[i] >= hasRow.length) {
        violated(10, ", order " + id[i] + ": O_C_ID is " + customer[i] + ", expected a customer's");
      }
    }
  }

  private void balance(int c, long balance, long ytdPayment, long payments) {
    if (balance != delivered[c] - payments) {
      violated(
          10,
          ", customer "
              + c
              + ": C_BALANCE is "
              + Money.format(balance)
              + ", expected sum(delivered OL_AMOUNT) - sum(H_AMOUNT) = "
              + Money.format(delivered[c])
              + " - "
              + Money.format(payments));
    }
    if (balance + ytdPayment != delivered[c]) {
      violated(
          12,
          ", customer "
              + c
              + ": C_BALANCE + C_YTD_PAYMENT is "
              + Money.format(balance)
              + " + "
              + Money.format(ytdPayment)
              + ", expected sum(delivered OL_AMOUNT) = "
              + Money.format(delivered[c]));
    }
  }
}
