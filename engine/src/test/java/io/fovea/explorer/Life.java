package io.fovea.explorer;

import io.fovea.BufferShare;
import io.fovea.CommitHandle;
import io.fovea.Database;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One opening of the database, with the threads that use it. */
final class Life {
  /** The state of the database as a whole. */
  enum State {
    RUNNING,
    /** Users may find that the database is closed. */
    CLOSING,
    /** The power is off: all that is durable is on the disk. */
    KILLED
  }

  @FunctionalInterface
  interface Body {
    void run(Transaction tx) throws RuntimeException;
  }

  /** No wait may take longer: what it waits for would never happen. */
  private static final long LATE_TICKS = 300;

  final Setup setup;
  final Database db;
  final ExpectedState expected;
  final SetClock clock;
  final Path scratch;

  /** The data file; null if there is none. */
  final @Nullable Path file;

  /** The buffer shared with a neighbor; null if none. */
  final @Nullable BufferShare share;

  final Set<Feature> features;

  /** The features from which workers choose their steps, repeated by weight. */
  private volatile List<Feature> deck = List.of();

  final List<Worker> workers;
  final Overlaps overlaps;
  final Watchdog watchdog;
  final Bank bank;
  final Sequence ids;

  /** Small records that belong to larger ones: acknowledged writes, versions, counts. */
  final Table<byte[], byte[]> small;

  final Table<byte[], byte[]> lists;
  final Table<byte[], byte[]> longs;
  final Table<byte[], byte[]> ranges;

  volatile State state = State.RUNNING;

  /** Whether devices fail. */
  volatile boolean faults;

  /** Whether off-heap memory is or was refused. */
  volatile boolean refused;

  /** Whether it is refused now. */
  volatile boolean refusing;

  volatile boolean stop;
  final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  final IssuedValues issued = new IssuedValues();
  final AtomicLong steps = new AtomicLong();
  final Map<String, AtomicLong> refusals = new ConcurrentHashMap<>();
  private final Map<Class<?>, Object> states = new ConcurrentHashMap<>();
  private final Map<Feature, Semaphore> places = new EnumMap<>(Feature.class);

  Life(Round round, Database db, @Nullable Path file) {
    this.setup = round.setup;
    this.db = db;
    this.expected = round.expected;
    this.clock = round.clock;
    this.scratch = round.scratch;
    this.file = file;
    this.share = round.share;
    this.features = round.features;
    this.workers = round.workers;
    this.overlaps = round.overlaps;
    this.watchdog = round.watchdog;
    for (Feature f : Feature.values()) {
      places.put(f, new Semaphore(f.atOnce));
    }
    deal(features);
    small = db.table(TableSpec.bytes("small", 32)).bytes();
    lists = db.table(TableSpec.bytes("lists", 32)).bytes();
    longs = db.table(TableSpec.bytes("longs", 32)).bytes();
    ranges = db.table(TableSpec.bytes("ranges", 32)).bytes();
    bank = new Bank(db);
    ids = db.sequence("ids");
  }

  /** Advances the clock, for rows that expire. */
  void pass(long millis) {
    clock.pass(millis);
    expected.clock(clock.millis());
  }

  /** Returns a feature's state for this opening. */
  <T> T state(Class<T> type, Supplier<T> made) {
    return type.cast(states.computeIfAbsent(type, t -> made.get()));
  }

  // ------------------------------------------------------------------------------------- threads

  /** Makes workers choose steps of these features from now on. */
  private void deal(Collection<Feature> some) {
    List<Feature> all = new ArrayList<>();
    for (Feature f : some) {
      for (int i = 0; i < f.weight; i++) {
        all.add(f);
      }
    }
    deck = all;
  }

  /** Makes workers choose from a few features, at least one of which has its own steps. */
  List<Feature> narrow(Random random, int max) {
    List<Feature> all = new ArrayList<>(features);
    all.removeIf(f -> f.weight == 0);
    Collections.shuffle(all, random);
    List<Feature> some = List.copyOf(all.subList(0, Math.min(all.size(), 1 + random.nextInt(max))));
    deal(some);
    return some;
  }

  /** Returns when a step of a feature is running, or after a timeout. */
  void await(Feature f, long nanosMax) {
    long until = System.nanoTime() + nanosMax;
    while (!stop && System.nanoTime() < until) {
      for (Worker h : workers) {
        if ((h.busy & 1L << f.ordinal()) != 0) {
          return;
        }
      }
      Thread.onSpinWait();
    }
  }

  /** Does steps until it is stopped. */
  void work(Worker worker) {
    worker.thread = Thread.currentThread();
    try {
      while (!stop && failure.get() == null) {
        step(worker);
      }
    } catch (Throwable t) {
      fail(new Violation("a step escaped", t));
    } finally {
      worker.busy = 0;
      worker.thread = null;
    }
  }

  private void step(Worker worker) {
    List<Feature> all = deck;
    Feature f = all.get(worker.random.nextInt(all.size()));
    Semaphore place = places.get(f);
    if (!place.tryAcquire()) {
      LockSupport.parkNanos(50_000); // there may be no other step
      return;
    }
    try {
      perform(f, worker, f.step);
    } finally {
      place.release();
    }
  }

