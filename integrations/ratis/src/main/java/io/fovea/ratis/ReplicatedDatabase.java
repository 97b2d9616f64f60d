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
 * A database that several peers hold: commands go through a log that a majority of them has, and
 * each peer applies them to its own copy.
 *
 * <pre>{@code
 * ReplicationOptions options = ReplicationOptions.of("a", Path.of("data"), peers)
 *     .command(NewOrder.class, NewOrder::encode, NewOrder::decode);
 * try (ReplicatedDatabase db = ReplicatedDatabase.join(options)) {
 *   Receipt r = db.submit(new NewOrder(w, d, c, lines)).get();
 *   byte[] x = db.read(LINEARIZABLE, tx -> tx.table(ORDERS).bytes().get(tx, key));
 *   byte[] y = db.read(LOCAL.atLeast(r), tx -> tx.table(ORDERS).bytes().get(tx, key));
 * }
 * }</pre>
 *
 * <p>Commands and linearizable reads of all peers together are linearizable, and a read sees one
 * state of the whole database. A command is applied once, however often it had to be sent. A group
 * of three goes on while one peer is away; a peer that comes back catches up from the log, or takes
 * in a copy where the log does not reach back so far.
 *
 * <p>Any thread.
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
   * Joins a group: opens this peer's database and log, and goes on where they end. Returns when the
   * peer answers the others; a leader may be known later ({@link #awaitLeader}).
   *
   * @param options which group, and how
   * @return the database, to be closed
   * @throws UncheckedIOException if the directory or the address can't be used, or the peer's log
   *     is damaged
   * @throws IllegalArgumentException if {@link ReplicationOptions#ratis} changes what it may not
   * @throws io.fovea.error.FoveaException what {@link Database#open} throws
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
   * Ratis would end the whole JVM where it can't listen, and takes what no thread of the
   * application catches.
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

  /** Ratis starts what it does for a group on a thread of its own. */
  private static String cantStart(ReplicationOptions options, CompletionException e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return "Peer \""
        + options.self().id()
        + "\" can't go on with its log in "
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
   * Submits a command: see {@link #submit(RequestId, Command)}.
   *
   * @param command what to do
   * @return its receipt
   */
  public CompletableFuture<CommandResult> submit(Command command) {
    return submit(newRequest(), command);
  }

  /**
   * Submits a command, to be applied once by every peer. It is sent to the leader, and again until
   * it is known what became of it or {@link ReplicationOptions#requestTimeout} is over; the leader
   * may change meanwhile.
   *
   * <p>The future is completed when a majority has the command in its logs and the leader has
   * applied it. It is completed with
   *
   * <ul>
   *   <li>{@link RefusedException} if the command refused; then nothing was changed
   *   <li>{@link ReplicationException} if nobody knows in time. Its {@link
   *       ReplicationException#mayBeApplied} says whether the command may be applied; submitting it
   *       again with the same identity is safe, from any peer
   * </ul>
   *
   * <p>Submitting does not wait. Two commands that are under way at once are applied in any order.
   *
   * @param id the identity of the request, of {@link #newRequest}; it may be kept over a crash of
   *     the program
   * @param command what to do
   * @return its receipt
   * @throws IllegalArgumentException if the command is of no kind that {@link
   *     ReplicationOptions#command} named, or too large
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
                  + " commands wait for their receipts, which is the most"
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
   * Makes the identity of a request, for {@link #submit(RequestId, Command)}.
   *
   * @return one that no other request has
   */
  public RequestId newRequest() {
    return new RequestId(self, sequence.incrementAndGet(), appliedIndex());
  }

  // ---------------------------------------------------------------------------------------- reads

  /**
   * Reads the database, as one transaction of this peer's copy.
   *
   * @param <R> the result
   * @param <X> what the body throws
   * @param consistency what it must see
   * @param work the body; may run more than once. It opens tables by its transaction: {@code
   *     tx.table(spec)}
   * @return its result
   * @throws X what it throws
   * @throws ReplicationException if what it must see is not to be had in time ({@link
   *     ReplicationOptions#requestTimeout}), or the thread is interrupted while it waits
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
        throw stopped; // its data is wrong
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
                + ", and not up to "
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

  /**
   * How far this peer has applied the log.
   *
   * @return the index of the last entry; -1 before the first
   */
  public long appliedIndex() {
    return replica.applied().index();
  }

  // --------------------------------------------------------------------------------------- others

  /**
   * Waits until a leader is known, which is ready to take commands.
   *
   * @param most how long
   * @return whether there is one
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
   * The entries of the log that were skipped here, ever: {@link ReplicationOptions#skip}.
   *
   * @return the reasons by their index
   */
  public SortedMap<Long, String> skipped() {
    return replica.skipped();
  }

  /**
   * The members of the group, to be changed, and its leader.
   *
   * @return from this peer
   */
  public Membership membership() {
    return membership;
  }

  /**
   * How this peer is. Costs a microsecond.
   *
   * @return what it can do, and why it can't do more
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
              + " ms, though the log goes up to "
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

  /**
   * Counters since this peer was started, and where it stands.
   *
   * @return of this moment
   */
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

  /** For tests: what the leader does every few seconds. */
  @Nullable DigestComparison compare() {
    return divergence.compare();
  }

  /** For tests: the database as this peer alone changes it. */
  Database database() {
    return replica.database();
  }

  /**
   * The name of this peer.
   *
   * @return its name among the members
   */
  public String id() {
    return options.self().id();
  }

  /**
   * The engine's counters of this peer's database; they begin anew when a copy is taken in.
   *
   * @return of this moment
   * @throws DatabaseClosedException if this was closed
   */
  public io.fovea.DatabaseStats databaseStats() {
    return replica.database().stats();
  }

  /**
   * Leaves: stops answering, and closes log and database. The group goes on without this peer. A
   * leader lets another lead first, where one can. A second call does nothing.
   *
   * @throws UncheckedIOException if the server can't be closed
   */
  @Override
  public void close() {
    close(true);
  }

  /** Leaves with or without letting another peer lead first. */
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
      // it has nothing that is worth a report
    }
    try {
      close(server);
    } finally {
      replica.close();
    }
  }
}
