package io.fovea.ratis;

import io.fovea.replication.Copies;
import io.fovea.replication.Position;
import io.fovea.replication.Replica;
import io.fovea.replication.Stamp;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RoleInfoProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.statemachine.impl.FileListSnapshotInfo;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;

/**
 * The replica as a state machine of Ratis.
 *
 * <p><b>The database is its own snapshot.</b> Ratis begins to apply after {@code
 * getLatestSnapshot()}, not after {@code getLastAppliedTermIndex()}. So the database is reported as
 * a snapshot without files, at the index in its own row, when it is opened and after each
 * checkpoint. Otherwise the log would be applied from its start, and an assertion in Ratis' updater
 * would fail.
 *
 * <p><b>A peer that is too far behind fetches a copy.</b> If the leader's log no longer has what
 * the peer needs, Ratis notifies the peer (1). The peer fetches a copy from the leader in chunks,
 * and opens and verifies it next to its own database (2). Then Ratis pauses this state machine (3),
 * drops the log up to the copy's index, and resumes its updater there (4).
 *
 * <pre>
 *   1  notifyInstallSnapshotFromLeader     Ratis' thread; returns at once
 * 2  Replica.takeIn                      a separate thread; the old database serves reads meanwhile
 *   1  notifyInstallSnapshotFromLeader     again: the copy is here
 *   3  pause        Replica.use            the pointer is durable before the log is dropped: a
 *                                          crash between the two finds a log that ends before the
 *                                          database, which Ratis drops, and not a gap
 *   4  reinitialize                        updater; entries that it applied between 3 and 4 were
 *                                          at or below the copy's index, and were skipped
 * </pre>
 *
 * <p><b>Ratis learns of a copy in the same notification that installs it.</b> When a leader
 * notifies a peer, Ratis records the first index of the leader's log, and accepts no notification
 * with a lower index until the copy is installed (3.3.0, {@code SnapshotInstallationHandler}: "is
 * not eligible"). If it learned of the copy earlier, and a leader whose log begins at a lower index
 * took over, the peer would be stuck until that leader drops its log. So the first notification
 * ends with a failure once the copy is here, which makes Ratis forget the index. The next one, of
 * any leader, finds the copy ready.
 *
 * <p>Threads: Ratis' updater applies and makes checkpoints; other threads of Ratis query and
 * notify.
 */
final class FoveaStateMachine extends BaseStateMachine {
  private static final byte BEGIN = 'B';
  private static final byte CHUNK = 'C';

  /** Request of the command, {@link Administration}. */
  static final byte TROUBLE = 'T';

  /** Notification of the leader: the right digest at an index. */
  static final byte DIVERGED = 'V';

  /** Notification of the leader to a peer whose digest has another start: the leader's digest. */
  static final byte ADOPT = 'A';

  private static final byte THERE = 1;
  private static final byte NOT_YET = 0;
  private static final Duration ANSWER = Duration.ofSeconds(5);
  private static final Executor IN_BACKGROUND =
      body -> Thread.ofPlatform().daemon().name("fovea-take-in").start(body);
  private static final Executor ANSWERING =
      body -> Thread.ofPlatform().daemon().name("fovea-give").start(body);

  /** Asks a peer's state machine. */
  interface Asking {
    byte[] ask(RaftPeerId peer, byte[] question, Duration most) throws IOException;
  }

  /** Receives the right digest: {@link Divergence#diverged}. */
  interface Judged {
    boolean differs(long index, long start, long sum);
  }

  final LongAdder copiesTaken = new LongAdder();
  final LongAdder copyBytes = new LongAdder();

  private final Replica replica;
  private final PeerState state;
  private final long sessionWindow;
  private final long sessionMillis;
  private final Copies copies;
  private volatile Asking asking =
      (p, q, m) -> {
        throw new IOException("This peer is starting.");
      };

  private volatile Judged judged = (index, start, sum) -> false;

