package io.fovea.ratis;

import io.fovea.Database;
import io.fovea.Work;
import io.fovea.error.DatabaseClosedException;
import io.fovea.ratis.Health.State;
import io.fovea.ratis.ReplicationException.Reason;
import io.fovea.replication.Command;
import io.fovea.replication.Outcome;
import io.fovea.replication.RefusedException;
import io.fovea.replication.Replica;
import io.fovea.replication.RequestId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.retry.RetryPolicies;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.util.ExitUtils;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/**
 * A database that is replicated on several peers. Commands go through a log that a majority of the
 * peers stores, and each peer applies them to its own copy.
 *
 * <pre>{@code
 * ReplicationOptions options = ReplicationOptions.of("a", Path.of("data"), peers)
 *     .command(NewOrder.class, NewOrder::encode, NewOrder::decode);
 * try (ReplicatedDatabase db = ReplicatedDatabase.join(options)) {
 *   CommandResult r = db.submit(new NewOrder(w, d, c, lines)).get();
 *   byte[] x = db.read(LINEARIZABLE, tx -> tx.table(ORDERS).bytes().get(tx, key));
 *   byte[] y = db.read(LOCAL.atLeast(r), tx -> tx.table(ORDERS).bytes().get(tx, key));
 * }
 * }</pre>
 *
 * <p>Commands and linearizable reads of all peers are linearizable, and a read sees one state of
 * the whole database. A command is applied once, however often it is sent. A group of three keeps
 * working while one peer is down. A peer that returns catches up from the log, or from a copy of
 * the database if the log no longer reaches back far enough.
 *
 * <p>Thread-safe.
 *
 * @since 0.1.0
 */
public final class ReplicatedDatabase implements AutoCloseable {
  private final ReplicationOptions options;
  private final Replica replica;
  private final PeerState state;
  private final FoveaStateMachine machine;
  private final RaftServer server;
  private final RaftServer.Division division;
  private final RaftClient client;
  private final Requests requests;
  private final ReadMarks marks;
  private final Membership membership;
  private final Divergence divergence;
  private final StallWatch stall;
  private final Semaphore places;

  private final UUID self = UUID.randomUUID();
  private final AtomicLong sequence = new AtomicLong();
  private final LongAdder submitted = new LongAdder();
  private final LongAdder acknowledged = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder submitNanos = new LongAdder();

  private ReplicatedDatabase(
      ReplicationOptions options,
      Replica replica,
      RaftServer server,
      FoveaStateMachine machine,
      PeerState state)
      throws IOException {
    this.options = options;
    this.replica = replica;
    this.server = server;
    this.machine = machine;
    this.state = state;
    this.division = server.getDivision(RaftSetup.groupId(options));
    this.client =
        RaftClient.newBuilder()
            .setRaftGroup(RaftSetup.group(options))
            .setProperties(server.getProperties())
            .setParameters(options.parameters())
            .setRetryPolicy(
                RetryPolicies.retryUpToMaximumCountWithFixedSleep(
                    20, TimeDuration.valueOf(200, TimeUnit.MILLISECONDS)))
            .build();
    this.requests =
        new Requests(
            server, RaftSetup.groupId(options), client.getClientRpc(), options.attemptTimeout());
    this.marks = new ReadMarks(requests, options.requestTimeout());
    machine.asking(requests::ask);
    this.membership = new Membership(division, client);
    this.divergence =
        new Divergence(replica, state, machine, server, division, membership, requests::ask);
    machine.judged(divergence::diverged);
    this.stall = new StallWatch(options.stallTimeout());
    this.places = new Semaphore(options.pendingMax());
  }

