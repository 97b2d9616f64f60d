package io.fovea.jmh;

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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of an insert and of a delete through the whole API. Budget: 430 ns each, including the
 * commit.
 *
 * <p>ORDER-LINE is a queue of orders per district: an insert appends an order to a district, a
 * delete removes the oldest one. Each benchmark times one of the two, and a helper does the other
 * outside the measured time, so the table keeps its size. A transaction is long enough (about 15
 * us) for JMH's two clock readings per invocation.
 *
 * <p>Inserts arrive as in TPC-C, {@value BudgetTables#LINES} neighbors at a time; the first one
 * descends to a leaf outside the cache. Deleted orders were inserted long before.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class BudgetInsertDelete {
  static final int ORDERS = 3;

  static final int OPERATIONS = ORDERS * BudgetTables.LINES;

  /** ORDER-LINE, filled. One thread only, which owns the districts. */
  @State(Scope.Benchmark)
  public static class Lines extends BudgetState {
    static final int LINE_BYTES = 96;

    private final Task<RuntimeException> inserts = this::inserts;
    private final Task<RuntimeException> deletes = this::deletes;
    private RowTable table;
    private int districts;
    private int[] newest;
    private int[] oldest;
    private int[] chosen;
    private KeyChooser chooser;
    private Key key;
    private Row row;

    /** Loads the table. */
    @Setup(Level.Trial)
    public void load() {
      open(LINE_BYTES);
      districts = 100;
      int orders = Math.max(10, records / districts / BudgetTables.LINES);
      table = BudgetTables.loadOrderLine(db, districts, orders);
      newest = new int[districts];
      oldest = new int[districts];
      java.util.Arrays.fill(newest, orders);
      java.util.Arrays.fill(oldest, 1);
      chosen = new int[ORDERS];
      chooser = new KeyChooser(districts, "uniform", 1);
      key = table.key();
      row = table.row();
      BudgetTables.fillLine(row, 1);
    }

    /** Chooses districts for the next transaction, all different, and for its counterpart. */
    private void choose() {
      int district = chooser.next();
      for (int i = 0; i < ORDERS; i++) {
        chosen[i] = (district + i * 37) % districts;
      }
    }

    private void insert() {
      db.run(inserts);
      for (int d : chosen) {
        newest[d]++;
      }
    }

    private void delete() {
      db.run(deletes);
      for (int d : chosen) {
        oldest[d]++;
      }
    }

    private void inserts(Transaction tx) {
      for (int d : chosen) {
        for (int line = 1; line <= BudgetTables.LINES; line++) {
          table.insert(tx, BudgetTables.lineKey(key, d, newest[d] + 1, line), row);
        }
      }
    }

    private void deletes(Transaction tx) {
      for (int d : chosen) {
        for (int line = 1; line <= BudgetTables.LINES; line++) {
          if (!table.delete(tx, BudgetTables.lineKey(key, d, oldest[d], line))) {
            throw new IllegalStateException("An inserted line is missing.");
          }
        }
      }
    }
  }

  /** Deletes the inserted orders, outside the measured time. */
  @State(Scope.Benchmark)
  public static class ThenDelete {
    /** Chooses districts. */
    @Setup(Level.Invocation)
    public void choose(Lines lines) {
      lines.choose();
    }

    /** Deletes orders. */
    @TearDown(Level.Invocation)
    public void delete(Lines lines) {
      lines.delete();
    }
  }

  /** Inserts the orders to be deleted later, outside the measured time. */
  @State(Scope.Benchmark)
  public static class FirstInsert {
    /** Chooses districts and inserts orders. */
    @Setup(Level.Invocation)
    public void insert(Lines lines) {
      lines.choose();
      lines.insert();
    }
  }

  /** Line "insert". */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public void insert(Lines lines, ThenDelete after) {
    lines.insert();
  }

  /** Line "delete". */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public void delete(Lines lines, FirstInsert before) {
    lines.delete();
  }
}
