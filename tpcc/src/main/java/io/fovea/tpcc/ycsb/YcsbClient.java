package io.fovea.tpcc.ycsb;

import io.fovea.CommitHandle;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.tpcc.bench.Client;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.Percentiles;
import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.SingleWriterRecorder;

/**
 * Runs the transactions of one client, one after another. A transaction is drawn before its first
 * attempt; all attempts do the same.
 */
final class YcsbClient implements Client, Task<RuntimeException> {
  /**
   * One in this many transactions times its operations: reading the clock costs as much as a read.
   */
  static final int TIMED_OF = 16;

  /** How long a client on a virtual thread runs before it yields. */
  private static final long TURN_NANOS = 1_000_000;

  /** Long enough to park: a virtual thread that only yields may be rescheduled at once. */
  private static final long GIVE_WAY_NANOS = 1_000;

  private static final long BACKOFF_MAX_NANOS = 100_000_000;
  private static final int BACKOFF_DOUBLINGS_MAX = 20;

  private static final int RANDOM_BYTES = 4_096;

  /** Leaves the body of a transaction that was aborted too often. */
  private static final class GivenUp extends RuntimeException {
    private static final long serialVersionUID = 1;
    private static final GivenUp SIGN = new GivenUp();

    private GivenUp() {
      super("aborted too often", null, false, false);
    }
  }

  final Tally tally;
  final Stamps stamps;

  private final Crew crew;
  private final Records records;
  private final RowTable table;
  private final KeyCount count;
  private final Keys keys;
  private final Rng rng;
  private final Kind[] kinds;
  private final boolean turns;
  private final boolean ahead;
  private final int attemptsMax;
  private final long backoffNanos;
  private final SingleWriterRecorder[] latencies;
  private final SingleWriterRecorder[] opLatencies = new SingleWriterRecorder[Op.COUNT];

  private final Key key;
  private final Row row;
  private final Row written;
  private final Range fromKey;
  private final Distinct drawn;
  private final byte[] random = new byte[RANDOM_BYTES + Records.FILLING_MAX];

  // The current transaction.
  private int kind;
  private int size;
  private final Op[] ops;
  private final long[] numbers;

  /** Per operation: records of a scan, field of an update, or offset of a filling. */
  private final int[] details;

  private final long[] opNanos;
  private boolean timed;
  private boolean stamped;
  private long stamp;
  private int attempts;
  private long transactions;
  private long start;
  private CommitHandle commitHandle;

  /** Numbers issued and not committed yet. */
  private final long[] pending;

  private int pendingCount;

  private int inserts;

  private long replaced;

  private long inserted;

  YcsbClient(
      Crew crew,
      Records records,
      KeyCount count,
      Settings settings,
      Rng rng,
      Stamps stamps,
      int digits,
      boolean turns) {
    this.crew = crew;
    this.records = records;
    this.table = records.table;
    this.count = count;
    this.rng = rng;
    this.stamps = stamps;
    this.turns = turns;
    this.ahead = settings.pipelined();
    this.attemptsMax = settings.retries() + 1;
    this.backoffNanos = settings.backoff().toNanos();
    this.keys =
        Keys.of(settings.keys(), settings.theta(), settings.hotKeys(), settings.hotOperations());
    List<Kind> all = settings.kinds();
    this.kinds = all.toArray(Kind[]::new);
    this.tally = new Tally(kinds.length);
    this.latencies = new SingleWriterRecorder[kinds.length];
    int most = 0;
    for (int i = 0; i < kinds.length; i++) {
      most = Math.max(most, kinds[i].size());
      latencies[i] = new SingleWriterRecorder(Percentiles.LATENCY_MAX_NANOS, digits);
      for (Op op : kinds[i].ops()) {
        if (opLatencies[op.ordinal()] == null) {
          opLatencies[op.ordinal()] =
              new SingleWriterRecorder(Percentiles.LATENCY_MAX_NANOS, digits);
        }
      }
    }
    this.ops = new Op[most];
    this.numbers = new long[most];
    this.pending = new long[most];
    this.details = new int[most];
    this.opNanos = new long[most];
    this.drawn = new Distinct(most);
    this.key = table.key();
    this.row = table.row();
    this.written = table.row();
    this.fromKey = Range.atLeast(key);
    for (int i = 0; i < random.length; i++) {
      random[i] = (byte) (' ' + rng.below(95));
    }
  }

