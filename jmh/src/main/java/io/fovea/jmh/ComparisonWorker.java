package io.fovea.jmh;

import io.fovea.jmh.ComparisonRecords.WrongValueException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One engine of {@link StoreComparison}, in a separate JVM: loads the records if they are missing,
 * then executes the commands of its input, and answers each with one line. Output lines that do not
 * begin with {@value #PREFIX} are those of libraries.
 *
 * <pre>
 * answer to the start         ready RECORDS-LOADED-PER-SECOND ISOLATION, 0 if they were not loaded
 * now; or
 * missing REASON: its native library does not load, or it was not built
 *   WORKLOAD THREADS NANOS      done OPERATIONS-PER-SECOND
 * check                       done LOST-UPDATES: all records are read, and their versions count the
 * updates
 *   end                         no answer
 * </pre>
 *
 * On failure, the JVM ends with a stack trace and no answer.
 */
final class ComparisonWorker {
  static final String PREFIX = "beside> ";
  static final String READY = "ready ";
  static final String MISSING = "missing ";
  static final String DONE = "done ";
  static final String CHECK = "check";
  static final String END = "end";

  private static final int LOAD_BATCH = 10_000;
  private static final int CHECK_BATCH = 1000;

  /** The workloads. */
  enum Workload {
    READ,
    /** Reads {@value #SCANNED} records from a random key per transaction. */
    SCAN,
    /** Reads {@value #READS} records and updates {@value #UPDATES} per transaction. */
    UPDATE,
    /** Twice as many of both. */
    UPDATE_8
  }

  static final int SCANNED = 100;
  static final int READS = 4;
  static final int UPDATES = 4;

  /** Operations per clock reading. */
  private static final int READS_PER_LOOK = 16;

  private final StoreAdapter store;
  private final int records;
  private final List<Worker> workers = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicLong updates = new AtomicLong();
  private long lastStart;

  private ComparisonWorker(StoreAdapter store, int records) {
    this.store = store;
    this.records = records;
  }

  /** ENGINE FOLDER MEMORY RECORDS DURABLE LOADED: whether the records are loaded. */
  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    StoreAdapter.Engine engine = StoreAdapter.Engine.valueOf(args[0]);
    int records = Integer.parseInt(args[3]);
    StoreAdapter.Setup setup =
        new StoreAdapter.Setup(
            Path.of(args[1]), Long.parseLong(args[2]), records, Boolean.parseBoolean(args[4]));
    StoreAdapter store;
    try {
      store = engine.open(setup);
    } catch (LinkageError e) {
      // A native library for this platform may be missing. Fovea must run.
      if (engine == StoreAdapter.Engine.FOVEA) {
        throw e;
      }
      Throwable cause = e.getCause() == null ? e : e.getCause();
      out.println(PREFIX + MISSING + String.valueOf(cause).lines().findFirst().orElse(""));
      return;
    }
    try (store) {
      ComparisonWorker work = new ComparisonWorker(store, records);
      double perSecond = Boolean.parseBoolean(args[5]) ? 0 : work.load();
      work.look();
      out.println(PREFIX + READY + perSecond + " " + store.isolation());
      work.serve(out);
    } catch (Exception e) {
      // Threads may hang in native code.
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  /** Returns the records loaded per second, including the time to settle. */
  private double load() throws Exception {
    long begin = System.nanoTime();
    for (long from = 0; from < records; from += LOAD_BATCH) {
      store.load(from, Math.min(records, from + LOAD_BATCH));
    }
    store.settle();
    return records * 1e9 / (System.nanoTime() - begin);
  }

  /** Fills the caches, and determines where scans may begin. */
  private void look() throws Exception {
    if (lost() != 0) {
      throw new WrongValueException("A record was updated before the first update.");
    }
    // The greatest key with enough records after it.
    long[] numbers = new long[records];
    for (int n = 0; n < records; n++) {
      numbers[n] = ComparisonRecords.hash(n) ^ Long.MIN_VALUE;
    }
    Arrays.parallelSort(numbers);
    lastStart = numbers[Math.max(0, records - SCANNED)] ^ Long.MIN_VALUE;
  }

  private void serve(PrintStream out) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null && !line.equals(END); line = in.readLine()) {
      if (line.equals(CHECK)) {
        out.println(PREFIX + DONE + lost());
      } else {
        String[] words = line.split(" ");
        double perSecond =
            measure(
                Workload.valueOf(words[0]), Integer.parseInt(words[1]), Long.parseLong(words[2]));
        out.println(PREFIX + DONE + perSecond);
      }
    }
    threads.shutdown();
    workers.forEach(w -> w.session.close());
  }

  private double measure(Workload workload, int n, long nanos) throws Exception {
    while (workers.size() < n) {
      workers.add(new Worker(store.session(), workers.size() + 1));
    }
    List<Future<Double>> running = new ArrayList<>();
    for (Worker w : workers.subList(0, n)) {
      running.add(threads.submit(() -> w.run(workload, nanos)));
    }
    double sum = 0;
    for (Future<Double> f : running) {
      sum += f.get();
    }
    return sum;
  }

  /**
   * Reads all records in key order, and returns the number of committed updates that are missing.
   */
  private long lost() throws Exception {
    try (StoreAdapter.Session session = store.session()) {
      byte[] from = new byte[ComparisonRecords.KEY_BYTES];
      long count = 0;
      long versions = 0;
      Checker checker;
      int found;
      do {
        checker = new Checker(ComparisonRecords.number(from));
        found = session.scan(from, CHECK_BATCH, checker);
        count += checker.count;
        versions += checker.versions;
        ComparisonRecords.setNumber(checker.last + 1, from);
      } while (found == CHECK_BATCH && checker.last != -1);
      if (count != records) {
        throw new WrongValueException("found %d records, expected %d".formatted(count, records));
      }
      return updates.get() - versions;
    }
  }

  /** Checks the records visited by a scan. */
  private static final class Checker implements StoreAdapter.Visitor {
    private final long from;
    private long last;
    private long count;
    private long versions;

    Checker(long from) {
      this.from = from;
    }

    @Override
    public void again() {
      count = 0;
      versions = 0;
    }

    @Override
    public void record(byte[] key, byte[] value) {
      long number = ComparisonRecords.number(key);
      if (Long.compareUnsigned(number, from) < 0
          || count > 0 && Long.compareUnsigned(number, last) <= 0) {
        throw new WrongValueException("a scan returned to key " + Long.toHexString(number));
      }
      versions += ComparisonRecords.check(key, value);
      last = number;
      count++;
    }
  }

  /** The work of one thread, one slice after another. */
  private final class Worker {
    private final StoreAdapter.Session session;
    private final KeyChooser chooser;
    private final byte[] key = new byte[ComparisonRecords.KEY_BYTES];
    private final byte[][] few = new byte[READS + UPDATES][ComparisonRecords.KEY_BYTES];
    private final byte[][] many = new byte[2 * (READS + UPDATES)][ComparisonRecords.KEY_BYTES];

    Worker(StoreAdapter.Session session, long seed) {
      this.session = session;
      this.chooser = new KeyChooser(records, "uniform", seed);
    }

    /** Returns operations per second. */
    double run(Workload workload, long nanos) throws Exception {
      long begin = System.nanoTime();
      long operations = 0;
      long elapsed;
      do {
        switch (workload) {
          case READ -> {
            for (int i = 0; i < READS_PER_LOOK; i++) {
              read();
            }
            operations += READS_PER_LOOK;
          }
          case SCAN -> {
            scan();
            operations++;
          }
          case UPDATE -> {
            update(few, READS);
            operations++;
          }
          case UPDATE_8 -> {
            update(many, 2 * READS);
            operations++;
          }
        }
        elapsed = System.nanoTime() - begin;
      } while (elapsed < nanos);
      return operations * 1e9 / elapsed;
    }

    private void read() throws Exception {
      ComparisonRecords.key(chooser.next(), key);
      ComparisonRecords.check(key, session.read(key));
    }

    private void scan() throws Exception {
      do {
        ComparisonRecords.key(chooser.next(), key);
      } while (Long.compareUnsigned(ComparisonRecords.number(key), lastStart) > 0);
      int expected = Math.min(records, SCANNED);
      int n = session.scan(key, expected, new Checker(ComparisonRecords.number(key)));
      if (n != expected) {
        throw new WrongValueException("a scan found " + n + " records, expected " + expected);
      }
    }

    private void update(byte[][] keys, int reads) throws Exception {
      for (byte[] k : keys) {
        ComparisonRecords.key(chooser.next(), k);
      }
      session.update(keys, reads);
      updates.addAndGet(keys.length - reads);
    }
  }

  static IOException unexpected(StoreAdapter.Engine engine, String line) {
    return new IOException(
        engine.title + (line == null ? " ended before its answer" : " answered \"" + line + '"'));
  }
}
