package io.fovea.jmh;

import java.io.Closeable;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.DoubleUnaryOperator;

/**
 * Runs one operation of the budget for a slice of time, without JMH. {@link BudgetComparison} loads
 * this class once per build, with the benchmarks of that build, so it uses only their long-stable
 * names, and is itself used only through interfaces of the JDK. One thread.
 */
public final class BudgetPiece implements DoubleUnaryOperator, Closeable {
  /** Approximate time between two readings of the thread's time. */
  private static final long STEP_NANOS = 1_000_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** The operations, named after their benchmarks. */
  public enum Operation {
    /** The benchmark of this name. */
    POINT_READ,
    /** The benchmark of this name. */
    POINT_READ_THEN_VALIDATE,
    /** The benchmark of this name. */
    READ_MODIFY_WRITE,
    /** The benchmark of this name. */
    SCAN_OPEN,
    /** The benchmark of this name. */
    SCAN_STEP,
    /** The benchmark of this name. */
    SCAN_OF_ORDERS,
    /** The benchmark of this name. */
    UPDATE_AT_CURSOR,
    /** The benchmark of this name. */
    INSERT,
    /** The benchmark of this name. */
    DELETE,
    /** The benchmark of this name. */
    BEGIN_AND_COMMIT,
    /** The benchmark of this name. */
    BEGIN_AND_COMMIT_EXPLICITLY,
    /** The benchmark of this name. */
    ONE_READ,
    /** The benchmark of this name. */
    ONE_UPDATE
  }

  /** A transaction, or its measured part, and its number of operations. */
  private record Work(Runnable before, Runnable measured, Runnable after, int operations) {
    boolean isAlone() {
      return before == NOTHING && after == NOTHING;
    }
  }

  private static final Runnable NOTHING = () -> {};

  private final Work work;
  private final BudgetState state;

  /** Repetitions in the last step. */
  private int times = 1;

  /**
   * Loads the records.
   *
   * @param operation the name of an {@link Operation}
   * @param records the number of records
   */
  public BudgetPiece(String operation, int records) {
    Operation o = Operation.valueOf(operation);
    switch (o) {
      case SCAN_OPEN, SCAN_STEP, SCAN_OF_ORDERS, UPDATE_AT_CURSOR -> {
        BudgetScan.Lines lines = state(new BudgetScan.Lines(), records);
        lines.load();
        state = lines;
        work = scan(o, lines);
      }
      case INSERT, DELETE -> {
        BudgetInsertDelete.Lines lines = state(new BudgetInsertDelete.Lines(), records);
        lines.load();
        state = lines;
        work = change(o, lines);
      }
      default -> {
        BudgetPoint.Stock stock = state(new BudgetPoint.Stock(), records);
        stock.load();
        state = stock;
        work = ofOne(o) ? transaction(o, stock) : point(o, stock);
      }
    }
  }

  private static boolean ofOne(Operation o) {
    return o.ordinal() >= Operation.BEGIN_AND_COMMIT.ordinal();
  }

  private static <S extends BudgetState> S state(S state, int records) {
    state.records = records;
    state.keys = "uniform";
    state.translation = "PREDICTIVE";
    return state;
  }

  @Override
  public void close() {
    state.close();
  }

  private static Work point(Operation o, BudgetPoint.Stock stock) {
    BudgetPoint.Worker worker = new BudgetPoint.Worker();
    worker.make(stock);
    BudgetPoint b = new BudgetPoint();
    return alone(
        switch (o) {
          case POINT_READ -> () -> b.pointRead(stock, worker);
          case READ_MODIFY_WRITE -> () -> b.readModifyWrite(stock, worker);
          default -> () -> b.pointReadThenValidate(stock, worker);
        },
        BudgetState.OPERATIONS);
  }

  private static Work transaction(Operation o, BudgetPoint.Stock stock) {
    BudgetTransaction.Worker worker = new BudgetTransaction.Worker();
    worker.make(stock);
    BudgetTransaction b = new BudgetTransaction();
    return alone(
        switch (o) {
          case BEGIN_AND_COMMIT -> () -> b.beginAndCommit(stock, worker);
          case ONE_READ -> () -> b.oneRead(stock, worker);
          case ONE_UPDATE -> () -> b.oneUpdate(stock, worker);
          default -> () -> b.beginAndCommitExplicitly(stock);
        },
        1);
  }

  private static Work scan(Operation o, BudgetScan.Lines lines) {
    BudgetScan.Worker worker = new BudgetScan.Worker();
    worker.make(lines);
    BudgetScan b = new BudgetScan();
    return switch (o) {
      case SCAN_OPEN -> alone(() -> b.scanOpen(lines, worker), 16);
      case SCAN_STEP -> alone(() -> b.scanStep(lines, worker), 256);
      case SCAN_OF_ORDERS -> alone(() -> b.scanOfOrders(lines, worker), 100);
      default -> alone(() -> b.updateAtCursor(lines, worker), 100);
    };
  }

  private static Work change(Operation o, BudgetInsertDelete.Lines lines) {
    BudgetInsertDelete b = new BudgetInsertDelete();
    if (o == Operation.INSERT) {
      BudgetInsertDelete.ThenDelete then = new BudgetInsertDelete.ThenDelete();
      return new Work(
          () -> then.choose(lines),
          () -> b.insert(lines, then),
          () -> then.delete(lines),
          BudgetInsertDelete.OPERATIONS);
    }
    BudgetInsertDelete.FirstInsert first = new BudgetInsertDelete.FirstInsert();
    return new Work(
        () -> first.insert(lines),
        () -> b.delete(lines, first),
        NOTHING,
        BudgetInsertDelete.OPERATIONS);
  }

  private static Work alone(Runnable transaction, int operations) {
    return new Work(NOTHING, transaction, NOTHING, operations);
  }

  /**
   * Runs for about this long.
   *
   * @param nanos of the thread's time, including unmeasured parts
   * @return nanoseconds per operation
   */
  @Override
  public double applyAsDouble(double nanos) {
    double measured = 0;
    long operations = 0;
    for (double all = 0; all < nanos; ) {
      int n = times;
      long began = THREADS.getCurrentThreadCpuTime();
      long inside = work.isAlone() ? alone(n) : part(n);
      long took = Math.max(1, THREADS.getCurrentThreadCpuTime() - began);
      all += took;
      measured += work.isAlone() ? took : inside;
      operations += (long) n * work.operations();
      times = Math.clamp((long) ((double) n * STEP_NANOS / took), 1, 1 << 20);
    }
    return measured / operations;
  }

  private long alone(int n) {
    Runnable measured = work.measured();
    for (int i = 0; i < n; i++) {
      measured.run();
    }
    return 0;
  }

  /** Uses the clock, which is cheaper than the thread's time; the median discards interruptions. */
  private long part(int n) {
    long inside = 0;
    for (int i = 0; i < n; i++) {
      work.before().run();
      long began = System.nanoTime();
      work.measured().run();
      inside += System.nanoTime() - began;
      work.after().run();
    }
    return inside;
  }
}