  void perform(Feature f, Worker worker, Step step) {
    long before = worker.busy;
    overlaps.begins(f, workers);
    besideEndings(f);
    worker.since = watchdog.ticks();
    worker.limited = false;
    worker.busy = before | 1L << f.ordinal();
    try {
      step.run(this, worker);
      overlaps.done.incrementAndGet(f.ordinal());
    } catch (Throwable t) {
      judge(f, worker, t);
    } finally {
      worker.busy = before;
      steps.incrementAndGet();
      boolean unused = Thread.interrupted();
    }
  }

  /** Counts an operation that begins while the database ends, or while resources are refused. */
  private void besideEndings(Feature f) {
    if (faults) {
      overlaps.beside(f, Feature.FAULT);
    }
    if (refusing) {
      overlaps.beside(f, Feature.MEMORY);
    }
    if (state == State.CLOSING) {
      overlaps.beside(f, Feature.CLOSE);
    }
    if (state == State.KILLED) {
      overlaps.beside(f, Feature.KILL);
    }
  }

  void fail(Throwable t) {
    if (failure.compareAndSet(null, t)) {
      stop = true;
    }
  }

  /** Fails with a violation unless a feature may throw this exception now. */
  private void judge(Feature f, Worker worker, Throwable thrown) {
    Throwable t = thrown;
    while ((t instanceof CompletionException || t instanceof ExecutionException)
        && t.getCause() != null) {
      t = t.getCause();
    }
    if (may(f, worker, t)) {
      String what = f + " " + t.getClass().getSimpleName();
      if (t instanceof TransactionAbortedException a) {
        what += " " + a.abortCause();
      }
      refusals.computeIfAbsent(what, w -> new AtomicLong()).incrementAndGet();
      if (t instanceof DatabaseClosedException || t instanceof DurabilityLostException) {
        stop = true;
      }
    } else {
      fail(
          new Violation(
              f
                  + " ("
                  + state
                  + (faults ? ", faults" : "")
                  + (refused ? ", memory refused" : "")
                  + "): "
                  + t
                  + (t instanceof TransactionAbortedException ? "\n" + watchdog.slow() : ""),
              thrown));
    }
  }

  private boolean may(Feature f, Worker worker, Throwable t) {
    if (t instanceof OutOfMemoryError) {
      return refused;
    }
    if (!(t instanceof FoveaException)) {
      return false;
    }
    if (t instanceof CorruptionException) {
      return false;
    }
    if (t instanceof TransactionAbortedException a) {
      boolean late =
          a.abortCause() == AbortCause.TIMEOUT
              && !worker.limited
              && watchdog.ticks() - worker.since > LATE_TICKS;
      return a.abortCause() != AbortCause.USER
          && (!late || state == State.KILLED || faults || refused);
    }
    if (t instanceof DatabaseClosedException || t instanceof DurabilityLostException) {
      return state != State.RUNNING || faults || refused;
    }
    if (t instanceof StorageException || t instanceof StorageFullException) {
      return state == State.KILLED || faults;
    }
    if (t instanceof OperationInterruptedException) {
      return features.contains(Feature.INTERRUPT);
    }
    if (t instanceof PoolExhaustedException) {
      return setup.bufferBytes() < 8 << 20 || faults || state != State.RUNNING;
    }
    if (t instanceof SnapshotTooOldException) {
      return f == Feature.SNAPSHOT || f == Feature.FOLLOW || f == Feature.FOLLOW_FILE;
    }
    if (t instanceof ChangesLostException) {
      return f == Feature.FOLLOW || f == Feature.FOLLOW_FILE;
    }
    return false;
  }

  // -------------------------------------------------------------------------------- transactions

  /** Runs a writing transaction in one of its forms; records its acknowledgement. */
  void write(Worker worker, Body body) throws Exception {
    long n = expected.attempt(worker.id);
    byte[] key = key("a/", worker.id);
    byte[] value = number(n);
    boolean durable =
        transact(
            worker,
            tx -> {
              body.run(tx);
              worker.linger(8);
              small.put(tx, key, value);
            });
    expected.committed(worker.id, n, durable);
  }

  /** Runs a transaction in one of its forms; returns whether it is known to be durable. */
  private boolean transact(Worker worker, Body body) throws Exception {
    boolean sync = setup.durability() == Durability.SYNC;
    int form = worker.random.nextInt(16);
    Feature f =
        switch (form) {
          case 0, 1 -> Feature.AHEAD;
          case 2, 3 -> Feature.SUBMIT;
          case 4, 5 -> Feature.EXPLICIT;
          case 6 -> Feature.PESSIMISTIC;
          case 7 -> Feature.LIMIT;
          case 8 -> Feature.VIRTUAL;
          default -> null;
        };
    if (f == null || !features.contains(f)) {
      db.run(body::run);
      return sync;
    }
    long before = worker.busy;
    overlaps.begins(f, workers);
    besideEndings(f);
    worker.busy = before | 1L << f.ordinal();
    try {
      in(f, worker, body);
      overlaps.done.incrementAndGet(f.ordinal());
    } finally {
      worker.busy = before;
    }
    return sync;
  }

