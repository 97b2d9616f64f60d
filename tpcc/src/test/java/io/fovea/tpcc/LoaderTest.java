package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.tpcc.Schema.Customer;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Item;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Stock;
import io.fovea.tpcc.Schema.Warehouse;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LoaderTest {
  private static final int WAREHOUSES = 2;
  private static final Scale SCALE = SmallDatabase.SCALE;
  private static SmallDatabase db;

  @BeforeAll
  static void load() {
    db = new SmallDatabase(WAREHOUSES, 1, 2);
  }

  @AfterAll
  static void close() {
    db.close();
  }

  @Test
  void cardinalitiesOfTheSpecification() {
    assertEquals(new Scale(100_000, 3_000, 900), Scale.FULL);
    assertEquals(2_101, Scale.FULL.firstUndelivered());
    assertEquals(10, Scale.DISTRICTS);
  }

  @Test
  void cardinalities() {
    int districts = WAREHOUSES * Scale.DISTRICTS;
    Tables t = db.tables;
    assertEquals(SCALE.items(), db.count(t.item()));
    assertEquals(WAREHOUSES, db.count(t.warehouse()));
    assertEquals(districts, db.count(t.district()));
    assertEquals(WAREHOUSES * SCALE.items(), db.count(t.stock()));
    assertEquals(districts * SCALE.customers(), db.count(t.customer()));
    assertEquals(districts * SCALE.customers(), db.count(t.history()));
    assertEquals(districts * SCALE.customers(), db.count(t.order()));
    assertEquals(districts * SCALE.undelivered(), db.count(t.newOrder()));
    int[] lines = {0};
    db.each(t.order(), (key, row) -> lines[0] += row.getInt(Order.LINES));
    assertEquals(lines[0], db.count(t.orderLine()));
    assertEquals(new Meta(true, WAREHOUSES, SCALE, db.meta.loadCLast(), 0), db.meta);
  }

  @Test
  void allConditionsHold() {
    for (Condition c : db.check()) {
      assertTrue(c.holds(), c.toString());
    }
  }

  private static void text(Row row, Field field, String pattern) {
    String value = row.getText(field);
    assertTrue(value.matches(pattern), () -> field.name() + " is '" + value + "'");
  }

  private static void range(long value, long min, long max) {
    assertTrue(value >= min && value <= max, () -> value + " is not in " + min + ".." + max);
  }

  private static void address(Row row, Schema.Address a) {
    text(row, a.street1(), "\\w{10,20}");
    text(row, a.street2(), "\\w{10,20}");
    text(row, a.city(), "\\w{10,20}");
    text(row, a.state(), "[A-Z]{2}");
    text(row, a.zip(), "\\d{4}11111");
  }

  @Test
  void items() {
    int[] original = {0};
    db.each(
        db.tables.item(),
        (key, row) -> {
          range(row.getInt(Item.IMAGE), 1, 10_000);
          range(row.getLong(Item.PRICE), 1_00, 100_00);
          text(row, Item.NAME, "\\w{14,24}");
          text(row, Item.DATA, "\\w{26,50}");
          original[0] += row.getText(Item.DATA).contains("ORIGINAL") ? 1 : 0;
        });
    assertEquals(SCALE.items() / 10, original[0]);
  }

  @Test
  void warehousesAndDistricts() {
    db.each(
        db.tables.warehouse(),
        (key, row) -> {
          text(row, Warehouse.NAME, "\\w{6,10}");
          address(row, Warehouse.ADDRESS);
          range(row.getInt(Warehouse.TAX), 0, 2_000);
          assertEquals(10L * 10_00 * SCALE.customers(), row.getLong(Warehouse.YTD));
        });
    db.each(
        db.tables.district(),
        (key, row) -> {
          text(row, District.NAME, "\\w{6,10}");
          address(row, District.ADDRESS);
          range(row.getInt(District.TAX), 0, 2_000);
          assertEquals(10_00 * SCALE.customers(), row.getLong(District.YTD));
          assertEquals(SCALE.customers() + 1, row.getInt(District.NEXT_ORDER));
        });
  }

  @Test
  void stock() {
    int[] original = new int[WAREHOUSES + 1];
    db.each(
        db.tables.stock(),
        (key, row) -> {
          range(row.getInt(Stock.QUANTITY), 10, 100);
          assertEquals(0, row.getLong(Stock.YTD));
          assertEquals(0, row.getInt(Stock.ORDERS));
          assertEquals(0, row.getInt(Stock.REMOTE_ORDERS));
          for (Field info : Stock.DISTRICTS) {
            text(row, info, "\\w{24}");
          }
          text(row, Stock.DATA, "\\w{26,50}");
          original[key.getInt(0)] += row.getText(Stock.DATA).contains("ORIGINAL") ? 1 : 0;
        });
    for (int w = 1; w <= WAREHOUSES; w++) {
      assertEquals(SCALE.items() / 10, original[w]);
    }
  }

  @Test
  void customers() {
    Map<Integer, Integer> badCredit = new TreeMap<>();
    db.each(
        db.tables.customer(),
        (key, row) -> {
          int c = key.getInt(2);
          assertEquals(LastNames.of(c - 1), row.getText(Customer.LAST));
          text(row, Customer.FIRST, "\\w{8,16}");
          text(row, Customer.MIDDLE, "OE");
          address(row, Customer.ADDRESS);
          text(row, Customer.PHONE, "\\d{16}");
          text(row, Customer.CREDIT, "GC|BC");
          assertEquals(50_000_00, row.getLong(Customer.CREDIT_LIMIT));
          range(row.getInt(Customer.DISCOUNT), 0, 5_000);
          assertEquals(-10_00, row.getLong(Customer.BALANCE));
          assertEquals(10_00, row.getLong(Customer.YTD_PAYMENT));
          assertEquals(1, row.getInt(Customer.PAYMENTS));
          assertEquals(0, row.getInt(Customer.DELIVERIES));
          text(row, Customer.DATA, "\\w{300,500}");
          if (row.getText(Customer.CREDIT).equals("BC")) {
            badCredit.merge(10 * key.getInt(0) + key.getInt(1), 1, Integer::sum);
          }
        });
    assertEquals(WAREHOUSES * Scale.DISTRICTS, badCredit.size());
    badCredit.forEach((district, n) -> assertEquals(SCALE.customers() / 10, n));
  }

  @Test
  void histories() {
    db.each(
        db.tables.history(),
        (key, row) -> {
          assertEquals(key.getInt(0), row.getInt(History.WAREHOUSE));
          assertEquals(row.getInt(History.WAREHOUSE), row.getInt(History.CUSTOMER_WAREHOUSE));
          assertEquals(row.getInt(History.DISTRICT), row.getInt(History.CUSTOMER_DISTRICT));
          assertEquals(10_00, row.getLong(History.AMOUNT));
          text(row, History.DATA, "\\w{12,24}");
        });
  }

  @Test
  void orders() {
    Map<Integer, BitSet> customers = new TreeMap<>();
    BitSet lineCounts = new BitSet();
    db.each(
        db.tables.order(),
        (key, row) -> {
          int district = 10 * key.getInt(0) + key.getInt(1);
          BitSet seen = customers.computeIfAbsent(district, d -> new BitSet());
          int c = row.getInt(Order.CUSTOMER);
          assertTrue(!seen.get(c), "O_C_ID is a permutation");
          seen.set(c);
          lineCounts.set(row.getInt(Order.LINES));
          assertEquals(1, row.getInt(Order.ALL_LOCAL));
          boolean delivered = key.getInt(2) < SCALE.firstUndelivered();
          int carrier = row.getInt(Order.CARRIER);
          range(carrier, delivered ? 1 : Schema.NONE, delivered ? 10 : Schema.NONE);
          assertTrue(row.getLong(Order.ENTRY_DATE) > 0);
        });
    assertEquals(11, lineCounts.cardinality());
    customers.forEach((d, seen) -> assertEquals(SCALE.customers(), seen.cardinality()));
    db.each(
        db.tables.newOrder(),
        (key, row) -> range(key.getInt(2), SCALE.firstUndelivered(), SCALE.customers()));
  }

  @Test
  void orderLines() {
    db.each(
        db.tables.orderLine(),
        (key, row) -> {
          boolean delivered = key.getInt(2) < SCALE.firstUndelivered();
          range(row.getInt(OrderLine.ITEM), 1, SCALE.items());
          assertEquals(key.getInt(0), row.getInt(OrderLine.SUPPLY_WAREHOUSE));
          assertEquals(5, row.getInt(OrderLine.QUANTITY));
          long amount = row.getLong(OrderLine.AMOUNT);
          range(amount, delivered ? 0 : 1, delivered ? 0 : 9_999_99);
          assertEquals(delivered, row.getLong(OrderLine.DELIVERY_DATE) != Schema.NONE);
          text(row, OrderLine.DISTRICT_INFO, "\\w{24}");
        });
  }

  private static List<String> contents(SmallDatabase d) {
    List<String> all = new ArrayList<>();
    for (RowTable t : List.of(d.tables.item(), d.tables.stock(), d.tables.customer())) {
      d.each(t, (key, row) -> all.add(t.name() + key.getInt(0) + describe(t, row)));
    }
    d.each(
        d.tables.orderLine(),
        (key, row) ->
            all.add(
                key.getInt(2)
                    + " "
                    + row.getInt(OrderLine.ITEM)
                    + " "
                    + row.getLong(OrderLine.AMOUNT)));
    return all;
  }

  private static String describe(RowTable t, Row row) {
    StringBuilder s = new StringBuilder();
    for (Field f : t.spec().layout().fields()) {
      if (f.equals(Customer.SINCE)) {
        continue;
      }
      switch (f.type()) {
        case INT32 -> s.append(row.getInt(f));
        case INT64 -> s.append(row.getLong(f));
        default -> s.append(row.getText(f));
      }
    }
    return s.toString();
  }

  @Test
  void contentsDependOnTheSeedOnly() {
    try (SmallDatabase sameSeed = new SmallDatabase(WAREHOUSES, 1, 1);
        SmallDatabase otherSeed = new SmallDatabase(WAREHOUSES, 2, 1)) {
      List<String> expected = contents(db);
      assertEquals(expected, contents(sameSeed));
      assertNotEquals(expected, contents(otherSeed));
      assertEquals(db.meta.loadCLast(), sameSeed.meta.loadCLast());
    }
  }
}
