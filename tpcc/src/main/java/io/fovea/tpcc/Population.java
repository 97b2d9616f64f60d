package io.fovea.tpcc;

import io.fovea.Row;
import io.fovea.schema.Field;
import io.fovea.tpcc.Schema.Address;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Item;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Stock;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.Rng;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/**
 * Generates the rows of a load (clause 4.3.3.1). Each row is a function of the seed and its key,
 * independent of thread and order; only the date is that of the load. One per thread.
 */
final class Population {
  /** H_AMOUNT, C_YTD_PAYMENT and -C_BALANCE of every customer, in cents. */
  static final long FIRST_PAYMENT = 10_00;

  private static final byte[] GOOD_CREDIT = ascii("GC");
  private static final byte[] BAD_CREDIT = ascii("BC");
  private static final byte[] MIDDLE_NAME = ascii("OE");

  /** The parts with separate seeds. */
  private enum Part {
    CONSTANTS,
    ITEM,
    ITEM_ORIGINAL,
    WAREHOUSE,
    DISTRICT,
    STOCK,
    STOCK_ORIGINAL,
    CUSTOMER,
    CUSTOMER_CREDIT,
    HISTORY,
    ORDER,
    ORDER_CUSTOMERS,
    ORDER_LINES
  }

  private final long seed;
  private final Scale scale;
  private final NuRand nuRand;
  private final long date;
  private final Rng rng = new Rng(0);
  private final Text text = new Text();

  /**
   * Creates a generator.
   *
   * @param date the date of all rows, in milliseconds since 1970
   */
  Population(long seed, Scale scale, long date) {
    this.seed = seed;
    this.scale = scale;
    this.date = date;
    this.nuRand = NuRand.forLoad(part(Part.CONSTANTS, 0, 0));
  }

  private static byte[] ascii(String s) {
    return s.getBytes(StandardCharsets.US_ASCII);
  }

  private Rng part(Part part, long a, long b) {
    rng.seed(Rng.derive(seed, part.ordinal(), a, b));
    return rng;
  }

  NuRand nuRand() {
    return nuRand;
  }

  // ITEM

  /** Returns the items whose I_DATA contains ORIGINAL: a tenth, by number. */
  BitSet originalItems() {
    return tenth(part(Part.ITEM_ORIGINAL, 0, 0), scale.items());
  }

  void item(int id, boolean original, Row row) {
    Rng r = part(Part.ITEM, id, 0);
    row.clear();
    row.setInt(Item.IMAGE, r.between(1, 10_000));
    setText(row, Item.NAME, text.alphanumeric(r, 14, 24));
    row.setLong(Item.PRICE, r.between(1_00, 100_00));
    setText(row, Item.DATA, text.data(r, original));
  }

  // WAREHOUSE and DISTRICT

  void warehouse(int w, Row row) {
    Rng r = part(Part.WAREHOUSE, w, 0);
    row.clear();
    setText(row, Warehouse.NAME, text.alphanumeric(r, 6, 10));
    address(r, row, Warehouse.ADDRESS);
    row.setInt(Warehouse.TAX, r.between(0, 2_000));
    row.setLong(Warehouse.YTD, districtYtd() * Scale.DISTRICTS);
  }

  void district(int w, int d, Row row) {
    Rng r = part(Part.DISTRICT, w, d);
    row.clear();
    setText(row, District.NAME, text.alphanumeric(r, 6, 10));
    address(r, row, District.ADDRESS);
    row.setInt(District.TAX, r.between(0, 2_000));
    row.setLong(District.YTD, districtYtd());
    row.setInt(District.NEXT_ORDER, scale.customers() + 1);
  }

  /** Returns the sum paid by the customers of a district: 30,000.00 at full scale. */
  private long districtYtd() {
    return FIRST_PAYMENT * scale.customers();
  }

  // STOCK

  /** Returns the items whose S_DATA contains ORIGINAL in a warehouse: a tenth, by number. */
  BitSet originalStock(int w) {
    return tenth(part(Part.STOCK_ORIGINAL, w, 0), scale.items());
  }

  void stock(int w, int item, boolean original, Row row) {
    Rng r = part(Part.STOCK, w, item);
    row.clear();
    row.setInt(Stock.QUANTITY, r.between(10, 100));
    row.setLong(Stock.YTD, 0);
    row.setInt(Stock.ORDERS, 0);
    row.setInt(Stock.REMOTE_ORDERS, 0);
    for (Field info : Stock.DISTRICTS) {
      setText(row, info, text.alphanumeric(r, 24, 24));
    }
    setText(row, Stock.DATA, text.data(r, original));
  }

  // CUSTOMER and HISTORY

  /** Returns the customers of a district with bad credit: a tenth, by number. */
  BitSet badCredit(int w, int d) {
    return tenth(part(Part.CUSTOMER_CREDIT, w, d), scale.customers());
  }