  /**
   * Joins a group: opens this peer's database and log, and resumes where they end. Returns when the
   * peer answers the others; a leader may be elected later ({@link #awaitLeader}).
   *
   * @param options the group and the settings of this peer
   * @return the database; the caller closes it
   * @throws UncheckedIOException if the directory or the address can't be used, or the peer's log
   *     is damaged
   * @throws IllegalArgumentException if {@link ReplicationOptions#ratis} changes a property that it
   *     must not change
   * @throws io.fovea.error.FoveaException if {@link Database#open} throws it
   */
  public static ReplicatedDatabase join(ReplicationOptions options) {
    leaveTheProcessAlone();
    RaftProperties properties = RaftSetup.properties(options);
    PeerState state = new PeerState(options.self().id());
    @Nullable Replica replica = null;
    @Nullable RaftServer server = null;
    boolean done = false;
    try {
      replica =
          Replica.open(
              options.directory().resolve("database"),
              options.database(),
              options.commands(),
              options.skips(),
              options.experiments());
      Path log = options.directory().resolve("log");
      UUID group = RaftSetup.groupId(options).getUuid();
      VoteFile.mend(log, group, options.self().id(), replica.applied());
      LogTail.mend(log, group, options.self().id());
      FoveaStateMachine machine =
          new FoveaStateMachine(replica, state, options.sessionWindow(), options.sessionTime());
      RaftGroup members =
          options.joining()
              ? RaftGroup.valueOf(RaftSetup.groupId(options))
              : RaftSetup.group(options);
      server =
          RaftServer.newBuilder()
              .setServerId(RaftSetup.peer(options.self()).getId())
              .setGroup(members)
              .setOption(RaftStorage.StartupOption.RECOVER)
              .setProperties(properties)
              .setParameters(options.parameters())
              .setStateMachine(machine)
              .build();
      server.start();
      ReplicatedDatabase db = new ReplicatedDatabase(options, replica, server, machine, state);
      done = true;
      return db;
    } catch (IOException e) {
      throw new UncheckedIOException(cantJoin(options, e), e);
    } catch (ExitUtils.ExitException e) {
      throw new UncheckedIOException(cantJoin(options, e), new IOException(e));
    } catch (CompletionException e) {
      throw new UncheckedIOException(cantStart(options, e), new IOException(e));
    } finally {
      if (!done) {
        state.closing();
        close(server);
        if (replica != null) {
          replica.close();
        }
      }
    }
  }

  /**
   * Keeps Ratis from ending the JVM when it can't listen, and from replacing the default handler of
   * uncaught exceptions.
   */
  private static synchronized void leaveTheProcessAlone() {
    Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
    ExitUtils.disableSystemExit();
    Thread.setDefaultUncaughtExceptionHandler(handler);
  }

  private static String cantJoin(ReplicationOptions options, Throwable e) {
    return "Peer \""
        + options.self().id()
        + "\" can't start in "
        + options.directory()
        + " at "
        + options.listen().address()
        + ". Is the address in use, or does another process use the directory? The cause: "
        + e.getMessage();
  }

  /** Unwraps the cause: Ratis starts a group on another thread. */
  private static String cantStart(ReplicationOptions options, CompletionException e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return "Peer \""
        + options.self().id()
        + "\" can't continue its log in "
        + options.directory()
        + ": "
        + cause.getMessage()
        + " If the log is damaged, and a majority of the others is up: remove this peer from the"
        + " group, delete its directory, start it with joining(true), and add it.";
  }

  private static void close(@Nullable RaftServer server) {
    if (server != null) {
      try {
        server.close();
      } catch (IOException e) {
        throw new UncheckedIOException("The server of Ratis can't be closed.", e);
      }
    }
  }

  // ------------------------------------------------------------------------------------- commands

  /**
   * Submits a command under a new request id: see {@link #submit(RequestId, Command)}.
   *
   * @param command the command
   * @return its result
   */
  public CompletableFuture<CommandResult> submit(Command command) {
    return submit(newRequest(), command);
  }

