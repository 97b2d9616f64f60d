package io.fovea.tpcc;

import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;

/**
 * The nine tables of clause 1.3 and one table of the driver.
 *
 * <p>Money is INT64 in cents, rates are INT32 in ten-thousandths, dates are INT64 in milliseconds
 * since 1970. Null is 0 for O_CARRIER_ID (carriers are 1 to 10) and for OL_DELIVERY_D.
 *
 * <p>A projection copies a row up to the last requested field, and an update writes what changed.
 * So each table begins with the fields that change, followed by those that are read often; wide and
 * rarely read fields come last.
 */
final class Schema {
  /** The null value of O_CARRIER_ID and OL_DELIVERY_D. */
  static final int NONE = 0;

  static final int CUSTOMER_DATA_MAX = 500;

  private Schema() {}

  /** ITEM: (I_ID). */
  static final class Item {
    static final TableSpec SPEC;
    static final Field PRICE;
    static final Field NAME;
    static final Field DATA;
    static final Field IMAGE;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("i_id");
      Layout.Definition b = Layout.define();
      PRICE = b.int64("i_price");
      NAME = b.text("i_name", 24);
      DATA = b.text("i_data", 50);
      IMAGE = b.int32("i_im_id");
      SPEC = TableSpec.of("item", k.build(), b.build());
    }

