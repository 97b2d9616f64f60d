package io.fovea.jmh;

import static io.fovea.jmh.BudgetState.OPERATIONS;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
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
 * The cost of point operations through the whole API. Budget: a read 250 ns, a read-modify-write
 * 400 ns, including its commit.
 *
 * <p>Every method runs one transaction of {@value BudgetState#OPERATIONS} operations on records of
 * {@value BudgetTables#STOCK_BYTES} bytes and reports the time per operation, which includes a 32nd
 * of a begin and a commit ({@link BudgetTransaction#beginAndCommit}).
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class BudgetPoint {

  /** STOCK, filled. */
  @State(Scope.Benchmark)
  public static class Stock extends BudgetState {
    RowTable table;

    /** Loads the table. */
    @Setup(Level.Trial)
    public void load() {
      open(BudgetTables.STOCK_BYTES);
      table = BudgetTables.loadStock(db, records);
    }
  }

  /** The state of one thread. Nothing is allocated while measuring. */
  @State(Scope.Thread)
  public static class Worker {
    private final Task<RuntimeException> reads = this::reads;
    private final Task<RuntimeException> readsAndUpdate = this::readsAndUpdate;
    private final Task<RuntimeException> updates = this::updates;
    private RowTable table;
    private KeyChooser chooser;
    private Key key;
    private Row row;
    private long sum;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(Stock stock) {
      table = stock.table;
      key = table.key();
      row = table.row();
      chooser = new KeyChooser(stock.records, stock.keys, Thread.currentThread().threadId());
    }

    private void read(Transaction tx) {
      if (!table.get(tx, BudgetTables.stockKey(key, chooser.next()), row)) {
        throw new IllegalStateException("A loaded record is missing.");
      }
      sum += row.getInt(BudgetTables.QUANTITY);
    }

    private void update(Transaction tx) {
      read(tx);
      int quantity = row.getInt(BudgetTables.QUANTITY);
      row.setInt(BudgetTables.QUANTITY, quantity >= 20 ? quantity - 10 : quantity + 81);
      row.setLong(BudgetTables.YTD, row.getLong(BudgetTables.YTD) + 10);
      row.setInt(BudgetTables.ORDERS, row.getInt(BudgetTables.ORDERS) + 1);
      table.update(tx, row);
    }

    private void reads(Transaction tx) {
      for (int i = 0; i < OPERATIONS; i++) {
        read(tx);
      }
    }

    private void readsAndUpdate(Transaction tx) {
      for (int i = 1; i < OPERATIONS; i++) {
        read(tx);
      }
      update(tx);
    }

    private void updates(Transaction tx) {
      for (int i = 0; i < OPERATIONS; i++) {
        update(tx);
      }
    }
  }

  /** Line "read": copies a whole record by key. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long pointRead(Stock stock, Worker worker) {
    stock.db.run(worker.reads);
    return worker.sum;
  }

  /**
   * The same, with one write in the transaction, so that the commit timestamp is above those of the
   * reads: each is validated by raising its item's rts. Costs more than {@link #pointRead} by the
   * line "validation", and by a 32nd of the difference between an update and a read.
   */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long pointReadThenValidate(Stock stock, Worker worker) {
    stock.db.run(worker.readsAndUpdate);
    return worker.sum;
  }

  /** Line "read-modify-write": changes STOCK as New-Order does. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long readModifyWrite(Stock stock, Worker worker) {
    stock.db.run(worker.updates);
    return worker.sum;
  }
}
