package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.VerifyReport;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.error.PoolTooSmallException;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import io.fovea.txn.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs each protocol with each timestamp store: lists with plain and unique indexes ({@link
 * Workload}); rows that exchange unique values ({@link Seats}); and the latter with 2,000 virtual
 * threads in the smallest pool.
 *
 * <p>{@code -Dchecker.hour=N} runs for N minutes in total, shared by the pairs. Otherwise each pair
 * gets a short round, and the threads one pair per protocol. {@code -Dchecker.seed=N} sets the
 * first seed, {@code -Dchecker.pairs=REGEX} selects pairs.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class MatrixTest {
  private static final long MINUTES = Long.getLong("checker.hour", 0);
  private static final String PAIRS = System.getProperty("checker.pairs", ".*");

  /** The tests of this class: lists, seats, threads. */
  private static final int TESTS = 3;

  /** Transactions per round: short form, and long form. */
  private static final int LISTS = 500;

  private static final int LISTS_LONG = 20_000;
  private static final int SEATS = 1_200;
  private static final int SEATS_LONG = 20_000;

  private static final int THREADS = 2_000;

  /** Number of rows, only part of which fits into the smallest pool. */
  private static final int ROWS = 1_000;

  private static final int PAD = 480;

  static Stream<Setup> pairs() {
    List<Setup> pairs = new ArrayList<>();
    for (Protocol protocol : Protocol.values()) {
      for (TimestampStore store : TimestampStore.values()) {
        pairs.add(
            Setup.usual(protocol + " with " + store)
                .options(o -> o.experiments(exp -> exp.protocol(protocol).timestamps(store)))
                .settings(c -> Settings.exact(c, 16 << 10))
                .pessimistic(32));
      }
    }
    return pairs.stream().filter(pair -> pair.toString().matches(PAIRS));
  }

  /** Returns one pair per protocol, with different stores; all pairs in the long form. */
  static Stream<Setup> onePairPerProtocol() {
    List<Setup> all = pairs().toList();
    int stores = TimestampStore.values().length;
    return all.stream()
        .filter(p -> MINUTES > 0 || all.indexOf(p) % stores == all.indexOf(p) / stores % stores);
  }

  private interface Round {
    Checker.Report run(long seed);
  }

  private static void rounds(String test, Setup setup, Round round) {
    EngineLog.silence();
    long pairs = Math.max(1, pairs().count());
    long share = TimeUnit.MINUTES.toNanos(MINUTES) / (TESTS * pairs);
    long end = System.nanoTime() + share;
    Totals totals = new Totals();
    long seed = SerializabilityTest.SEED;
    do {
      totals.add(round.run(seed).requireClean(setup + ", seed " + seed));
      seed++;
    } while (System.nanoTime() - end < 0);
    SoakReport.line("MatrixTest." + test + ", " + setup, totals.toString());
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void lists(Setup setup) {
    rounds(
        "lists",
        setup,
        seed -> {
          Workload load = new Workload(setup, seed);
          try (Database db = setup.open(new SimDisk(seed))) {
            int each = (MINUTES == 0 ? LISTS : LISTS_LONG) / setup.threads();
            History history = load.run(db, each, () -> false);
            history.addAll(List.of(Workload.readAll(db, ListClient.PROCESSES - 1, 1)));
            return Checker.check(history);
          }
        });
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void seats(Setup setup) {
    int each = (MINUTES == 0 ? SEATS : SEATS_LONG) / setup.threads();
    rounds("seats", setup, seed -> seats(setup, seed, Seats.HOT, 20, setup.threads(), each));
  }

  @ParameterizedTest
  @MethodSource("onePairPerProtocol")
  void thousandsOfThreads(Setup setup) {
    Setup small = setup.options(o -> o.transactions(t -> t.maxActive(64)));
    long bytes = smallest(small);
    Setup smallest = small.options(o -> o.bufferBytes(bytes));
    rounds(
        "threads", setup, seed -> seats(smallest, seed, ROWS, PAD, THREADS, MINUTES == 0 ? 1 : 4));
  }

  /** Returns the smallest pool that the engine accepts. */
  private static long smallest(Setup setup) {
    Setup tiny = setup.options(o -> o.bufferBytes(1 << 10));
    return assertThrows(PoolTooSmallException.class, () -> tiny.open(new SimDisk(1)).close())
        .bytesNeeded();
  }

  private static Checker.Report seats(
      Setup setup, long seed, int rows, int pad, int threads, int each) {
    AtomicLong ids = new AtomicLong();
    List<SeatTxn> all = new ArrayList<>();
    Queue<Throwable> failed = new ConcurrentLinkedQueue<>();
    try (Database db = setup.open(new SimDisk(seed))) {
      Seats.create(db, rows, pad);
      List<Seats> clients = new ArrayList<>();
      List<Thread> running = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        SplittableRandom random = new SplittableRandom(seed * 1_000_003 + i);
        Seats client = new Seats(db, rows, ids, random, setup.pessimistic());
        clients.add(client);
        Runnable body =
            () -> {
              try {
                for (int n = 0; n < each && failed.isEmpty(); n++) {
                  client.transaction();
                }
              } catch (Throwable t) {
                failed.add(t);
              }
            };
        boolean platform = threads < THREADS && i % 2 == 0;
        running.add(platform ? Thread.ofPlatform().start(body) : Thread.startVirtualThread(body));
      }
      for (Thread t : running) {
        t.join();
      }
      if (!failed.isEmpty()) {
        throw new AssertionError(setup + ", seed " + seed + ": " + failed.peek(), failed.peek());
      }
      Seats last = new Seats(db, rows, ids, new SplittableRandom(seed), 0);
      last.last();
      clients.add(last);
      clients.forEach(c -> all.addAll(c.done()));
      VerifyReport verified = db.verify();
      assertTrue(verified.ok(), verified::toString);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    Checker.Report report = SeatChecker.check(rows, all);
    long ok = all.stream().filter(t -> t.committed).count();
    assertTrue(ok > all.size() / 20, () -> setup + ": hardly any committed: " + report);
    return report;
  }
}