  SingleWriterRecorder latencies(int kindIndex) {
    return latencies[kindIndex];
  }

  /** Returns the latencies of an operation in committed attempts; null if not in the workload. */
  SingleWriterRecorder latencies(Op op) {
    return opLatencies[op.ordinal()];
  }

  /** Returns the fields replaced by committed transactions. After the client has ended. */
  long replaced() {
    return replaced;
  }

  /** Returns the records inserted by committed transactions. After the client has ended. */
  long inserted() {
    return inserted;
  }

  /**
   * Returns the numbers of records that were issued but not inserted. After the client has ended.
   */
  long[] pending() {
    return Arrays.copyOf(pending, pendingCount);
  }

  /** Works until the crew stops, on the client's own thread. */
  void work() {
    long turnEnds = System.nanoTime() + TURN_NANOS;
    while (!crew.stopping()) {
      long end = execute() ? acknowledge() : System.nanoTime();
      if (turns && end - turnEnds >= 0) {
        LockSupport.parkNanos(GIVE_WAY_NANOS);
        turnEnds = System.nanoTime() + TURN_NANOS;
      }
    }
  }

  // ------------------------------------------------------------------------------ a transaction

  @Override
  public boolean execute() {
    if (!prepare()) {
      return false;
    }
    TxOptions options = writes() ? TxOptions.defaults() : TxOptions.forReading();
    start = System.nanoTime();
    try {
      if (ahead) {
        commitHandle = records.database.runPipelined(options, this);
      } else {
        records.database.run(options, this);
      }
    } catch (GivenUp e) {
      tally.add(kind, Tally.What.ABANDONED, 1);
      return false;
    } catch (TransactionAbortedException e) {
      if (e.abortCause() != AbortCause.TIMEOUT) {
        throw e;
      }
      tally.aborted(kind, e.abortCause());
      tally.add(kind, Tally.What.ABANDONED, 1);
      return false;
    }
    committed();
    return true;
  }

  @Override
  public CommitHandle commitHandle() {
    return commitHandle;
  }

  @Override
  public long acknowledge() {
    long end = System.nanoTime();
    latencies[kind].recordValue(Math.min(end - start, Percentiles.LATENCY_MAX_NANOS));
    tally.add(kind, Tally.What.COMMITS, 1);
    if (attempts > 1) {
      tally.add(kind, Tally.What.RETRIES, attempts - 1);
    }
    for (int i = 0; i < size; i++) {
      tally.operations(kind, ops[i], 1);
      if (timed) {
        opLatencies[ops[i].ordinal()].recordValue(
            Math.min(opNanos[i], Percentiles.LATENCY_MAX_NANOS));
      }
    }
    return end;
  }

  /** Draws the next transaction; false if none is possible now. */
  private boolean prepare() {
    kind = 0;
    for (int left = rng.below(100) - kinds[0].percent; left >= 0; ) {
      left -= kinds[++kind].percent;
    }
    size = kinds[kind].size();
    kinds[kind].draw(rng, ops);
    timed = transactions++ % TIMED_OF == 0;
    drawn.clear();
    long limit = count.limit();
    inserts = 0;
    for (int i = 0; i < size; i++) {
      Op op = ops[i];
      details[i] = op == Op.SCAN ? rng.between(1, Workload.SCAN_MAX) : rng.below(RANDOM_BYTES);
      if (op == Op.INSERT) {
        if (inserts == pendingCount && !take()) {
          LockSupport.parkNanos(GIVE_WAY_NANOS);
          return false;
        }
        numbers[i] = pending[inserts++];
      } else {
        do {
          numbers[i] = keys.next(rng, limit);
        } while (!drawn.add(numbers[i]));
      }
    }
    return true;
  }

