package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Row;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Rng;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The check of a list finds exactly the missing transactions. */
class AcknowledgedTest {
  @TempDir Path folder;

  private final ByteBuffer record = Acknowledged.record();
  private final Tally tally = new Tally();
  private SmallDatabase db;
  private Session session;
  private Path file;

  @BeforeEach
  void load() {
    db = new SmallDatabase(1, 1, 1);
    Rng rng = new Rng(7);
    NuRand nuRand = NuRand.forRun(rng, db.meta.loadCLast());
    int stream = Meta.beginRun(db.tables, 1);
    session = new Session(db.tables, SmallDatabase.SCALE, 1, nuRand, rng, stream, new int[] {1}, 0);
    file = folder.resolve("list");
  }

  @AfterEach
  void close() {
    db.close();
  }

  /** Runs transactions and lists the committed ones. */
  private int work(Txn txn, int n) {
    int listed = 0;
    try (Acknowledged list = new Acknowledged(file)) {
      for (int i = 0; i < n; i++) {
        txn.prepare(1);
        txn.execute(tally, 0);
        if (!txn.rolledBack()) {
          txn.acknowledge(list, record);
          listed++;
        }
      }
    }
    return listed;
  }

  private AcknowledgedCheck.Result check() {
    return new AcknowledgedCheck(db.tables).check(file);
  }

  @Test
  void findsAllTransactions() throws IOException {
    int listed = work(new NewOrderTxn(session), 1_300);
    listed += work(new PaymentTxn(session), 1_300);
    listed += work(new OrderStatusTxn(session), 1) - 1;
    assertEquals((long) listed * Acknowledged.RECORD_BYTES, Files.size(file));
    assertEquals(new AcknowledgedCheck.Result(listed, 0, List.of()), check());
  }

  @Test
  void detectsALostOrder() {
    NewOrderTxn txn = new NewOrderTxn(session);
    int listed = work(txn, 1);
    int o = txn.orderId;
    db.database.run(
        tx -> {
          for (int d = 1; d <= Scale.DISTRICTS; d++) {
            db.tables.order().delete(tx, db.tables.order().key().set(1, d, o));
          }
        });
    AcknowledgedCheck.Result result = check();
    assertEquals(listed, result.missing());
    assertTrue(result.examples().get(0).contains("found none"), result.toString());
  }

  @Test
  void detectsAnOrderOfAnotherCustomer() {
    NewOrderTxn txn = new NewOrderTxn(session);
    work(txn, 1);
    db.database.run(
        tx -> {
          Row row = db.tables.order().row();
          for (int d = 1; d <= Scale.DISTRICTS; d++) {
            if (db.tables.order().get(tx, db.tables.order().key().set(1, d, txn.orderId), row)) {
              row.setInt(Schema.Order.CUSTOMER, row.getInt(Schema.Order.CUSTOMER) % 30 + 1);
              db.tables.order().update(tx, row);
            }
          }
        });
    assertEquals(1, check().missing());
  }

  @Test
  void detectsALostPayment() {
    int listed = work(new PaymentTxn(session), 3);
    db.database.run(
        tx ->
            db.tables
                .history()
                .delete(tx, db.tables.history().key().clear().int32(session.stream).int64(2)));
    AcknowledgedCheck.Result result = check();
    assertEquals(listed, result.records());
    assertEquals(1, result.missing());
    assertTrue(result.examples().get(0).startsWith("Payment 2 of stream"), result.toString());
  }

  @Test
  void partialRecordIsSkippedAndOverwritten() throws IOException {
    int listed = work(new PaymentTxn(session), 2);
    Files.write(file, new byte[5], StandardOpenOption.APPEND);
    assertEquals(listed, check().records());
    work(new PaymentTxn(session), 0);
    assertEquals(2L * Acknowledged.RECORD_BYTES, Files.size(file));
  }

  @Test
  void otherFilesAreRefused() throws IOException {
    Files.writeString(file, "this is a diary and not a list of transactions at all");
    assertEquals(Exit.UNUSABLE, assertThrows(DriverException.class, this::check).exitCode);
  }
}