  void customer(int w, int d, int c, boolean badCredit, Row row) {
    Rng r = part(Part.CUSTOMER, district(w, d), c);
    row.clear();
    int name = c <= 1_000 ? c - 1 : nuRand.lastName(r, scale);
    row.setText(Customer.LAST, LastNames.of(name));
    row.setBytes(Customer.MIDDLE, MIDDLE_NAME, 0, MIDDLE_NAME.length);
    setText(row, Customer.FIRST, text.alphanumeric(r, 8, 16));
    address(r, row, Customer.ADDRESS);
    setText(row, Customer.PHONE, text.digits(r, 16));
    row.setLong(Customer.SINCE, date);
    byte[] credit = badCredit ? BAD_CREDIT : GOOD_CREDIT;
    row.setBytes(Customer.CREDIT, credit, 0, credit.length);
    row.setLong(Customer.CREDIT_LIMIT, 50_000_00);
    row.setInt(Customer.DISCOUNT, r.between(0, 5_000));
    row.setLong(Customer.BALANCE, -FIRST_PAYMENT);
    row.setLong(Customer.YTD_PAYMENT, FIRST_PAYMENT);
    row.setInt(Customer.PAYMENTS, 1);
    row.setInt(Customer.DELIVERIES, 0);
    setText(row, Customer.DATA, text.alphanumeric(r, 300, 500));
  }

  void history(int w, int d, int c, Row row) {
    Rng r = part(Part.HISTORY, district(w, d), c);
    row.clear();
    row.setInt(History.CUSTOMER, c);
    row.setInt(History.CUSTOMER_DISTRICT, d);
    row.setInt(History.CUSTOMER_WAREHOUSE, w);
    row.setInt(History.DISTRICT, d);
    row.setInt(History.WAREHOUSE, w);
    row.setLong(History.DATE, date);
    row.setLong(History.AMOUNT, FIRST_PAYMENT);
    setText(row, History.DATA, text.alphanumeric(r, 12, 24));
  }

  // ORDER and ORDER-LINE

  /** Returns the customers of a district in the order of their orders, from index 0. */
  int[] orderCustomers(int w, int d) {
    int[] customers = new int[scale.customers()];
    for (int i = 0; i < customers.length; i++) {
      customers[i] = i + 1;
    }
    part(Part.ORDER_CUSTOMERS, w, d).shuffle(customers);
    return customers;
  }

  void order(int w, int d, int o, int customer, Row row) {
    Rng r = part(Part.ORDER, district(w, d), o);
    row.clear();
    row.setInt(Order.LINES, r.between(5, 15));
    row.setInt(Order.CUSTOMER, customer);
    row.setLong(Order.ENTRY_DATE, date);
    row.setInt(Order.CARRIER, delivered(o) ? r.between(1, 10) : Schema.NONE);
    row.setInt(Order.ALL_LOCAL, 1);
  }

  /** Starts the lines of an order. Calls of {@link #orderLine} follow, in line order. */
  void beginOrderLines(int w, int d, int o) {
    part(Part.ORDER_LINES, district(w, d), o);
  }

  void orderLine(int w, int o, Row row) {
    row.clear();
    row.setInt(OrderLine.ITEM, rng.between(1, scale.items()));
    row.setInt(OrderLine.SUPPLY_WAREHOUSE, w);
    row.setInt(OrderLine.QUANTITY, 5);
    if (delivered(o)) {
      row.setLong(OrderLine.DELIVERY_DATE, date);
      row.setLong(OrderLine.AMOUNT, 0);
    } else {
      row.setLong(OrderLine.DELIVERY_DATE, Schema.NONE);
      row.setLong(OrderLine.AMOUNT, rng.between(1, 9_999_99));
    }
    setText(row, OrderLine.DISTRICT_INFO, text.alphanumeric(rng, 24, 24));
  }

  /** Tells whether a load creates this order with a carrier, and without a NEW-ORDER row. */
  boolean delivered(int o) {
    return o < scale.firstUndelivered();
  }

  // parts of rows

  private static long district(int w, int d) {
    return (long) w * Scale.DISTRICTS + d;
  }

  private void setText(Row row, Field field, int length) {
    row.setBytes(field, text.bytes, 0, length);
  }

  private void address(Rng r, Row row, Address a) {
    setText(row, a.street1(), text.alphanumeric(r, 10, 20));
    setText(row, a.street2(), text.alphanumeric(r, 10, 20));
    setText(row, a.city(), text.alphanumeric(r, 10, 20));
    setText(row, a.state(), text.letters(r, 2));
    setText(row, a.zip(), text.zip(r));
  }

  /**
   * "10 % of the rows, selected at random": selects exactly a tenth of the numbers 1 to n (Knuth's
   * algorithm S). A draw per row would select about a tenth.
   */
  private static BitSet tenth(Rng r, int n) {
    BitSet chosen = new BitSet(n + 1);
    int wanted = n / 10;
    for (int i = 1; i <= n && wanted > 0; i++) {
      if (r.below(n - i + 1) < wanted) {
        chosen.set(i);
        wanted--;
      }
    }
    return chosen;
  }
}
