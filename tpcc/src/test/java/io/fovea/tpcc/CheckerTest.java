package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Transaction;
import io.fovea.schema.Field;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Warehouse;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import io.fovea.tpcc.bench.Signal;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Plants an inconsistency, and expects exactly the conditions that it violates. */
class CheckerTest {
  private static final int LAST_ORDER = SmallDatabase.SCALE.customers();
  private static final int FIRST_NEW = SmallDatabase.SCALE.firstUndelivered();

  private SmallDatabase db;
  private Tables tables;

  @BeforeEach
  void load() {
    db = new SmallDatabase(2, 1, 1);
    tables = db.tables;
  }

  @AfterEach
  void close() {
    db.close();
  }

  @Test
  void signalEndsTheCheck() {
    StringWriter said = new StringWriter();
    Progress progress = new Progress(new PrintWriter(said));
    try (Shutdown shutdown = new Shutdown()) {
      Checker checker = new Checker(tables, Meta.read(tables), progress, shutdown);
      Signal.arrives(shutdown);
      assertEquals(Exit.INTERRUPTED, assertThrows(DriverException.class, checker::check).exitCode);
    }
    assertTrue(said.toString().startsWith("stopped by a signal: "), said::toString);
  }

  private void expect(Integer... numbers) {
    List<Condition> conditions = db.check();
    assertEquals(12, conditions.size());
    Set<Integer> violated = new TreeSet<>();
    for (Condition c : conditions) {
      if (!c.holds()) {
        violated.add(c.number());
        assertTrue(c.violations() > 0);
        for (String example : c.examples()) {
          assertTrue(example.contains("warehouse "), example);
          assertTrue(example.contains("expected"), example);
        }
      }
    }
    assertEquals(new TreeSet<>(List.of(numbers)), violated, conditions.toString());
  }

  private static Row read(Transaction tx, RowTable table, Key key) {
    Row row = table.row();
    assertTrue(table.get(tx, key, row));
    return row;
  }

  private void add(RowTable table, Key key, Field field, long n) {
    db.database.run(
        tx -> {
          Row row = read(tx, table, key);
          switch (field.type()) {
            case INT32 -> row.setInt(field, (int) (row.getInt(field) + n));
            default -> row.setLong(field, row.getLong(field) + n);
          }
          table.update(tx, row);
        });
  }

  private void delete(RowTable table, Key key) {
    db.database.run(tx -> assertTrue(table.delete(tx, key)));
  }

  private Key order(int o) {
    return tables.order().key().set(2, 7, o);
  }

  private Key newOrder(int o) {
    return tables.newOrder().key().set(2, 7, o);
  }

  private Key line(int o, int n) {
    return tables.orderLine().key().set(2, 7, o, n);
  }

  private Key customer(int c) {
    return tables.customer().key().set(2, 7, c);
  }

  private Key history(int sequence) {
    return tables.history().key().clear().int32(2).int64(sequence);
  }

  @Test
  void nothing() {
    expect();
  }

  @Test
  void one() {
    add(tables.warehouse(), tables.warehouse().key().set(2), Warehouse.YTD, 1);
    expect(1, 8);
    add(tables.district(), tables.district().key().set(2, 7), District.YTD, 1);
    expect(8, 9);
  }

  @Test
  void two() {
    add(tables.district(), tables.district().key().set(2, 7), District.NEXT_ORDER, 1);
    expect(2);
  }

  @Test
  void twoOrderWithoutNewOrder() {
    // max(O_ID) is right and max(NO_O_ID) is wrong.
    delete(tables.newOrder(), newOrder(LAST_ORDER));
    expect(2, 5, 11);
  }

  @Test
  void three() {
    delete(tables.newOrder(), newOrder(LAST_ORDER - 1));
    expect(3, 5, 11);
  }

  @Test
  void four() {
    delete(tables.orderLine(), line(1, 1));
    expect(4, 6);
  }

  @Test
  void five() {
    add(tables.order(), order(FIRST_NEW), Order.CARRIER, 3);
    expect(5, 7, 11);
  }

