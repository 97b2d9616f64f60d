package io.fovea.replication;

import io.fovea.CommitHandle;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Restore;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.Work;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * One replica: a database, and how far the log was applied to it.
 *
 * <pre>
 *   fovea.replica   "skipped", index (8)  →  why an operator has skipped the entry
 *   fovea.replica   "applied"  →  term (8), index (8), forgotten (8): the highest index whose
 *                                 outcome the session table has forgotten; digest: start (8),
 *                                 sum (8)
 * </pre>
 *
 * <p><b>Each entry is applied exactly once, whatever crashes.</b> The row above is written in the
 * transaction that runs the command. So a database that is opened after a crash has the commands up
 * to the index that the row says, and no others, even where the crash has taken the newest
 * transactions: with {@link io.fovea.config.Durability#ASYNC} it takes a suffix of them. The log is
 * applied from the next index on; entries at or below it are passed over.
 *
 * <p><b>Digest.</b> Each entry has a digest of its index, its outcome and what it has changed: see
 * {@link Transaction#changesDigest}. The row above has their sum since some entry, in the
 * transaction that makes the changes, so it follows the data over crashes and in copies. Replicas
 * with the same start have the same sum at the same index, or one of them has done something else.
 * A sum stays wrong once an entry was, so it does not matter at which index they are compared. A
 * row of an earlier version has no digest, and is given that of the leader ({@link #adopt}).
 *
 * <p><b>Threads.</b> {@link #apply} and {@link #passed} are called by one thread at a time, in the
 * order of the log; {@link #checkpoint} and {@link #use} by any thread. The lock orders them, and
 * guards the position. A command that does not end keeps the lock, so nothing else waits for it:
 * who waits for an entry has a lock of their own, and the position and the counts are volatile,
 * written under the lock. Reading takes no lock: a read that finds its database closed, as another
 * one was taken in, is done again with that one.
 */
public final class Replica implements AutoCloseable {
  /** The largest result of a command, in bytes. */
  public static final int RESULT_BYTES_MAX = 1 << 20;

  /** Where the digest begins of a replica that does not know it. */
  public static final long NO_DIGEST = Long.MIN_VALUE;

  private static final TableSpec STATE = TableSpec.bytes("fovea.replica", 16);
  private static final byte[] APPLIED = "applied".getBytes(StandardCharsets.UTF_8);
  private static final byte[] SKIPPED = "skipped".getBytes(StandardCharsets.UTF_8);
  private static final System.Logger LOG = System.getLogger("io.fovea.replication");

  /** A command takes the time that it takes: a limit on time would differ between replicas. */
  private static final TxOptions APPLYING = TxOptions.defaults().timeout(Duration.ZERO);

  private final ReplicaFiles files;
  private final Options options;
  private final Commands commands;
  private final Map<Long, String> skips;
  private final Experiments experiments;
  private final ReentrantLock lock = new ReentrantLock();

  /** For those who wait for an entry: taken for moments, under {@link #lock} or without it. */
  private final ReentrantLock waiting = new ReentrantLock();

  private final Condition advanced = waiting.newCondition();

  /** What apply waits for while a copy takes the place of a database that has diverged. */
  private final Condition resumed = lock.newCondition();

  private final Digests digests = new Digests();

  private volatile Database database;
  private volatile Position applied;
  private long forgotten;
  private volatile long applies;
  private volatile long retries;
  private volatile boolean closed;

  // Guarded by the lock. No entry is applied while the first is true, nor after the second is.
  private boolean suspended;
  private boolean abandoned;

  private @Nullable Staged staged;
  private volatile @Nullable Thread closing;

  private record Staged(Database database, State state) {}

  /**
   * What tests break, to see that it is found.
   *
   * @param sessions whether retries are looked up
   * @param together whether an entry's position commits with its command
   */
  public record Experiments(boolean sessions, boolean together) {
    /** Nothing is broken. */
    public static final Experiments NONE = new Experiments(true, true);
  }

  private Replica(
      ReplicaFiles files,
      Options options,
      Commands commands,
      Map<Long, String> skips,
      Experiments experiments) {
    this.files = files;
    this.options = options;
    this.commands = commands;
    this.skips = Map.copyOf(skips);
    this.experiments = experiments;
    Database opened = Database.open(files.database(), options);
    State state = State.of(opened);
    this.database = opened;
    this.applied = state.at;
    this.forgotten = state.forgotten;
    digests.reset(state.start, state.at.index(), state.sum);
  }

  /**
   * Opens a replica, and makes it where there is none.
   *
   * @param directory its own
   * @param options of the database
   * @param commands which commands there are
   * @param skips the entries that are not applied, by their index, and why
   * @param experiments what is broken on purpose
   * @return the replica, to be closed
   * @throws IOException if the directory can't be used
   * @throws io.fovea.error.FoveaException what opening the database throws
   */
  public static Replica open(
      Path directory,
      Options options,
      Commands commands,
      Map<Long, String> skips,
      Experiments experiments)
      throws IOException {
    return new Replica(new ReplicaFiles(directory), options, commands, skips, experiments);
  }

  // ------------------------------------------------------------------------------------- applying

  /**
   * Applies the next entry of the log. An empty one is a mark: it changes nothing, and its outcome
   * says its index.
   *
   * @param at where it is
   * @param bytes the entry, stamped by the leader
   * @return completed with what became of it, when it is as durable as the options say
   * @throws RuntimeException if it can't be applied for a reason of this replica, such as its disk:
   *     it must stop. Nothing of the entry was done. What the command itself is to blame for is an
   *     outcome, the same on every replica
   */
  public CompletionStage<Outcome> apply(Position at, byte[] bytes) {
    if (Entry.isMark(bytes)) {
      passed(at);
      return done(new Outcome(Outcome.Kind.APPLIED, at.index(), Command.NOTHING));
    }
    Entry entry = Entry.decode(bytes);
    lock.lock();
    try {
      if (!mayApply()) {
        return done(
            Outcome.expired(at.index(), "This peer was closed before the command was applied."));
      }
      if (at.index() <= applied.index()) {
        Outcome before = database.read(tx -> Sessions.look(tx, entry.id()));
        return done(
            before != null
                ? before
                : new Outcome(Outcome.Kind.APPLIED, at.index(), Command.NOTHING));
      }
      Attempt attempt = new Attempt(at, entry);
      CommitHandle commitHandle = attempt.run();
      forgotten = attempt.forgottenNow;
      digests.add(at.index(), attempt.sumNow);
      applies = applies + 1;
      if (attempt.retry) {
        retries = retries + 1;
      }
      moved(at);
      Outcome outcome = attempt.outcome;
      return commitHandle.whenDurable().thenApply(nothing -> outcome);
    } finally {
      lock.unlock();
    }
  }

  private static CompletionStage<Outcome> done(Outcome outcome) {
    return CompletableFuture.completedFuture(outcome);
  }

  /** One entry, and the attempts of its transaction. */
  private final class Attempt {
    final Position at;
    final Entry entry;
    Outcome outcome;
    boolean retry;
    long forgottenNow;
    long sumNow;

    Attempt(Position at, Entry entry) {
      this.at = at;
      this.entry = entry;
      this.outcome = new Outcome(Outcome.Kind.APPLIED, at.index(), Command.NOTHING);
    }

    CommitHandle run() {
      String why = skips.get(at.index());
      if (why != null) {
        outcome = Outcome.refused(at.index(), "An operator has skipped the command: " + why);
        return database.runPipelined(
            APPLYING,
            tx -> {
              skipped(tx, at.index(), why);
              remember(tx);
            });
      }
      Command command = commands.decode(entry);
      try {
        CommitHandle commitHandle = database.runPipelined(APPLYING, tx -> body(tx, command));
        return experiments.together
            ? commitHandle
            : database.runPipelined(APPLYING, this::remember);
      } catch (RefusedException e) {
        return refuse(String.valueOf(e.getMessage()));
      } catch (RuntimeException e) {
        if (!Failures.isOfCommand(e)) {
          throw e;
        }
        LOG.log(
            System.Logger.Level.INFO,
            "The command "
                + entry.name()
                + " of entry "
                + at.index()
                + " has failed, on each peer.",
            e);
        return refuse(Failures.reason(e));
      }
    }

    /**
     * What the command has written was rolled back. No other transaction writes, so what it has
     * read is still the same, and this transaction may say what came of it.
     */
    private CommitHandle refuse(String reason) {
      retry = false;
      outcome = Outcome.refused(at.index(), reason);
      return database.runPipelined(APPLYING, this::remember);
    }

    private void body(Transaction tx, Command command) throws RefusedException {
      forgottenNow = forgotten;
      Outcome before = experiments.sessions ? Sessions.find(tx, entry.id()) : null;
      retry = before != null;
      if (before != null) {
        outcome = before;
      } else if (experiments.sessions && entry.id().since() < forgotten) {
        outcome =
            Outcome.expired(
                at.index(),
                "The request was made at index "
                    + entry.id().since()
                    + ", and what was submitted up to index "
                    + forgotten
                    + " is forgotten: it may have been applied before, and was not applied now.");
      } else {
        byte[] result = command.apply(new CommandContext(tx, at, entry.clockMillis()));
        if (result.length > RESULT_BYTES_MAX) {
          throw new RefusedException(
              "The command's result has "
                  + result.length
                  + " bytes; the most is "
                  + RESULT_BYTES_MAX
                  + ". Let it return less, and read the rest.");
        }
        outcome = new Outcome(Outcome.Kind.APPLIED, at.index(), result);
      }
      if (experiments.together) {
        remember(tx);
      }
    }

    /** What became of the request, and where in the log the database is. */
    private void remember(Transaction tx) {
      sumNow = digests.sum() + digest(tx);
      if (experiments.sessions && !retry && outcome.kind() != Outcome.Kind.EXPIRED) {
        Sessions.record(tx, entry.id(), outcome, entry.clockMillis());
      }
      forgottenNow = Sessions.expire(tx, at.index(), entry, forgotten);
      new State(at, forgottenNow, digests.start(), sumNow).write(tx);
    }

    /**
     * Before the replica writes something itself. The reason of a refusal is left out: an exception
     * may have words that differ between JVMs.
     */
    private long digest(Transaction tx) {
      CRC32C payload = new CRC32C();
      if (outcome.kind() == Outcome.Kind.APPLIED) {
        payload.update(outcome.payload());
      }
      long kind = outcome.kind().ordinal();
      return Digests.mix(
          Digests.mix(Digests.mix(at.index()) + (kind << 32 | payload.getValue()))
              + tx.changesDigest());
    }
  }

  /** With the lock held. Waits while a copy takes the place of the database. */
  private boolean mayApply() {
    while (suspended && !abandoned) {
      resumed.awaitUninterruptibly();
    }
    return !abandoned;
  }

  private static void skipped(Transaction tx, long index, String why) {
    tx.table(STATE).bytes().put(tx, skip(index), why.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] skip(long index) {
    return ByteBuffer.allocate(SKIPPED.length + 8).put(SKIPPED).putLong(index).array();
  }

  /**
   * The entries that were skipped, ever: they are recorded in the database.
   *
   * @return the reasons by their index
   */
  public SortedMap<Long, String> skipped() {
    return read(
        tx -> {
          SortedMap<Long, String> all = new TreeMap<>();
          if (tx.tables().contains(STATE.name())) {
            try (Cursor<byte[], byte[]> c =
                tx.table(STATE).bytes().scanPrefix(tx, SKIPPED, ScanOrder.ASCENDING)) {
              while (c.next()) {
                long index = ByteBuffer.wrap(c.key()).getLong(SKIPPED.length);
                all.put(index, new String(c.value(), StandardCharsets.UTF_8));
              }
            }
          }
          return all;
        });
  }

  /**
   * Notes that the log has gone on by an entry that is not for the database. That is in memory
   * only, until the next entry or checkpoint.
   *
   * @param at where that entry is
   */
  public void passed(Position at) {
    lock.lock();
    try {
      if (mayApply() && at.index() > applied.index()) {
        moved(at);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Makes a checkpoint: all entries up to the position are in the file, whatever the durability is,
   * so the log is not needed up to there.
   *
   * @return the position
   */
  public Position checkpoint() {
    Database d;
    Position at;
    lock.lock();
    try {
      d = database;
      at = applied;
      if (at.index() >= 0) {
        // Entries that are not for the database have moved the position in memory only.
        d.run(APPLYING, tx -> new State(at, forgotten, digests.start(), digests.sum()).write(tx));
      }
    } finally {
      lock.unlock();
    }
    d.checkpoint();
    return at;
  }

  private void moved(Position to) {
    applied = to;
    wake();
  }

  private void wake() {
    waiting.lock();
    try {
      advanced.signalAll();
    } finally {
      waiting.unlock();
    }
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads the database as it is here.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param work the body; may run more than once
   * @return its result
   * @throws X what it throws
   * @throws DatabaseClosedException if the replica was closed
   */
  public <R extends @Nullable Object, X extends Exception> R read(Work<R, X> work) throws X {
    while (true) {
      Database d = database;
      try {
        return d.read(work);
      } catch (DatabaseClosedException | TransactionAbortedException e) {
        if (closed || d == database) {
          throw e;
        }
      }
    }
  }

  /**
   * How far the log was applied.
   *
   * @return the position of the last entry; {@link Position#NONE} before the first
   */
  public Position applied() {
    return applied;
  }

  /**
   * Waits until an entry was applied.
   *
   * @param index its index
   * @param most how long
   * @return whether it was
   * @throws InterruptedException if the thread is interrupted meanwhile
   */
  public boolean awaitApplied(long index, Duration most) throws InterruptedException {
    if (applied.index() >= index) {
      return true;
    }
    long nanos = most.toNanos();
    waiting.lockInterruptibly();
    try {
      // The position is written before the lock of those who wait is taken to wake them: who has
      // not seen it here is waiting by then.
      while (applied.index() < index && !closed) {
        if (nanos <= 0) {
          return false;
        }
        nanos = advanced.awaitNanos(nanos);
      }
      return applied.index() >= index;
    } finally {
      waiting.unlock();
    }
  }

  /**
   * Counts of what was applied since the opening.
   *
   * @return entries, and those among them that were retries
   */
  public long[] counts() {
    return new long[] {applies, retries};
  }

  /**
   * The database that is used now: for statistics. Another one takes its place when a copy is taken
   * in.
   *
   * @return the database
   */
  public Database database() {
    return database;
  }

  // -------------------------------------------------------------------------------------- digests

  /**
   * What a replica knows of its digest.
   *
   * @param start the entry behind which the sum begins: -1 for the whole log; {@link #NO_DIGEST} if
   *     it is not known
   * @param oldest the lowest index of which the sum is known
   * @param newest the highest one: the last entry that was applied
   * @param sum at the index that was asked for; null if it is not known there
   */
  public record Digest(long start, long oldest, long newest, @Nullable Long sum) {}

  /**
   * The digest at an index. Doesn't wait.
   *
   * @param index of the log
   * @return what is known
   */
  public Digest digest(long index) {
    return digests.at(index, applied.index());
  }

  /**
   * Takes over the digest of another replica, if this one's has another start: one of an earlier
   * version has none. From then on they are compared.
   *
   * @param index where
   * @param start that of the other one
   * @param sum that of the other one there
   * @return whether it was done
   */
  public boolean adopt(long index, long start, long sum) {
    lock.lock();
    try {
      return start != NO_DIGEST && digests.adopt(index, start, sum);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Applies nothing from now on, while a copy is taken in that replaces a database which differs
   * from the others'. Whoever applies waits.
   *
   * @return the position, which stays
   */
  public Position suspend() {
    lock.lock();
    try {
      suspended = true;
      return applied;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Uses the copy that was taken in, if it is far enough, and goes on after it. Entries that it has
   * are passed over.
   *
   * @param least the index that it has at least
   * @return false if it is not far enough: then nothing is applied still
   * @throws IOException if the directory can't be changed; then nothing has changed
   */
  public boolean resume(long least) throws IOException {
    lock.lock();
    try {
      if (!useFrom(least)) {
        return false;
      }
      suspended = false;
      resumed.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Before the end: whoever waits to apply an entry passes over it and all that follow. The log has
   * them at the next opening.
   */
  public void abandon() {
    lock.lock();
    try {
      abandoned = suspended;
      resumed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  // --------------------------------------------------------------------------------------- copies

  /**
   * Copies the database while it is used. The copy has a position at or above that of now.
   *
   * @param out where to
   */
  public void copyTo(OutputStream out) {
    if (State.of(database).at.index() < 0) {
      checkpoint(); // entries that were not for the database have moved the position in memory only
    }
    database.backup(out);
  }

  /**
   * Takes a copy in, beside the database that is used, and verifies all of it.
   *
   * @param in what {@link #copyTo} of another replica wrote
   * @return the position that it has
   * @throws IOException if there is no room, or the stream breaks
   * @throws io.fovea.error.FoveaException if the copy is damaged
   */
  public Position takeIn(InputStream in) throws IOException {
    discard();
    Thread old = closing;
    if (old != null) {
      try {
        old.join(); // it closes and deletes what lies where the copy goes
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("Interrupted while an older database was closed.");
      }
    }
    Path file;
    synchronized (files) {
      file = files.staged();
    }
    Restore.from(in).to(file, options);
    Database opened = Database.open(file, options);
    State state;
    try {
      state = State.of(opened);
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
    lock.lock();
    try {
      if (closed) {
        opened.close();
        throw new IOException("The replica was closed while it took in a copy.");
      }
      staged = new Staged(opened, state);
    } finally {
      lock.unlock();
    }
    return state.at;
  }

  /**
   * Uses the copy that was taken in, durably, from now on. The old database is closed in the
   * background: transactions that read it have the time that {@code
   * TransactionOptions.closeTimeout} says, and are done again with the new one if that is too
   * short.
   *
   * @return whether there was one that is further than this
   * @throws IOException if the directory can't be changed; then nothing has changed
   */
  public boolean use() throws IOException {
    return useFrom(applied.index() + 1);
  }

  /**
   * The same of a copy that is as far as this is told. Entries that were applied here beyond its
   * position would be lost: so only one that is as far as {@link #applied} takes the place of a
   * database that has diverged.
   */
  boolean useFrom(long least) throws IOException {
    lock.lock();
    try {
      Staged next = staged;
      if (next == null || next.state.at.index() < Math.max(least, applied.index())) {
        discard();
        return false;
      }
      Path old;
      synchronized (files) {
        old = files.use();
      }
      Database before = database;
      staged = null;
      database = next.database;
      forgotten = next.state.forgotten;
      digests.reset(next.state.start, next.state.at.index(), next.state.sum);
      moved(next.state.at);
      closeInBackground(before, old);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives up a copy that was taken in and not used, if this replica has come as far itself. Its
   * files are deleted in the background.
   *
   * @return whether there was one
   */
  public boolean discardPassed() {
    lock.lock();
    try {
      Staged s = staged;
      if (s == null || s.state.at.index() > applied.index()) {
        return false;
      }
      staged = null;
      Path directory;
      synchronized (files) {
        directory = files.beside();
      }
      closeInBackground(s.database, directory);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Guarded by the lock. Who takes in the next copy waits for it. */
  private void closeInBackground(Database old, Path directory) {
    closing =
        Thread.ofPlatform()
            .name("fovea-replica-close")
            .start(
                () -> {
                  try (old) {
                    // it may fail, as on a full disk
                  } finally {
                    ReplicaFiles.delete(directory);
                  }
                });
  }

  private void discard() {
    lock.lock();
    try {
      Staged s = staged;
      staged = null;
      if (s != null) {
        s.database.close();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      wake();
      discard();
    } finally {
      lock.unlock();
    }
    database.close();
    Thread old = closing;
    if (old != null) {
      try {
        old.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // it goes on alone
      }
    }
  }

  /** The row of the table. */
  private record State(Position at, long forgotten, long start, long sum) {
    private static final int BYTES = 40;

    static State of(Database d) {
      return d.read(
          tx -> {
            byte[] row =
                tx.tables().contains(STATE.name())
                    ? tx.table(STATE).bytes().get(tx, APPLIED)
                    : null;
            if (row == null) {
              return new State(Position.NONE, -1, -1, 0);
            }
            ByteBuffer b = ByteBuffer.wrap(row);
            Position at = new Position(b.getLong(), b.getLong());
            long forgotten = b.getLong();
            return b.remaining() < 16
                ? new State(at, forgotten, NO_DIGEST, 0)
                : new State(at, forgotten, b.getLong(), b.getLong());
          });
    }

    void write(Transaction tx) {
      tx.table(STATE)
          .bytes()
          .put(
              tx,
              APPLIED,
              ByteBuffer.allocate(BYTES)
                  .putLong(at.term())
                  .putLong(at.index())
                  .putLong(forgotten)
                  .putLong(start)
                  .putLong(sum)
                  .array());
    }
  }
}