  private boolean take() {
    long number = count.take();
    if (number >= 0) {
      pending[pendingCount++] = number;
    }
    return number >= 0;
  }

  private boolean writes() {
    stamped = false;
    boolean writes = false;
    for (int i = 0; i < size; i++) {
      writes |= ops[i].writes;
      stamped |= ops[i] == Op.WRITE || ops[i] == Op.INSERT;
    }
    return writes;
  }

  /** Updates the expected state of the records. */
  private void committed() {
    if (stamped) {
      stamps.commit();
    }
    for (int i = 0; i < size; i++) {
      switch (ops[i]) {
        case UPDATE, MODIFY -> replaced++;
        case INSERT -> {
          count.committed(numbers[i]);
          inserted++;
        }
        default -> {}
      }
    }
    // Numbers that remain are from an abandoned transaction with more inserts.
    pendingCount -= inserts;
    System.arraycopy(pending, inserts, pending, 0, pendingCount);
  }

  /** Runs one attempt. */
  @Override
  public void run(Transaction tx) {
    attempts = tx.attempt();
    AbortCause spoilt = tx.previousAbort();
    if (spoilt != null) {
      tally.aborted(kind, spoilt);
      if (attempts > attemptsMax) {
        throw GivenUp.SIGN;
      }
      backOff();
    }
    if (stamped) {
      stamp = stamps.next();
    }
    if (!timed) {
      for (int i = 0; i < size; i++) {
        execute(tx, i);
      }
      return;
    }
    long before = System.nanoTime();
    for (int i = 0; i < size; i++) {
      execute(tx, i);
      long now = System.nanoTime();
      opNanos[i] = now - before;
      before = now;
    }
  }

  /**
   * Waits before a retry: twice as long each time, times a random factor from a half to one. Holds
   * nothing, since the attempt has yet to read.
   */
  private void backOff() {
    if (backoffNanos > 0) {
      int doublings = Math.min(attempts - 2, BACKOFF_DOUBLINGS_MAX);
      long most = Math.min(backoffNanos << doublings, BACKOFF_MAX_NANOS);
      LockSupport.parkNanos(most / 2 + Keys.uniform(rng, most / 2 + 1));
    }
  }

  private void execute(Transaction tx, int i) {
    long number = numbers[i];
    Records.set(key, number);
    switch (ops[i]) {
      case READ -> require(table.get(tx, key, row), number);
      case WRITE -> {
        records.fill(written, number, stamp, random, details[i]);
        table.put(tx, key, written);
      }
      case UPDATE, MODIFY -> {
        require(table.getForUpdate(tx, key, row), number);
        records.replace(row, details[i] % records.fields(), random, details[i]);
        table.update(tx, row);
      }
      case INSERT -> {
        records.fill(written, number, stamp, random, details[i]);
        table.insert(tx, key, written);
      }
      case SCAN -> scan(tx, number, details[i]);
    }
  }

  private void scan(Transaction tx, long first, int length) {
    try (RowCursor cursor = table.scan(tx, fromKey, ScanOrder.ASCENDING)) {
      for (int n = 0; n < length && cursor.next(); n++) {
        long number = cursor.row().getLong(records.number);
        if (n == 0 && number != first) {
          throw new IllegalStateException("a scan from record " + first + " began at " + number);
        }
      }
    }
  }

  private void require(boolean found, long number) {
    if (!found || row.getLong(records.number) != number) {
      throw new IllegalStateException(
          found
              ? "record " + number + " holds the number " + row.getLong(records.number)
              : "missing record " + number);
    }
  }
}
