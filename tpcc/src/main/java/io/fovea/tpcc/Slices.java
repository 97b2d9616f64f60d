package io.fovea.tpcc;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Rng;
import io.fovea.tpcc.bench.Shutdown;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.IntToLongFunction;

/**
 * Runs the full mix on one thread and one warehouse, in memory and without a log, in slices of
 * transactions. Used by {@code docs/benchmarks/TpccTurns.java}, which alternates two builds in one
 * JVM. It measures the processor time of the thread, which other load on the machine hardly
 * affects.
 *
 * <p>One thread. The database stays open until the JVM ends.
 */
public final class Slices implements IntToLongFunction {
  private static final long SEED = 1;
  private static final long BUFFER_BYTES = 700L << 20;

  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final Tally tally = new Tally();
  private final Mix.Dealer dealer;
  private final Txn[] txns;

  /** Loads a warehouse. */
  public Slices() {
    Options options = Options.defaults().bufferBytes(BUFFER_BYTES).durability(Durability.NONE);
    Tables tables = Tables.open(Database.inMemory(options));
    Progress silent = new Progress(new PrintWriter(PrintWriter.nullWriter()));
    try (Shutdown shutdown = new Shutdown()) {
      new Loader(tables, 1, Scale.FULL, SEED, 1, silent, shutdown).load();
    }
    Meta meta = Meta.read(tables);
    int stream = Meta.beginRun(tables, 1);
    Rng rng = new Rng(SEED);
    NuRand nuRand = NuRand.forRun(rng, meta.loadCLast());
    Session session = new Session(tables, meta.scale(), 1, nuRand, rng, stream, new int[] {1}, 0);
    dealer = Mix.FULL.dealer(rng);
    txns =
        new Txn[] {
          new NewOrderTxn(session),
          new PaymentTxn(session),
          new OrderStatusTxn(session),
          new DeliveryTxn(session),
          new StockLevelTxn(session)
        };
  }

  /**
   * Runs transactions.
   *
   * @param transactions the number of transactions
   * @return the processor time of the calling thread, in nanoseconds
   */
  @Override
  public long applyAsLong(int transactions) {
    long start = threads.getCurrentThreadCpuTime();
    for (int i = 0; i < transactions; i++) {
      int type = dealer.next();
      txns[type].prepare(1);
      txns[type].execute(tally, type);
    }
    return threads.getCurrentThreadCpuTime() - start;
  }
}
