package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.schema.TableSpec;
import java.util.List;

/** The opened tables of a database. Any thread. */
record Tables(
    Database database,
    RowTable item,
    RowTable warehouse,
    RowTable district,
    RowTable customer,
    RowIndex customerByName,
    RowTable history,
    RowTable order,
    RowIndex orderByCustomer,
    RowTable newOrder,
    RowTable orderLine,
    RowTable stock,
    RowTable driver) {

  /** The nine tables of clause 1.3. */
  private static final List<TableSpec> NINE =
      List.of(
          Schema.Item.SPEC,
          Schema.Warehouse.SPEC,
          Schema.District.SPEC,
          Schema.Customer.SPEC,
          Schema.History.SPEC,
          Schema.Order.SPEC,
          Schema.NewOrder.SPEC,
          Schema.OrderLine.SPEC,
          Schema.Stock.SPEC);

  /**
   * Drops the tables; {@link #open} recreates them. The driver's table, which records that the load
   * is incomplete, goes last, so that an interrupted drop is detected and repeated.
   */
  static void drop(Database db) {
    NINE.forEach(spec -> db.dropTable(spec.name()));
    db.dropTable(Schema.Driver.SPEC.name());
  }

  static Tables open(Database db) {
    RowTable customer = db.table(Schema.Customer.SPEC);
    RowTable order = db.table(Schema.Order.SPEC);
    return new Tables(
        db,
        db.table(Schema.Item.SPEC),
        db.table(Schema.Warehouse.SPEC),
        db.table(Schema.District.SPEC),
        customer,
        customer.index(Schema.Customer.BY_NAME),
        db.table(Schema.History.SPEC),
        order,
        order.index(Schema.Order.BY_CUSTOMER),
        db.table(Schema.NewOrder.SPEC),
        db.table(Schema.OrderLine.SPEC),
        db.table(Schema.Stock.SPEC),
        db.table(Schema.Driver.SPEC));
  }
}
