package shop;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;

/** What the shop stores. */
final class Tables {
  // customers: a number, and a row of two texts. No two customers have the same e-mail address.
  private static final Layout.Definition CUSTOMER = Layout.define();
  static final Field EMAIL = CUSTOMER.text("email", 80);
  static final Field NAME = CUSTOMER.text("name", 80);
  static final TableSpec CUSTOMERS =
      TableSpec.of("customers", KeySpec.of(FieldType.INT64), CUSTOMER.build())
          .with(IndexSpec.unique("by_email", EMAIL));

  // orders: the customer and a number. The orders of a customer lie together.
  private static final KeySpec.Definition ORDER_KEY = KeySpec.define();
  static final Field CUSTOMER_ID = ORDER_KEY.int64("customer");
  static final Field NUMBER = ORDER_KEY.int32("number");
  private static final Layout.Definition ORDER = Layout.define();
  static final Field CENTS = ORDER.int64("cents");
  static final Field WHAT = ORDER.text("what", 120);
  static final TableSpec ORDERS = TableSpec.of("orders", ORDER_KEY.build(), ORDER.build());

  private Tables() {}
}
