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
 * One replica: a database, and its position in the log.
 *
 * <pre>
 *   fovea.replica   "skipped", index (8)  →  why an operator has skipped the entry
 *   fovea.replica   "applied"  →  term (8), index (8), forgotten (8): the highest index whose
 *                                 outcome the session table has forgotten; digest: start (8),
 *                                 sum (8)
 * </pre>
 *
 * <p><b>Each entry is applied exactly once, across crashes.</b> The "applied" row is written by the
 * transaction that runs the command. So after a crash the database has exactly the commands up to
 * the index in that row, even if the crash lost the newest transactions: {@link
 * io.fovea.config.Durability#ASYNC} loses a suffix of them. The log is applied from the next index
 * on; entries at or below it are skipped.
 *
 * <p><b>Digest.</b> Each entry has a digest of its index, its outcome and its changes: see {@link
 * Transaction#changesDigest}. The "applied" row has the sum of the digests since some start entry,
 * and is written with the changes. So the sum stays consistent with the data over crashes and in
 * copies. Replicas with the same start have the same sum at the same index, unless one of them has
 * applied something different. A sum stays wrong after one wrong entry, so any common index
 * suffices for a comparison. A row of an earlier version has no digest, and adopts the leader's
 * ({@link #adopt}).
 *
 * <p><b>Threads.</b> {@link #apply} and {@link #passed} are called by one thread at a time, in log
 * order; {@link #checkpoint} and {@link #use} by any thread. The lock orders them and guards the
 * position. A command that does not end keeps the lock, so nothing else may wait for it: threads
 * that wait for an entry use a separate lock, and position and counts are volatile and written
 * under the lock. Reads take no lock: a read whose database was closed because a copy replaced it
 * is repeated on the copy.
 */
public final class Replica implements AutoCloseable {
  /** The largest result of a command, in bytes. */
  public static final int RESULT_BYTES_MAX = 1 << 20;

  /** The start of an unknown digest. */
  public static final long NO_DIGEST = Long.MIN_VALUE;

  private static final TableSpec STATE = TableSpec.bytes("fovea.replica", 16);
  private static final byte[] APPLIED = "applied".getBytes(StandardCharsets.UTF_8);
  private static final byte[] SKIPPED = "skipped".getBytes(StandardCharsets.UTF_8);
  private static final System.Logger LOG = System.getLogger("io.fovea.replication");

  /** No timeout: it would expire at different times on different replicas. */
  private static final TxOptions APPLYING = TxOptions.defaults().timeout(Duration.ZERO);

  private final ReplicaFiles files;
  private final Options options;
  private final Commands commands;
  private final Map<Long, String> skips;
  private final Experiments experiments;
  private final ReentrantLock lock = new ReentrantLock();

  /** For threads that wait for an entry; held only briefly, with or without {@link #lock}. */
  private final ReentrantLock waiting = new ReentrantLock();

  private final Condition advanced = waiting.newCondition();

  /** Awaited by apply while a copy replaces a database that has diverged. */
  private final Condition resumed = lock.newCondition();

  private final Digests digests = new Digests();

  private volatile Database database;
  private volatile Position applied;
  private long forgotten;
  private volatile long applies;
  private volatile long retries;
  private volatile boolean closed;

  // Guarded by the lock. No entry is applied while {@code suspended}, nor after {@code abandoned}.
  private boolean suspended;
  private boolean abandoned;

  private @Nullable Staged staged;
  private volatile @Nullable Thread closing;

  private record Staged(Database database, State state) {}

  /**
   * Mechanisms that tests disable, to check that the failure is detected.
   *
   * @param sessions whether retries are looked up
   * @param together whether an entry's position commits with its command
   */
  public record Experiments(boolean sessions, boolean together) {
    /** Everything enabled. */
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
   * Opens a replica, or creates it if it does not exist.
   *
   * @param directory the directory of this replica alone
   * @param options options of the database
   * @param commands the known commands
   * @param skips reasons of the entries that are skipped, by index
   * @param experiments mechanisms that tests disable
   * @return the replica; the caller closes it
   * @throws IOException if the directory can't be used
   * @throws io.fovea.error.FoveaException if opening the database throws it
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
   * Applies the next entry of the log. An empty entry is a mark: it changes nothing, and its
   * outcome has its index.
   *
   * @param at the position of the entry
   * @param bytes the entry, stamped by the leader
   * @return completes with the outcome when it is as durable as the options demand
   * @throws RuntimeException if this replica can't apply the entry, for instance because of its
   *     disk: it must stop, and nothing of the entry was done. A failure of the command itself is
   *     an outcome, the same on every replica
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
            "The command " + entry.name() + " of entry " + at.index() + " failed on every peer.",
            e);
        return refuse(Failures.reason(e));
      }
    }

    /**
     * The command's changes were rolled back. No other transaction writes, so what the command read
     * is unchanged, and this transaction may record its outcome.
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
                "The request was created at index "
                    + entry.id().since()
                    + ", but outcomes up to index "
                    + forgotten
                    + " are no longer stored: it may have been applied before, and was not"
                    + " applied now.");
      } else {
        byte[] result = command.apply(new CommandContext(tx, at, entry.clockMillis()));
        if (result.length > RESULT_BYTES_MAX) {
          throw new RefusedException(
              "The command's result has "
                  + result.length
                  + " bytes; the limit is "
                  + RESULT_BYTES_MAX
                  + ". Return less, and read the rest.");
        }
        outcome = new Outcome(Outcome.Kind.APPLIED, at.index(), result);
      }
      if (experiments.together) {
        remember(tx);
      }
    }

    /** Writes the outcome of the request and the position. */
    private void remember(Transaction tx) {
      sumNow = digests.sum() + digest(tx);
      if (experiments.sessions && !retry && outcome.kind() != Outcome.Kind.EXPIRED) {
        Sessions.record(tx, entry.id(), outcome, entry.clockMillis());
      }
      forgottenNow = Sessions.expire(tx, at.index(), entry, forgotten);
      new State(at, forgottenNow, digests.start(), sumNow).write(tx);
    }

    /**
     * Must precede the replica's own writes. Leaves out the reason of a refusal: the message of an
     * exception may differ between JVMs.
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

  /** Waits while a copy replaces the database. Requires the lock. */
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
   * {@return the reasons of all entries that were ever skipped, by index, as recorded in the
   * database}
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
   * Advances the position over an entry that is not for the database. This is recorded in memory
   * only, until the next entry or checkpoint.
   *
   * @param at the position of that entry
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
   * Makes a checkpoint: all entries up to the returned position are in the file, whatever the
   * durability. The log is not needed up to there.
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
   * Reads the database as this replica has it.
   *
   * @param <R> the type of the result
   * @param <X> the type of exception that the body throws
   * @param work the body; may run more than once
   * @return the result of the body
   * @throws X if the body throws it
   * @throws DatabaseClosedException if the replica is closed
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
   * Returns how far the log was applied.
   *
   * @return the position of the last entry; {@link Position#NONE} before the first
   */
  public Position applied() {
    return applied;
  }

  /**
   * Waits until an entry is applied.
   *
   * @param index the index of the entry
   * @param most the longest time to wait
   * @return whether it was applied
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  public boolean awaitApplied(long index, Duration most) throws InterruptedException {
    if (applied.index() >= index) {
      return true;
    }
    long nanos = most.toNanos();
    waiting.lockInterruptibly();
    try {
      // The position is written before this lock is taken to signal. So a thread that reads an
      // older position here already waits when the signal comes.
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
   * {@return the number of entries applied since the replica was opened, and how many were retries}
   */
  public long[] counts() {
    return new long[] {applies, retries};
  }

  /** {@return the current database, for statistics; installing a copy replaces it} */
  public Database database() {
    return database;
  }

  // -------------------------------------------------------------------------------------- digests

  /**
   * The digest of a replica at an index.
   *
   * @param start the entry after which the sum begins: -1 for the whole log; {@link #NO_DIGEST} if
   *     unknown
   * @param oldest the lowest index with a known sum
   * @param newest the highest one: the last entry that was applied
   * @param sum the sum at the requested index; null if unknown
   */
  public record Digest(long start, long oldest, long newest, @Nullable Long sum) {}

  /**
   * Returns the digest at an index. Does not block.
   *
   * @param index an index of the log
   * @return the digest
   */
  public Digest digest(long index) {
    return digests.at(index, applied.index());
  }

  /**
   * Adopts the digest of another replica if this one's has another start, as after an upgrade from
   * a version without digests. From then on the two can be compared.
   *
   * @param index the index of the sum
   * @param start the other replica's start
   * @param sum the other replica's sum at the index
   * @return whether it was adopted
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
   * Suspends applying while a copy replaces a database that differs from the others'. {@link
   * #apply} blocks.
   *
   * @return the position, which does not change until {@link #resume}
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
   * Installs the copy that was taken in, if it reaches far enough, and resumes applying after it.
   * Entries that it includes are skipped.
   *
   * @param least the index that the copy must include
   * @return false if it does not reach that far; applying remains suspended
   * @throws IOException if the directory can't be changed; nothing has changed then
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
   * Prepares closing: a suspended {@link #apply} returns without applying, as do all later ones.
   * The log still has these entries at the next opening.
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
   * Copies the database while it is in use. The copy has the current position or a later one.
   *
   * @param out receives the copy
   */
  public void copyTo(OutputStream out) {
    if (State.of(database).at.index() < 0) {
      checkpoint(); // entries that are not for the database have moved the position in memory only
    }
    database.backup(out);
  }

  /**
   * Restores a copy next to the current database, and verifies it completely.
   *
   * @param in the output of another replica's {@link #copyTo}
   * @return the position of the copy
   * @throws IOException if there is no space, or the stream breaks
   * @throws io.fovea.error.FoveaException if the copy is damaged
   */
  public Position takeIn(InputStream in) throws IOException {
    discard();
    Thread old = closing;
    if (old != null) {
      try {
        old.join(); // it closes and deletes what is in the way of the copy
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("Interrupted while an older database was closing.");
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
        throw new IOException("The replica was closed while it restored a copy.");
      }
      staged = new Staged(opened, state);
    } finally {
      lock.unlock();
    }
    return state.at;
  }

  /**
   * Installs the copy that was taken in, durably, if it is ahead of this replica. The old database
   * is closed in the background: its read transactions get {@code TransactionOptions.closeTimeout}
   * to finish, and are repeated on the new one if that is too short.
   *
   * @return whether there was such a copy
   * @throws IOException if the directory can't be changed; nothing has changed then
   */
  public boolean use() throws IOException {
    return useFrom(applied.index() + 1);
  }

  /**
   * Installs the copy if it includes {@code least}. It must also include {@link #applied}, even if
   * it replaces a database that has diverged: entries applied here after the copy's position would
   * be lost.
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
   * Discards a copy that was not installed, if this replica has reached its position. Its files are
   * deleted in the background.
   *
   * @return whether there was such a copy
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

  /** Guarded by the lock. {@link #takeIn} waits for it. */
  private void closeInBackground(Database old, Path directory) {
    closing =
        Thread.ofPlatform()
            .name("fovea-replica-close")
            .start(
                () -> {
                  try (old) {
                    // closing may fail, as on a full disk
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
        Thread.currentThread().interrupt(); // the thread finishes on its own
      }
    }
  }

  /** The "applied" row. */
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