  private void in(Feature f, Worker worker, Body body) throws Exception {
    switch (f) {
      case AHEAD -> {
        CommitHandle commitHandle = db.runPipelined(body::run);
        commitHandle.await();
        Violation.unless(
            commitHandle.isDurable() || setup.durability() != Durability.SYNC, "receipt");
      }
      case SUBMIT ->
          db.submit(
                  tx -> {
                    body.run(tx);
                    return 1;
                  })
              .toCompletableFuture()
              .join();
      case EXPLICIT -> explicitly(worker, body);
      case PESSIMISTIC -> db.run(TxOptions.defaults().pessimisticAfterAborts(0), body::run);
      case LIMIT -> {
        worker.limited = true;
        db.run(
            TxOptions.defaults().timeout(Duration.ofMillis(1 + worker.random.nextInt(50))),
            body::run);
      }
      case VIRTUAL -> {
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread t =
            Thread.startVirtualThread(
                () -> {
                  try {
                    db.run(body::run);
                  } catch (Throwable e) {
                    thrown.set(e);
                  }
                });
        boolean interrupted = false;
        while (true) {
          try {
            t.join();
            break;
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
        Throwable e = thrown.get();
        if (e != null) {
          throw new ExecutionException(e);
        }
      }
      default -> throw new AssertionError(f);
    }
  }

  /** Uses begin and commit. Invalid reads may make a body throw, so it is then repeated. */
  private void explicitly(Worker worker, Body body) {
    for (int i = 0; i < 3; i++) {
      boolean again = false;
      try (Transaction tx = db.begin()) {
        try {
          body.run(tx);
        } catch (Violation | TransactionAbortedException | DuplicateKeyException e) {
          again = true; // may be due to invalid reads, which a managed body detects
        }
        if (again || worker.oneIn(8)) {
          if (worker.random.nextBoolean()) {
            tx.rollback();
          }
          continue;
        }
        if (worker.random.nextBoolean()) {
          tx.commitPipelined().await();
        } else {
          tx.commit();
        }
        return;
      } catch (TransactionAbortedException e) {
        if (!e.retryable()) {
          throw e;
        }
      }
    }
    db.run(body::run);
  }

  /** Runs a read-only transaction. */
  <R> R read(Supplier<TxOptions> options, ReadBody<R> body) {
    return db.call(options.get(), body::run);
  }

  <R extends @Nullable Object, X extends Exception> R readOnly(io.fovea.Work<R, X> work) throws X {
    return db.read(work);
  }

  @FunctionalInterface
  interface ReadBody<R> {
    R run(Transaction tx) throws RuntimeException;
  }

  // ---------------------------------------------------------------------------------------- bytes

  static byte[] key(String prefix, long n) {
    return (prefix + String.format(java.util.Locale.ROOT, "%05d", n))
        .getBytes(StandardCharsets.US_ASCII);
  }

  static byte[] text(String s) {
    return s.getBytes(StandardCharsets.US_ASCII);
  }

  static byte[] number(long n) {
    return ByteBuffer.allocate(8).putLong(n).array();
  }

  static long number(byte @Nullable [] bytes) {
    return bytes == null ? 0 : ByteBuffer.wrap(bytes).getLong();
  }

  // ---------------------------------------------------------------------------------------- checks

  /** Checks all invariants of all tables, also of a snapshot or a backup; returns a digest. */
  static String checkAll(Database there) {
    StringBuilder digest = new StringBuilder();
    Bank bank = Bank.of(there);
    there.read(
        tx -> {
          digest.setLength(0);
          digest.append(bank == null ? "" : bank.check(tx)).append(' ');
          digest.append(Lists.check(there, tx)).append(' ');
          digest.append(Longs.check(there, tx)).append(' ');
          digest.append(Ranges.check(there, tx));
          Migrants.check(there, tx);
          return null;
        });
    return digest.toString();
  }

  /** Checks after an opening that acknowledged writes are present. */
  void checkTruth(boolean closed) throws IOException {
    long[] least = expected.least(closed);
    db.read(
        tx -> {
          for (int i = 0; i < ExpectedState.WORKERS_MAX; i++) {
            long found = number(small.get(tx, key("a/", i)));
            if (found < least[i]) {
              throw new Violation(
                  "worker " + i + " had " + least[i] + " acknowledged, found is " + found);
            }
            if (found > expected.attempted(i)) {
              throw new Violation(
                  "worker " + i + " attempted " + expected.attempted(i) + ", found is " + found);
            }
          }
          return null;
        });
    db.read(
        tx -> {
          for (int i = 0; i < ExpectedState.WORKERS_MAX; i++) {
            expected.found(i, number(small.get(tx, key("a/", i))));
          }
          return null;
        });
  }
}