  /**
   * Submits a command, which every peer applies once. It is sent to the leader, and sent again
   * until its outcome is known or {@link ReplicationOptions#requestTimeout} has passed. The leader
   * may change meanwhile.
   *
   * <p>The future completes when a majority has the command in its log and the leader has applied
   * it. It completes exceptionally with
   *
   * <ul>
   *   <li>{@link RefusedException} if the command refused; nothing was changed
   *   <li>{@link ReplicationException} if the outcome is not known in time. {@link
   *       ReplicationException#mayBeApplied} says whether the command may be applied. Submitting it
   *       again with the same id is safe, from any peer
   * </ul>
   *
   * <p>Does not block. Commands submitted concurrently are applied in any order.
   *
   * @param id the identity of the request, from {@link #newRequest}; it may outlive a crash of the
   *     program
   * @param command the command
   * @return its result
   * @throws IllegalArgumentException if the command is too large, or its class was not registered
   *     with {@link ReplicationOptions#command}
   */
  public CompletableFuture<CommandResult> submit(RequestId id, Command command) {
    byte[] entry = options.commands().entry(id, command);
    if (entry.length > options.commandBytesMax()) {
      throw new IllegalArgumentException(
          "The command has "
              + entry.length
              + " bytes; ReplicationOptions.commandBytesMax allows "
              + options.commandBytesMax()
              + ".");
    }
    ReplicationException stopped = stopped();
    if (stopped != null) {
      return CompletableFuture.failedFuture(stopped);
    }
    if (!places.tryAcquire()) {
      return CompletableFuture.failedFuture(
          new ReplicationException(
              Reason.BUSY,
              false,
              options.pendingMax()
                  + " commands wait for their results, which is the limit"
                  + " (ReplicationOptions.pendingMax). Wait for some of them.",
              null));
    }
    submitted.increment();
    long began = System.nanoTime();
    return requests
        .write(entry, options.requestTimeout())
        .thenApply(ReplicatedDatabase::receipt)
        .whenComplete(
            (r, e) -> {
              places.release();
              (e == null ? acknowledged : failed).increment();
              submitNanos.add(System.nanoTime() - began);
            });
  }

  private static CommandResult receipt(byte[] reply) {
    Outcome outcome = Outcome.of(reply);
    return switch (outcome.kind()) {
      case APPLIED -> new CommandResult(outcome.index(), outcome.payload());
      case REFUSED -> throw new CompletionException(new RefusedException(outcome.reason()));
      case EXPIRED ->
          throw new CompletionException(
              new ReplicationException(Reason.EXPIRED, true, outcome.reason(), null));
    };
  }

  /**
   * Creates an identity for {@link #submit(RequestId, Command)}.
   *
   * @return an identity that no other request has
   */
  public RequestId newRequest() {
    return new RequestId(self, sequence.incrementAndGet(), appliedIndex());
  }

  // ---------------------------------------------------------------------------------------- reads

  /**
   * Reads the database in one transaction on this peer's copy.
   *
   * @param <R> the type of the result
   * @param <X> the type of exception that the body throws
   * @param consistency what the read must see
   * @param work the body; may run more than once. It opens tables through its transaction: {@code
   *     tx.table(spec)}
   * @return the result of the body
   * @throws X if the body throws it
   * @throws ReplicationException if the consistency is not reached within {@link
   *     ReplicationOptions#requestTimeout}, or the thread is interrupted while it waits
   */
  public <R extends @Nullable Object, X extends Exception> R read(
      Consistency consistency, Work<R, X> work) throws X {
    Objects.requireNonNull(work, "work");
    long until = System.nanoTime() + options.requestTimeout().toNanos();
    long index = consistency.index();
    if (consistency.linearizable()) {
      ReplicationException stopped = stopped();
      if (stopped != null) {
        throw stopped;
      }
      index = Math.max(index, marks.await(options.requestTimeout()));
    }
    awaitIndex(index, until);
    if (state.isDiverged()) {
      ReplicationException stopped = stopped();
      if (stopped != null) {
        throw stopped;
      }
    }
    try {
      return replica.read(work);
    } catch (DatabaseClosedException e) {
      ReplicationException stopped = stopped();
      throw stopped != null ? stopped : e;
    }
  }

