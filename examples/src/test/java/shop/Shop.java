package shop;

import io.fovea.Database;
import io.fovea.Index;
import io.fovea.ScanOrder;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.Transaction;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import shop.Tables.Customer;
import shop.Tables.Order;

/** What the shop does. Safe for use by all threads. */
final class Shop {
  private final Database db;
  private final Table<Long, Customer> customers;
  private final Table<Long, Order> orders;
  private final Index<String, Long, Customer> byEmail;
  private final Index<Long, Long, Order> byCustomer;
  private final Sequence customerIds;
  private final Sequence orderNumbers;

  Shop(Database db) {
    this.db = db;
    this.customers = db.table(Tables.CUSTOMERS); // opens the table, or creates it
    this.orders = db.table(Tables.ORDERS);
    this.byEmail = customers.index("byEmail", String.class);
    this.byCustomer = orders.index("byCustomer", Long.class);
    this.customerIds = db.sequence("customers");
    this.orderNumbers = db.sequence("orders");
  }

  /** Adds a customer. DuplicateKeyException: the e-mail address is taken. */
  long register(String email, String name) {
    Customer customer = new Customer(customerIds.next(), email, name);
    db.run(tx -> customers.insert(tx, customer));
    return customer.id();
  }

  /** Adds an order and returns its number. */
  long order(String email, String what, long cents) {
    return db.call(
        tx -> {
          long customer = customer(tx, email);
          Order order = new Order(orderNumbers.next(), customer, what, cents);
          orders.insert(tx, order);
          return order.number();
        });
  }

  /** The orders of a customer, the newest first. */
  List<String> orders(String email) {
    return db.read(
        tx ->
            byCustomer.stream(tx, customer(tx, email), ScanOrder.DESCENDING)
                .map(Map.Entry::getValue)
                .map(o -> o.number() + ": " + o.what() + ", " + o.cents())
                .toList());
  }

  private long customer(Transaction tx, String email) {
    Map.Entry<Long, Customer> found = byEmail.get(tx, email);
    if (found == null) {
      throw new NoSuchElementException("There is no customer " + email + ".");
    }
    return found.getKey();
  }
}