    private Item() {}
  }

  /** WAREHOUSE: (W_ID). */
  static final class Warehouse {
    static final TableSpec SPEC;
    static final Field YTD;
    static final Field TAX;
    static final Field NAME;
    static final Address ADDRESS;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("w_id");
      Layout.Definition b = Layout.define();
      YTD = b.int64("w_ytd");
      TAX = b.int32("w_tax");
      NAME = b.text("w_name", 10);
      ADDRESS = Address.in(b, "w");
      SPEC = TableSpec.of("warehouse", k.build(), b.build());
    }

    private Warehouse() {}
  }

  /** DISTRICT: (D_W_ID, D_ID). */
  static final class District {
    static final TableSpec SPEC;
    static final Field NEXT_ORDER;
    static final Field TAX;
    static final Field YTD;
    static final Field NAME;
    static final Address ADDRESS;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("d_w_id");
      k.int32("d_id");
      Layout.Definition b = Layout.define();
      NEXT_ORDER = b.int32("d_next_o_id");
      TAX = b.int32("d_tax");
      YTD = b.int64("d_ytd");
      NAME = b.text("d_name", 10);
      ADDRESS = Address.in(b, "d");
      SPEC = TableSpec.of("district", k.build(), b.build());
    }

    private District() {}
  }

  /** CUSTOMER: (C_W_ID, C_D_ID, C_ID). */
  static final class Customer {
    static final TableSpec SPEC;
    static final String BY_NAME = "by_name";
    static final Field BALANCE;
    static final Field YTD_PAYMENT;
    static final Field PAYMENTS;
    static final Field DELIVERIES;
    static final Field DISCOUNT;
    static final Field CREDIT;
    static final Field LAST;
    static final Field FIRST;
    static final Field MIDDLE;
    static final Field CREDIT_LIMIT;
    static final Field SINCE;
    static final Field PHONE;
    static final Address ADDRESS;
    static final Field DATA;

    static {
      KeySpec.Definition k = KeySpec.define();
      Field warehouse = k.int32("c_w_id");
      Field district = k.int32("c_d_id");
      Field id = k.int32("c_id");
      Layout.Definition b = Layout.define();
      BALANCE = b.int64("c_balance");
      YTD_PAYMENT = b.int64("c_ytd_payment");
      PAYMENTS = b.int32("c_payment_cnt");
      DELIVERIES = b.int32("c_delivery_cnt");
      DISCOUNT = b.int32("c_discount");
      CREDIT = b.text("c_credit", 2);
      LAST = b.text("c_last", 16);
      FIRST = b.text("c_first", 16);
      MIDDLE = b.text("c_middle", 2);
      CREDIT_LIMIT = b.int64("c_credit_lim");
      SINCE = b.int64("c_since");
      PHONE = b.text("c_phone", 16);
      ADDRESS = Address.in(b, "c");
      DATA = b.text("c_data", CUSTOMER_DATA_MAX);
      SPEC =
          TableSpec.of("customer", k.build(), b.build())
              .with(IndexSpec.on(BY_NAME, warehouse, district, LAST, FIRST, id));
    }

    private Customer() {}
  }

  /**
   * HISTORY, which has no key in the specification: (stream, sequence). Each loader and each worker
   * of a run has its own stream, so that they do not contend for the last leaf.
   */
  static final class History {
    static final TableSpec SPEC;
    static final Field CUSTOMER;
    static final Field CUSTOMER_DISTRICT;
    static final Field CUSTOMER_WAREHOUSE;
    static final Field DISTRICT;
    static final Field WAREHOUSE;
    static final Field DATE;
    static final Field AMOUNT;
    static final Field DATA;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("h_stream");
      k.int64("h_seq");
      Layout.Definition b = Layout.define();
      CUSTOMER = b.int32("h_c_id");
      CUSTOMER_DISTRICT = b.int32("h_c_d_id");
      CUSTOMER_WAREHOUSE = b.int32("h_c_w_id");
      DISTRICT = b.int32("h_d_id");
      WAREHOUSE = b.int32("h_w_id");
      AMOUNT = b.int64("h_amount");
      DATE = b.int64("h_date");
      DATA = b.text("h_data", 24);
      SPEC = TableSpec.of("history", k.build(), b.build());
    }

    private History() {}
  }

  /** ORDER: (O_W_ID, O_D_ID, O_ID). */
  static final class Order {
    static final TableSpec SPEC;
    static final String BY_CUSTOMER = "by_customer";
    static final Field CARRIER;
    static final Field CUSTOMER;
    static final Field LINES;
    static final Field ALL_LOCAL;
    static final Field ENTRY_DATE;

    static {
      KeySpec.Definition k = KeySpec.define();
      Field warehouse = k.int32("o_w_id");
      Field district = k.int32("o_d_id");
      Field id = k.int32("o_id");
      Layout.Definition b = Layout.define();
      CARRIER = b.int32("o_carrier_id");
      CUSTOMER = b.int32("o_c_id");
      LINES = b.int32("o_ol_cnt");
      ALL_LOCAL = b.int32("o_all_local");
      ENTRY_DATE = b.int64("o_entry_d");
      SPEC =
          TableSpec.of("orders", k.build(), b.build())
              .with(IndexSpec.on(BY_CUSTOMER, warehouse, district, CUSTOMER, id));
    }

    private Order() {}
  }

  /** NEW-ORDER: (NO_W_ID, NO_D_ID, NO_O_ID), without other fields. */
  static final class NewOrder {
    static final TableSpec SPEC;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("no_w_id");
      k.int32("no_d_id");
      k.int32("no_o_id");
      SPEC = TableSpec.of("new_order", k.build(), Layout.define().build());
    }

    private NewOrder() {}
  }

  /** ORDER-LINE: (OL_W_ID, OL_D_ID, OL_O_ID, OL_NUMBER). */
  static final class OrderLine {
    static final TableSpec SPEC;
    static final Field DELIVERY_DATE;
    static final Field AMOUNT;
    static final Field ITEM;
    static final Field SUPPLY_WAREHOUSE;
    static final Field QUANTITY;
    static final Field DISTRICT_INFO;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("ol_w_id");
      k.int32("ol_d_id");
      k.int32("ol_o_id");
      k.int32("ol_number");
      Layout.Definition b = Layout.define();
      DELIVERY_DATE = b.int64("ol_delivery_d");
      AMOUNT = b.int64("ol_amount");
      ITEM = b.int32("ol_i_id");
      SUPPLY_WAREHOUSE = b.int32("ol_supply_w_id");
      QUANTITY = b.int32("ol_quantity");
      DISTRICT_INFO = b.text("ol_dist_info", 24);
      SPEC = TableSpec.of("order_line", k.build(), b.build());
    }

    private OrderLine() {}
  }

  /** STOCK: (S_W_ID, S_I_ID). */
  static final class Stock {
    static final TableSpec SPEC;
    static final Field QUANTITY;
    static final Field ORDERS;
    static final Field REMOTE_ORDERS;
    static final Field YTD;
    static final Field DATA;

    /** S_DIST_01 to S_DIST_10, from index 0. */
    static final Field[] DISTRICTS = new Field[Scale.DISTRICTS];

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("s_w_id");
      k.int32("s_i_id");
      Layout.Definition b = Layout.define();
      QUANTITY = b.int32("s_quantity");
      ORDERS = b.int32("s_order_cnt");
      REMOTE_ORDERS = b.int32("s_remote_cnt");
      YTD = b.int64("s_ytd");
      DATA = b.text("s_data", 50);
      for (int d = 1; d <= DISTRICTS.length; d++) {
        DISTRICTS[d - 1] = b.text("s_dist_" + (d < 10 ? "0" : "") + d, 24);
      }
      SPEC = TableSpec.of("stock", k.build(), b.build());
    }

    private Stock() {}
  }

  /** One row with facts about load and runs; see {@link Meta}. */
  static final class Driver {
    static final TableSpec SPEC;
    static final Field COMPLETE;
    static final Field WAREHOUSES;
    static final Field ITEMS;
    static final Field CUSTOMERS;
    static final Field UNDELIVERED;
    static final Field LOAD_C_LAST;
    static final Field NEXT_STREAM;
    static final Field RUNS;

    static {
      KeySpec.Definition k = KeySpec.define();
      k.int32("id");
      Layout.Definition b = Layout.define();
      COMPLETE = b.int32("complete");
      WAREHOUSES = b.int32("warehouses");
      ITEMS = b.int32("items");
      CUSTOMERS = b.int32("customers");
      UNDELIVERED = b.int32("undelivered");
      LOAD_C_LAST = b.int32("load_c_last");
      NEXT_STREAM = b.int32("next_stream");
      RUNS = b.int32("runs");
      SPEC = TableSpec.of("tpcc_driver", k.build(), b.build());
    }

    private Driver() {}
  }

  /** The five fields of an address, shared by three tables. */
  record Address(Field street1, Field street2, Field city, Field state, Field zip) {
    static Address in(Layout.Definition b, String prefix) {
      return new Address(
          b.text(prefix + "_street_1", 20),
          b.text(prefix + "_street_2", 20),
          b.text(prefix + "_city", 20),
          b.text(prefix + "_state", 2),
          b.text(prefix + "_zip", 9));
    }
  }
}