  /** Only one copy is installed at a time. */
  private final ReentrantLock copying = new ReentrantLock();

  /** The last entry that Ratis has passed to apply, or skipped. */
  private volatile long seen;

  /** The index of the last copy that was reported to Ratis. */
  private volatile long told = -1;

  /** The log is no longer needed up to here. */
  private volatile Position durable;

  /** The position of an installed copy that Ratis does not know of yet; null for none. */
  private volatile @Nullable Position ready;

  FoveaStateMachine(Replica replica, PeerState state, long sessionWindow, Duration sessionTime) {
    this.replica = replica;
    this.state = state;
    this.sessionWindow = sessionWindow;
    this.sessionMillis = sessionTime.toMillis();
    this.durable = replica.applied();
    this.seen = durable.index();
    this.copies = new Copies(replica::copyTo);
  }

  void asking(Asking by) {
    asking = by;
  }

  void judged(Judged by) {
    judged = by;
  }

  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage)
      throws IOException {
    super.initialize(server, group, storage);
    getLifeCycle().startAndTransition(() -> {});
  }

  private static TermIndex termIndex(Position p) {
    return p.index() < 0 ? TermIndex.INITIAL_VALUE : TermIndex.valueOf(p.term(), p.index());
  }

  @Override
  public TermIndex getLastAppliedTermIndex() {
    return termIndex(replica == null ? Position.NONE : replica.applied());
  }

  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    Position p = durable;
    return p.index() < 0 ? null : new FileListSnapshotInfo(List.of(), termIndex(p));
  }

  @Override
  public StateMachineStorage getStateMachineStorage() {
    return new NoFiles(this::getLatestSnapshot);
  }

  // ------------------------------------------------------------------------------------- applying

  @Override
  public TransactionContext startTransaction(RaftClientRequest request) throws IOException {
    if (state.isDiverged()) {
      throw new StateMachineException(
          "This peer's database differs from the others', so another one will lead.");
    }
    byte[] entry = request.getMessage().getContent().toByteArray();
    return TransactionContext.newBuilder()
        .setStateMachine(this)
        .setClientRequest(request)
        .setLogData(
            ByteString.copyFrom(
                Stamp.put(entry, System.currentTimeMillis(), sessionWindow, sessionMillis)))
        .build();
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext trx) {
    LogEntryProto entry = trx.getLogEntry();
    Position at = new Position(entry.getTerm(), entry.getIndex());
    try {
      seen = Math.max(seen, at.index());
      return replica
          .apply(at, entry.getStateMachineLogEntry().getLogData().toByteArray())
          .thenApply(o -> Message.valueOf(ByteString.copyFrom(o.toBytes())))
          .toCompletableFuture()
          .whenComplete(
              (m, e) -> {
                if (e != null) {
                  stop("what it has applied can't be made durable: " + e.getMessage(), e);
                }
              });
    } catch (RuntimeException | Error e) {
      state.fail(
          "the entry "
              + at.index()
              + " of the log can't be applied: "
              + e
              + " If every peer says so, start all of them with a program that can apply it, or"
              + " with ReplicationOptions.skip of this index.",
          e);
      throw e;
    }
  }

  /** Stops this peer's server: the others elect a leader and answer instead. */
  private void stop(String what, @Nullable Throwable cause) {
    if (state.fail(what, cause)) {
      IN_BACKGROUND.execute(
          () -> {
            try {
              division().close();
            } catch (IOException | RuntimeException e) {
              // the server is already shutting down
            }
          });
    }
  }

  @Override
  public void notifyTermIndexUpdated(long term, long index) {
    replica.passed(new Position(term, index));
    seen = Math.max(seen, index);
  }

  @Override
  public long takeSnapshot() {
    try {
      Position at = replica.checkpoint();
      if (at.index() > seen) {
        return seen; // the database is a copy whose index is ahead of Ratis
      }
      durable = at;
      if (replica.discardPassed()) {
        ready = null;
      }
      return at.index();
    } catch (RuntimeException e) {
      state.fail("its database can't make a checkpoint: " + e.getMessage(), e);
      throw e;
    }
  }

  // --------------------------------------------------------------------------------------- asking

  /**
   * Answers requests of other peers. {@code B} begins a copy, {@code C id number} asks for a chunk.
   * {@code T} asks for the failure of this peer, {@code D index} for its digest. {@code V} and
   * {@code A}, with index, start and sum, deliver the leader's digest.
   *
   * @return the copy's id; or whether the chunk is ready (1), and the chunk; or the failure as
   *     text; or the digest; or whether this peer differs or has adopted the digest (1)
   */
  @Override
  public CompletableFuture<Message> queryStale(Message request, long minIndex) {
    ByteBuffer q = request.getContent().asReadOnlyByteBuffer();
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return Message.valueOf(ByteString.copyFrom(answer(q)));
          } catch (IOException e) {
            throw new CompletionException(new StateMachineException(e.getMessage(), e));
          }
        },
        ANSWERING);
  }

  private byte[] answer(ByteBuffer q) throws IOException {
    byte kind = q.get();
    if (kind == DigestComparison.DIGEST) {
      return DigestComparison.encode(replica.digest(q.getLong()));
    }
    if (kind == DIVERGED) {
      return bit(judged.differs(q.getLong(), q.getLong(), q.getLong()));
    }
    if (kind == ADOPT) {
      return bit(replica.adopt(q.getLong(), q.getLong(), q.getLong()));
    }
    if (kind == BEGIN && state.isDiverged()) {
      throw new IOException("This peer's database differs from the others'.");
    }
    if (kind == BEGIN) {
      return ByteBuffer.allocate(8).putLong(copies.begin()).array();
    }
    if (kind == TROUBLE) {
      PeerState.Failure failure = state.failure();
      return (failure == null ? "" : failure.what()).getBytes(StandardCharsets.UTF_8);
    }
    if (kind != CHUNK) {
      throw new IOException("A peer sent \"" + (char) kind + "\", an unknown request.");
    }
    byte[] chunk = copies.chunk(q.getLong(), q.getLong());
    return chunk == null
        ? new byte[] {NOT_YET}
        : ByteBuffer.allocate(1 + chunk.length).put(THERE).put(chunk).array();
  }

  private static byte[] bit(boolean set) {
    return new byte[] {(byte) (set ? 1 : 0)};
  }

  // -------------------------------------------------------------------------------------- copying

  /**
   * Replaces a database that differs from the others' by a copy of the leader's. Applying is
   * suspended.
   *
   * @param least the index that this peer has applied
   * @return whether the copy is used; it may not reach that index
   */
  boolean takeFresh(RaftPeerId leader, long least) throws IOException {
    copying.lock();
    try {
      ready = null;
      takeIn(leader, TermIndex.valueOf(0, 0));
      // Ratis drops the log up to the index that was reported.
      boolean used = replica.resume(Math.max(least, told));
      if (used) {
        copiesTaken.increment();
      }
      return used;
    } finally {
      copying.unlock();
    }
  }

  @Override
  public CompletableFuture<TermIndex> notifyInstallSnapshotFromLeader(
      RoleInfoProto role, TermIndex first) {
    Position copy = ready;
    ready = null;
    if (copy != null && copy.index() > replica.applied().index() && copy.index() >= lastOfLog()) {
      told = copy.index();
      return CompletableFuture.completedFuture(termIndex(copy));
    }
    RaftPeerId leader = RaftPeerId.valueOf(role.getFollowerInfo().getLeaderInfo().getId().getId());
    CompletableFuture<TermIndex> answer = new CompletableFuture<>();
    try {
      IN_BACKGROUND.execute(
          () -> {
            copying.lock();
            try {
              Position at = replica.applied();
              boolean has = at.index() >= 0 && reaches(at, first);
              if (has) {
                durable = replica.checkpoint();
                division().getRaftLog().updateSnapshotIndex(durable.index());
              } else {
                ready = takeIn(leader, first);
              }
              answer.completeExceptionally(
                  new StateMachineException(
                      "This is not a failure: "
                          + (has ? "the missing entries are here" : "the copy is here")
                          + ", and will be used when the leader asks again."));
            } catch (IOException | RuntimeException | Error e) {
              answer.completeExceptionally(e);
            } finally {
              copying.unlock();
            }
          });
    } catch (RuntimeException | Error e) {
      answer.completeExceptionally(e); // no thread could be started
    }
    return answer;
  }

  private RaftServer.Division division() throws IOException {
    return getServer().join().getDivision(getGroupId());
  }

  /** The last index of the log. Ratis would lose its position if a copy ended before it. */
  private long lastOfLog() {
    try {
      TermIndex last = division().getRaftLog().getLastEntryTermIndex();
      return last == null ? -1 : last.getIndex();
    } catch (IOException e) {
      return Long.MAX_VALUE; // it is closing
    }
  }

  private static boolean reaches(Position copy, TermIndex first) {
    return copy.index() >= first.getIndex() - 1;
  }

  private Position takeIn(RaftPeerId leader, TermIndex first) throws IOException {
    try {
      Asking by = asking;
      long id = ByteBuffer.wrap(by.ask(leader, new byte[] {BEGIN}, ANSWER)).getLong();
      Position at =
          replica.takeIn(
              Copies.read(
                  number -> {
                    byte[] answer = chunk(by, leader, id, number);
                    return answer[0] == NOT_YET
                        ? null
                        : Arrays.copyOfRange(answer, 1, answer.length);
                  },
                  copyBytes::add));
      if (!reaches(at, first)) {
        throw new IOException(
            "The copy of peer "
                + leader
                + " ends at index "
                + at.index()
                + ", but its log begins at "
                + first.getIndex()
                + ".");
      }
      return at;
    } catch (IOException | RuntimeException e) {
      // Ratis retries any failure. On a full disk that is futile, and would go unnoticed.
      if (FullDisk.isCause(e)) {
        stop("the copy that it needs can't be installed: " + e.getMessage(), e);
      }
      throw e;
    }
  }

  /** Fetches a chunk, in up to three attempts: an answer may get lost. */
  private static byte[] chunk(Asking by, RaftPeerId leader, long id, long number)
      throws IOException {
    byte[] question = ByteBuffer.allocate(17).put(CHUNK).putLong(id).putLong(number).array();
    for (int tries = 1; ; tries++) {
      try {
        return by.ask(leader, question, ANSWER);
      } catch (IOException e) {
        if (tries == 3) {
          throw e;
        }
      }
    }
  }

  @Override
  public void pause() {
    getLifeCycle().transition(LifeCycle.State.PAUSING);
    try {
      if (replica.use()) {
        copiesTaken.increment();
        durable = replica.applied();
      } else {
        durable = replica.checkpoint();
      }
    } catch (IOException | RuntimeException | Error e) {
      // Otherwise Ratis would drop the log up to the copy's index, and the database would lack
      // those entries.
      stop("the copy that it has restored can't be installed: " + e.getMessage(), e);
      throw new IllegalStateException("The copy can't be installed.", e);
    }
    getLifeCycle().transition(LifeCycle.State.PAUSED);
  }

  @Override
  public void reinitialize() throws IOException {
    durable = replica.applied();
    seen = durable.index();
    getLifeCycle().startAndTransition(() -> {});
  }

  // --------------------------------------------------------------------------------------- health

  @Override
  public void notifyLogFailed(@Nullable Throwable cause, @Nullable LogEntryProto entry) {
    stop("its log can't be written: " + (cause == null ? "no cause is known" : cause), cause);
  }

  @Override
  public void notifyServerShutdown(RoleInfoProto role, boolean all) {
    state.fail("its server was shut down.", null);
  }

  @Override
  public void close() {
    copies.close();
  }
}
