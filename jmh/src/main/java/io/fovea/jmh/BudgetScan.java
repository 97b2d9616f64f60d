package io.fovea.jmh;

import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Task;
import io.fovea.Transaction;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of scans through the whole API. Budget: opening 260 ns, a step 35 ns, an update at a
 * cursor 130 ns including its commit.
 *
 * <p>ORDER-LINE has orders of {@value BudgetTables#LINES} lines. The lines of an order are scanned
 * through a prefix range; the first leaf is not in the cache.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class BudgetScan {
  private static final int OPENS = 16;
  private static final int STEPS = 256;
  private static final int ORDERS = 10;
  private static final int LINES_OF_ORDERS = ORDERS * BudgetTables.LINES;

  /** ORDER-LINE, filled. */
  @State(Scope.Benchmark)
  public static class Lines extends BudgetState {
    private RowTable table;
    private int districts;
    private int orders;

    /** Loads the table. */
    @Setup(Level.Trial)
    public void load() {
      open(BudgetInsertDelete.Lines.LINE_BYTES);
      districts = 100;
      orders = Math.max(STEPS / BudgetTables.LINES + 2, records / districts / BudgetTables.LINES);
      table = BudgetTables.loadOrderLine(db, districts, orders);
    }
  }

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Worker {
    private final Task<RuntimeException> opens = this::opens;
    private final Task<RuntimeException> steps = this::steps;
    private final Task<RuntimeException> scansOfOrders = tx -> orders(tx, false);
    private final Task<RuntimeException> updatesOfOrders = tx -> orders(tx, true);
    private Lines lines;
    private KeyChooser chooser;
    private Key low;
    private Range prefix;
    private Range fromHere;
    private long sum;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(Lines lines) {
      this.lines = lines;
      chooser =
          new KeyChooser(
              lines.districts * lines.orders, lines.keys, Thread.currentThread().threadId());
      low = lines.table.key();
      prefix = Range.prefix(low);
      fromHere = Range.atLeast(low);
    }

    private void order(int n) {
      int district = n / lines.orders;
      low.set(
          district / BudgetTables.DISTRICTS + 1,
          district % BudgetTables.DISTRICTS + 1,
          n % lines.orders + 1);
    }

    private void opens(Transaction tx) {
      for (int i = 0; i < OPENS; i++) {
        order(chooser.next());
        try (RowCursor cursor = lines.table.scan(tx, prefix, ScanOrder.ASCENDING)) {
          if (cursor.next()) {
            sum += cursor.row().getLong(BudgetTables.AMOUNT);
          }
        }
      }
    }

    private void steps(Transaction tx) {
      order(chooser.random(lines.districts * lines.orders - STEPS / BudgetTables.LINES - 1));
      try (RowCursor cursor = lines.table.scan(tx, fromHere, ScanOrder.ASCENDING)) {
        for (int i = 0; i < STEPS && cursor.next(); i++) {
          sum += cursor.row().getLong(BudgetTables.AMOUNT);
        }
      }
    }

    private void orders(Transaction tx, boolean update) {
      for (int i = 0; i < ORDERS; i++) {
        order(chooser.next());
        try (RowCursor cursor = lines.table.scan(tx, prefix, ScanOrder.ASCENDING)) {
          while (cursor.next()) {
            Row row = cursor.row();
            long delivered = row.getLong(BudgetTables.DELIVERED);
            sum += delivered;
            if (update) {
              row.setLong(BudgetTables.DELIVERED, delivered + 1);
              lines.table.update(tx, row);
            }
          }
        }
      }
    }
  }

  /** Line "scan open": opens a scan, reads its first record and ends it; 16 per transaction. */
  @Benchmark
  @OperationsPerInvocation(OPENS)
  public long scanOpen(Lines lines, Worker worker) {
    lines.db.run(worker.opens);
    return worker.sum;
  }

  /**
   * Line "scan step": scans 256 records in one transaction; a step includes a 256th of {@link
   * #scanOpen} and of begin and commit.
   */
  @Benchmark
  @OperationsPerInvocation(STEPS)
  public long scanStep(Lines lines, Worker worker) {
    lines.db.run(worker.steps);
    return worker.sum;
  }

  /** Scans ten orders of ten lines, as Delivery does, without the updates. */
  @Benchmark
  @OperationsPerInvocation(LINES_OF_ORDERS)
  public long scanOfOrders(Lines lines, Worker worker) {
    lines.db.run(worker.scansOfOrders);
    return worker.sum;
  }

  /**
   * The same, updating each line at the cursor. Line "update at a cursor" is the difference to
   * {@link #scanOfOrders}.
   */
  @Benchmark
  @OperationsPerInvocation(LINES_OF_ORDERS)
  public long updateAtCursor(Lines lines, Worker worker) {
    lines.db.run(worker.updatesOfOrders);
    return worker.sum;
  }
}
