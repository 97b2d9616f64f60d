package io.fovea.jmh;

import io.fovea.Key;
import io.fovea.Row;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
import org.openjdk.jmh.annotations.GroupThreads;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of querying the number of records of a table. Budget: a microsecond.
 *
 * <p>Alone, and concurrent with a thread that changes the number with each commit: a sum that mixes
 * states is then discarded, and finally the writer is stopped.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = "-Xmx1g")
public class TableCounts {
  /** The key that the writer inserts and deletes. */
  @State(Scope.Thread)
  public static class Writer {
    private Key key;
    private Row row;
    private boolean there;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(BudgetPoint.Stock stock) {
      key = BudgetTables.stockKey(stock.table.key(), stock.records + 7);
      row = stock.table.row();
      there = false;
    }

    void write(BudgetPoint.Stock stock) {
      stock.db.run(
          tx -> {
            if (there) {
              stock.table.delete(tx, key);
            } else {
              stock.table.put(tx, key, row);
            }
          });
      there = !there;
    }
  }

  /** Counts without writers. */
  @Benchmark
  public long count(BudgetPoint.Stock stock) {
    return stock.table.count();
  }

  /** Counts with a concurrent writer. */
  @Benchmark
  @Group("beside")
  @GroupThreads(1)
  public long counted(BudgetPoint.Stock stock) {
    return stock.table.count();
  }

  /** The writer. */
  @Benchmark
  @Group("beside")
  @GroupThreads(1)
  public void written(BudgetPoint.Stock stock, Writer writer) {
    writer.write(stock);
  }
}
