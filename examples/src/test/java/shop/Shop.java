package shop;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;

/** What the shop does, each in one transaction. Any thread may call it. */
final class Shop {
  private final Database db;
  private final RowTable customers;
  private final RowTable orders;
  private final RowIndex byEmail;

  Shop(Database db) {
    this.db = db;
    this.customers = db.table(Tables.CUSTOMERS); // opens the table, or creates it
    this.orders = db.table(Tables.ORDERS);
    this.byEmail = customers.index("by_email");
  }

  /** Adds a customer. DuplicateKeyException: the e-mail address is taken. */
  long register(String email, String name) {
    Key key = customers.key();
    Row row = customers.row().setText(Tables.EMAIL, email).setText(Tables.NAME, name);
    return db.call(
        tx -> {
          long id = 1 + lastCustomer(tx);
          customers.insert(tx, key.set(id), row);
          return id;
        });
  }

  /** Adds an order, with the next number of this customer. */
  int order(String email, String what, long cents) {
    Key key = orders.key();
    Row row = orders.row().setText(Tables.WHAT, what).setLong(Tables.CENTS, cents);
    return db.call(
        tx -> {
          long customer = customer(tx, email);
          int number = 1;
          Range all = Range.prefix(orders.key().int64(customer));
          try (RowCursor c = orders.scan(tx, all, ScanOrder.DESCENDING)) {
            if (c.next()) {
              number += c.key().getInt(Tables.NUMBER);
            }
          }
          orders.insert(tx, key.clear().int64(customer).int32(number), row);
          return number;
        });
  }

  /** The orders of a customer, the newest first. */
  List<String> orders(String email) {
    return db.read(
        tx -> {
          List<String> found = new ArrayList<>(); // in the body: it may run more than once
          Range all = Range.prefix(orders.key().int64(customer(tx, email)));
          try (RowCursor c = orders.scan(tx, all, ScanOrder.DESCENDING)) {
            while (c.next()) {
              Row row = c.row();
              int number = c.key().getInt(Tables.NUMBER);
              found.add(
                  number + ": " + row.getText(Tables.WHAT) + ", " + row.getLong(Tables.CENTS));
            }
          }
          return found;
        });
  }

  private long customer(Transaction tx, String email) {
    Range one = Range.prefix(byEmail.key().set(email));
    try (RowCursor c = byEmail.scan(tx, one, ScanOrder.ASCENDING)) {
      if (!c.next()) {
        throw new NoSuchElementException("There is no customer " + email);
      }
      return c.key().getLong(0); // the primary key of the record
    }
  }

  private long lastCustomer(Transaction tx) {
    try (RowCursor c = customers.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
      return c.next() ? c.key().getLong(0) : 0;
    }
  }
}
