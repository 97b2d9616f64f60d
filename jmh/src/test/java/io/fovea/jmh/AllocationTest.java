package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Point operations and scans allocate nothing once the JVM has compiled them.
 *
 * <p>The JVM counts the bytes that a thread allocates, exactly, so this depends on no time. Before
 * the last compilation there may be garbage, and a recompilation may cause more. So rounds are
 * repeated until one allocates nothing; the test fails if none of {@value #ROUNDS} does.
 */
@Tag("slow")
class AllocationTest {
  private static final int ROUNDS = 60;
  private static final int TRANSACTIONS = 1_000;
  private static final int OPERATIONS = 100;
  private static final int RECORDS = 20_000;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final KeyChooser chooser = new KeyChooser(RECORDS, "uniform", 1);
  private Database db;
  private RowTable stock;
  private Key key;
  private Row row;
  private long sum;

  /**
   * Runs the operations of one transaction, and returns the bytes allocated by the measured part.
   */
  private interface Operations {
    long run(Transaction tx);
  }

  @BeforeEach
  void open() {
    db = Database.inMemory(Options.defaults().bufferBytes(64L << 20));
    stock = BudgetTables.loadStock(db, RECORDS);
    key = stock.key();
    row = stock.row();
  }

  @AfterEach
  void close() {
    db.close();
  }

  private long now() {
    return threads.getCurrentThreadAllocatedBytes();
  }

  /** Returns the bytes allocated by 100,000 operations, without begin and commit. */
  private long allocated(Operations operations) {
    long bytes = 0;
    for (int i = 0; i < TRANSACTIONS; i++) {
      try (Transaction tx = db.begin()) {
        bytes += operations.run(tx);
        tx.commit();
      }
    }
    return bytes;
  }

  private void assertAllocatesNothing(Operations operations) {
    long least = Long.MAX_VALUE;
    for (int round = 0; round < ROUNDS && least > 0; round++) {
      least = Math.min(least, allocated(operations));
    }
    assertTrue(
        least == 0,
        "at least "
            + least
            + " bytes for "
            + TRANSACTIONS * OPERATIONS
            + " operations; find them with: java -jar jmh/target/benchmarks.jar Budget -prof gc");
    assertTrue(sum != 0, "nothing was read");
  }

  private void read(Transaction tx) {
    if (stock.get(tx, BudgetTables.stockKey(key, chooser.next()), row)) {
      sum += row.getInt(BudgetTables.QUANTITY);
    }
  }

  @Test
  void pointReads() {
    assertAllocatesNothing(
        tx -> {
          long before = now();
          for (int i = 0; i < OPERATIONS; i++) {
            read(tx);
          }
          return now() - before;
        });
  }

  /** Locations are cached for half of the records, so there are correct, wrong and unknown ones. */
  @Test
  void pointReadsByPlace() {
    db.close();
    db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes(64L << 20)
                .memory(mem -> mem.locationCacheBytes(1))
                .experiments(exp -> exp.cacheAllKeyLocations(true)));
    stock = BudgetTables.loadStock(db, 3 * RECORDS);
    key = stock.key();
    row = stock.row();
    pointReads();
  }

  @Test
  void updates() {
    assertAllocatesNothing(
        tx -> {
          long before = now();
          for (int i = 0; i < OPERATIONS; i++) {
            read(tx);
            row.setInt(BudgetTables.ORDERS, row.getInt(BudgetTables.ORDERS) + 1);
            stock.update(tx, row);
          }
          return now() - before;
        });
  }

  /**
   * Opening a scan allocates the cursor, and the first record its row; further records allocate
   * nothing.
   */
  @Test
  void stepsOfScans() {
    Range all = Range.all();
    assertAllocatesNothing(
        tx -> {
          try (RowCursor cursor = stock.scan(tx, all, ScanOrder.ASCENDING)) {
            step(cursor);
            long before = now();
            for (int i = 0; i < OPERATIONS; i++) {
              step(cursor);
            }
            return now() - before;
          }
        });
  }

  private void step(RowCursor cursor) {
    if (cursor.next()) {
      sum += cursor.row().getInt(BudgetTables.QUANTITY);
    }
  }
}
