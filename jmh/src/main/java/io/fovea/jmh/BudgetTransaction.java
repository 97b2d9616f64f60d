package io.fovea.jmh;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.Task;
import io.fovea.Transaction;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of a nearly empty transaction. Budget: begin and commit 400 ns.
 *
 * <p>The key is constant, so its page and item are in the first-level cache, and only the
 * transaction's own work remains.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class BudgetTransaction {

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Worker {
    private final Task<RuntimeException> nothing = tx -> {};
    private final Task<RuntimeException> read = this::read;
    private final Task<RuntimeException> update = this::update;
    private BudgetPoint.Stock stock;
    private Key key;
    private Row row;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(BudgetPoint.Stock stock) {
      this.stock = stock;
      int mine = (int) (Thread.currentThread().threadId() * 997 % stock.records);
      key = BudgetTables.stockKey(stock.table.key(), mine);
      row = stock.table.row();
    }

    private void read(Transaction tx) {
      stock.table.get(tx, key, row);
    }

    private void update(Transaction tx) {
      stock.table.get(tx, key, row);
      row.setInt(BudgetTables.ORDERS, row.getInt(BudgetTables.ORDERS) + 1);
      stock.table.update(tx, row);
    }
  }

  /** Line "begin and commit": through {@code run}, as the driver does it. */
  @Benchmark
  public void beginAndCommit(BudgetPoint.Stock stock, Worker worker) {
    stock.db.run(worker.nothing);
  }

  /** The same with explicit begin and commit. */
  @Benchmark
  public void beginAndCommitExplicitly(BudgetPoint.Stock stock) {
    try (Transaction tx = stock.db.begin()) {
      tx.commit();
    }
  }

  /** The same with one read of a cached record. */
  @Benchmark
  public void oneRead(BudgetPoint.Stock stock, Worker worker) {
    stock.db.run(worker.read);
  }

  /** The same with one read-modify-write of a cached record. */
  @Benchmark
  public void oneUpdate(BudgetPoint.Stock stock, Worker worker) {
    stock.db.run(worker.update);
  }
}