  @Test
  void fiveNewOrderWithoutOrder() {
    // An additional order in NEW-ORDER also changes the maximum.
    db.database.run(
        tx -> tables.newOrder().put(tx, newOrder(LAST_ORDER + 1), tables.newOrder().row()));
    expect(2, 5, 11);
  }

  @Test
  void sixButNotFour() {
    add(tables.order(), order(1), Order.LINES, 1);
    add(tables.order(), order(2), Order.LINES, -1);
    expect(6);
  }

  @Test
  void sixLineWithoutOrder() {
    db.database.run(
        tx -> {
          Row row = tables.orderLine().row();
          row.setLong(OrderLine.AMOUNT, 5);
          tables.orderLine().insert(tx, line(LAST_ORDER + 5, 1), row);
        });
    expect(4, 6);
  }

  @Test
  void seven() {
    db.database.run(
        tx -> {
          Row row = read(tx, tables.orderLine(), line(1, 1));
          row.setLong(OrderLine.DELIVERY_DATE, Schema.NONE);
          tables.orderLine().update(tx, row);
        });
    expect(7);
  }

  @Test
  void eight() {
    // A warehouse and its districts both miss a payment: only history shows it.
    add(tables.warehouse(), tables.warehouse().key().set(2), Warehouse.YTD, -5);
    add(tables.district(), tables.district().key().set(2, 7), District.YTD, -5);
    expect(8, 9);
  }

  @Test
  void nineButNotEight() {
    add(tables.history(), history(1), History.DISTRICT, 1);
    expect(9);
  }

  @Test
  void ten() {
    add(tables.customer(), customer(4), Customer.BALANCE, 1);
    expect(10, 12);
  }

  @Test
  void tenButNotTwelve() {
    add(tables.history(), history(1), History.CUSTOMER, 1);
    expect(10);
  }

  @Test
  void tenCustomerMissing() {
    delete(tables.customer(), customer(4));
    expect(10);
  }

  @Test
  void eleven() {
    // A correct delivery, on a database that is marked as just loaded.
    db.database.run(
        tx -> {
          tables.newOrder().delete(tx, newOrder(FIRST_NEW));
          Row order = read(tx, tables.order(), order(FIRST_NEW));
          order.setInt(Order.CARRIER, 3);
          tables.order().update(tx, order);
          long sum = 0;
          for (int n = 1; n <= order.getInt(Order.LINES); n++) {
            Row row = read(tx, tables.orderLine(), line(FIRST_NEW, n));
            sum += row.getLong(OrderLine.AMOUNT);
            row.setLong(OrderLine.DELIVERY_DATE, 1);
            tables.orderLine().update(tx, row);
          }
          Row customer = read(tx, tables.customer(), customer(order.getInt(Order.CUSTOMER)));
          customer.setLong(Customer.BALANCE, customer.getLong(Customer.BALANCE) + sum);
          tables.customer().update(tx, customer);
        });
    expect(11);
    Meta.beginRun(tables, 1);
    expect();
  }

  @Test
  void twelve() {
    add(tables.customer(), customer(4), Customer.YTD_PAYMENT, 1);
    expect(12);
  }

  @Test
  void historyOfUnknownCustomer() {
    add(tables.history(), history(1), History.CUSTOMER, 1_000);
    expect(8, 9, 10);
  }

  @Test
  void manyViolationsYieldFewExamples() {
    for (int c = 1; c <= 9; c++) {
      add(tables.customer(), customer(c), Customer.YTD_PAYMENT, 1);
    }
    Condition twelve = db.check().get(11);
    assertEquals(9, twelve.violations());
    assertEquals(5, twelve.examples().size());
    String report = Report.conditions(List.of(twelve));
    assertTrue(report.contains("12  VIOLATED"), report);
    assertTrue(report.contains("warehouse 2, district 7, customer 1:"), report);
    assertTrue(report.contains("and 4 more"), report);
  }
}