  private void awaitIndex(long index, long until) {
    try {
      if (!replica.awaitApplied(index, Duration.ofNanos(until - System.nanoTime()))) {
        throw new ReplicationException(
            Reason.BEHIND,
            false,
            "This peer has applied the log up to index "
                + appliedIndex()
                + ", but not up to "
                + index
                + " within "
                + options.requestTimeout().toMillis()
                + " ms.",
            null);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ReplicationException(
          Reason.BEHIND,
          false,
          "The thread was interrupted while it waited for index " + index + ".",
          e);
    }
  }

  /** {@return the index of the last log entry that this peer has applied; -1 before the first} */
  public long appliedIndex() {
    return replica.applied().index();
  }

  // --------------------------------------------------------------------------------------- others

  /**
   * Waits until a leader accepts commands.
   *
   * @param most the longest time to wait
   * @return whether there is such a leader
   */
  public boolean awaitLeader(Duration most) {
    try {
      marks.await(most);
      return true;
    } catch (ReplicationException e) {
      return false;
    }
  }

  /**
   * Returns all log entries that were ever skipped here: {@link ReplicationOptions#skip}.
   *
   * @return the reasons, by index
   */
  public SortedMap<Long, String> skipped() {
    return replica.skipped();
  }

  /**
   * Returns the members of the group and its leader, as this peer knows them, and operations to
   * change them.
   *
   * @return the membership
   */
  public Membership membership() {
    return membership;
  }

  /**
   * Returns the health of this peer. Takes about a microsecond.
   *
   * @return what the peer can do, and the reason if that is limited
   */
  public Health health() {
    long applied = appliedIndex();
    long committed = division.getRaftLog().getLastCommittedIndex();
    String leader = membership.leader();
    String role = division.getInfo().getCurrentRole().name();
    PeerState.Failure failure = state.failure();
    if (state.isClosing()) {
      return new Health(State.DOWN, "It was closed.", role, leader, applied, committed);
    }
    if (failure != null) {
      return new Health(
          State.DOWN, "It has stopped: " + failure.what(), role, leader, applied, committed);
    }
    if (division.getInfo().getLifeCycleState().isClosingOrClosed()) {
      return new Health(
          State.DOWN, "Its server has ended; its log says why.", role, leader, applied, committed);
    }
    if (stall.stalled(applied, committed)) {
      return new Health(
          State.DOWN,
          "It has applied nothing for "
              + options.stallTimeout().toMillis()
              + " ms, although the log goes up to "
              + committed
              + ".",
          role,
          leader,
          applied,
          committed);
    }
    if (leader == null) {
      return new Health(
          State.NO_LEADER,
          "No leader is known. Are a majority of the peers up, and do they reach each other?",
          role,
          null,
          applied,
          committed);
    }
    return new Health(State.UP, "", role, leader, applied, committed);
  }

  private @Nullable ReplicationException stopped() {
    PeerState.Failure failure = state.failure();
    if (!state.isClosing() && failure == null) {
      return null;
    }
    return new ReplicationException(
        Reason.STOPPED,
        false,
        failure == null
            ? "This peer was closed."
            : "This peer has stopped (" + failure.what() + ").",
        failure == null ? null : failure.cause());
  }

  /** {@return counters since this peer started, and its position in the log} */
  public ReplicationStats stats() {
    long[] counts = replica.counts();
    return new ReplicationStats(
        submitted.sum(),
        acknowledged.sum(),
        failed.sum(),
        submitNanos.sum(),
        requests.retries(),
        counts[0],
        counts[1],
        machine.copiesTaken.sum(),
        machine.copyBytes.sum(),
        appliedIndex(),
        division.getRaftLog().getLastCommittedIndex());
  }

  /** For tests: runs the leader's periodic comparison of digests. */
  @Nullable DigestComparison compare() {
    return divergence.compare();
  }

  /** For tests: the database, to be changed on this peer only. */
  Database database() {
    return replica.database();
  }

  /** {@return the name of this peer among the members} */
  public String id() {
    return options.self().id();
  }

  /**
   * Returns the engine's statistics of this peer's database. The counters start at zero when a copy
   * of the database is installed.
   *
   * @return a copy of the current values
   * @throws DatabaseClosedException if this peer is closed
   */
  public io.fovea.DatabaseStats databaseStats() {
    return replica.database().stats();
  }

  /**
   * Leaves the group: stops answering, and closes log and database. The group continues without
   * this peer. A leader transfers the leadership first, if another peer can take it. A second call
   * does nothing.
   *
   * @throws UncheckedIOException if the server can't be closed
   */
  @Override
  public void close() {
    close(true);
  }

  /** Closes, with or without transferring the leadership first. */
  void close(boolean politely) {
    synchronized (this) {
      if (state.isClosing()) {
        return;
      }
      if (politely
          && state.failure() == null
          && division.getInfo().isLeader()
          && membership.peers().size() > 1) {
        try {
          membership.transferLeadership(null, Duration.ofSeconds(2));
        } catch (ReplicationException e) {
          // An election follows instead.
        }
      }
      state.closing();
    }
    requests.close();
    divergence.close();
    try {
      client.close();
    } catch (IOException e) {
      // no failure worth reporting
    }
    try {
      close(server);
    } finally {
      replica.close();
    }
  }
}
