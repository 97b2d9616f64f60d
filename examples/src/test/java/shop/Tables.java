package shop;

import io.fovea.ObjectSpec;
import io.fovea.schema.Id;

/** What the shop stores. */
final class Tables {
  record Customer(@Id long id, String email, String name) {}

  record Order(@Id long number, long customer, String what, long cents) {}

  static final ObjectSpec<Long, Customer> CUSTOMERS =
      ObjectSpec.of("customers", Long.class, Customer.class).unique("byEmail", "email");

  static final ObjectSpec<Long, Order> ORDERS =
      ObjectSpec.of("orders", Long.class, Order.class).index("byCustomer", "customer");

  private Tables() {}
}
