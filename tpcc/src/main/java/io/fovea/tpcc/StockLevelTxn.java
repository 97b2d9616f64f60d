package io.fovea.tpcc;

import io.fovea.Batch;
import io.fovea.Key;
import io.fovea.Projection;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.District;
import io.fovea.tpcc.Schema.OrderLine;
import io.fovea.tpcc.Schema.Stock;

/** Stock-Level, clause 2.8: read only. */
final class StockLevelTxn extends Txn {
  private static final int ORDERS = 20;
  private static final Projection DISTRICT_FIELDS =
      Projection.of(District.SPEC.layout(), District.NEXT_ORDER);
  private static final Projection STOCK_FIELDS = Projection.of(Stock.SPEC.layout(), Stock.QUANTITY);

  private final RowTable districts = session.tables.district();
  private final Key districtKey = districts.key();
  private final Row district = districts.row();
  private final RowTable lines = session.tables.orderLine();
  private final Key first = lines.key();
  private final Key last = lines.key();
  private final Range lastOrders = Range.between(first, last);
  private final RowTable stocks = session.tables.stock();
  private final Batch batch = stocks.batch(ORDERS * 15);
  private final IntSet items = new IntSet(ORDERS * 15);

  // inputs
  int w;
  int d;
  int threshold;

  /** Output: distinct items below the threshold. */
  int low;

  StockLevelTxn(Session session) {
    super(session, true);
  }

  @Override
  void prepare(int home) {
    w = home;
    d = session.drawStockLevelDistrict();
    threshold = session.rng.between(10, 20);
  }

  @Override
  void body(Transaction tx) {
    boolean found = districts.get(tx, districtKey.set(w, d), district, DISTRICT_FIELDS);
    Session.require(found, "district", w, d, 0);
    int next = district.getInt(District.NEXT_ORDER);
    first.set(w, d, next - ORDERS);
    last.set(w, d, next - 1);
    items.clear();
    batch.clear();
    try (RowCursor cursor = lines.scan(tx, lastOrders, ScanOrder.ASCENDING)) {
      while (cursor.next()) {
        int item = cursor.row().getInt(OrderLine.ITEM);
        if (items.add(item)) {
          batch.add().set(w, item);
        }
      }
    }
    stocks.getAll(tx, batch, STOCK_FIELDS);
    low = 0;
    for (int i = 0; i < batch.size(); i++) {
      Session.require(batch.found(i), "stock", w, 0, i);
      if (batch.row(i).getInt(Stock.QUANTITY) < threshold) {
        low++;
      }
    }
  }
}
