package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.replication.Position;
import io.fovea.replication.Replica;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto.AppendResult;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto.NotificationProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftGroupIdProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.proto.RaftProtos.TermIndexProto;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachine;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A follower of Ratis with our properties; the test acts as the leader. Entries that the follower
 * acknowledges are in its log and synced, and no request makes later ones fail ({@link
 * SerialAppends}).
 */
class FollowerTest {
  private static final long TERM = 3;
  private static final ByteString CLIENT = ClientId.randomId().toByteString();

  @TempDir Path directory;
  private ReplicationOptions options;
  private RaftServer server;
  private RaftLog log;
  private final AtomicLong calls = new AtomicLong();

  @BeforeEach
  void options() {
    String self = "127.0.0.1:" + Ports.next();
    List<Peer> peers =
        List.of(
            new Peer("a", self),
            new Peer("b", "127.0.0.1:" + Ports.next()),
            new Peer("c", "127.0.0.1:" + Ports.next()));
    options =
        Group.small(ReplicationOptions.of("a", directory, peers))
            .electionTimeout(Duration.ofMinutes(10));
  }

  private void start(StateMachine machine) throws Exception {
    RaftServer ratis =
        RaftServer.newBuilder()
            .setServerId(RaftSetup.peer(options.self()).getId())
            .setGroup(RaftSetup.group(options))
            .setOption(RaftStorage.StartupOption.RECOVER)
            .setProperties(RaftSetup.properties(options))
            .setStateMachine(machine)
            .build();
    ratis.start();
    server = SerialAppends.around(ratis);
    log = server.getDivision(RaftSetup.groupId(options)).getRaftLog();
  }

  @AfterEach
  void close() throws Exception {
    server.close();
  }

  private void startWithAnEntry() throws Exception {
    start(new BaseStateMachine());
    append(false, 0, 0).get();
  }

  private RaftRpcRequestProto from(String leader) {
    return RaftRpcRequestProto.newBuilder()
        .setRequestorId(ByteString.copyFromUtf8(leader))
        .setReplyId(ByteString.copyFromUtf8("a"))
        .setRaftGroupId(
            RaftGroupIdProto.newBuilder().setId(RaftSetup.groupId(options).toByteString()))
        .setCallId(calls.incrementAndGet())
        .build();
  }

  /** Appends the entries from the first to the last index. */
  private CompletableFuture<AppendEntriesReplyProto> append(boolean previous, long first, long last)
      throws Exception {
    AppendEntriesRequestProto.Builder request = request("b", TERM);
    if (previous) {
      request.setPreviousLog(TermIndexProto.newBuilder().setTerm(TERM).setIndex(first - 1));
    }
    for (long i = first; i <= last; i++) {
      request.addEntries(entry(TERM, i));
    }
    return server.appendEntriesAsync(request.build());
  }

  private AppendEntriesRequestProto.Builder request(String leader, long term) {
    return AppendEntriesRequestProto.newBuilder()
        .setServerRequest(from(leader))
        .setLeaderTerm(term)
        .setLeaderCommit(0);
  }

  private static LogEntryProto entry(long term, long index) {
    return LogEntryProto.newBuilder()
        .setTerm(term)
        .setIndex(index)
        .setStateMachineLogEntry(
            StateMachineLogEntryProto.newBuilder().setClientId(CLIENT).setCallId(index))
        .build();
  }

  /** A leader that was cut off repeats a request, which has more entries by then. */
  @Test
  void acknowledgedEntriesArePresent() throws Exception {
    startWithAnEntry();
    for (int i = 0; i < 100; i++) {
      long next = log.getNextIndex();
      var first = append(true, next, next);
      var again = append(true, next, next + 1);
      for (var reply : List.of(first.get(), again.get())) {
        if (reply.getResult() == AppendResult.SUCCESS) {
          assertNotNull(log.getTermIndex(reply.getMatchIndex()), () -> missing(reply));
        }
      }
    }
  }

  private static String missing(AppendEntriesReplyProto reply) {
    return "acknowledged, but not present: " + reply.getMatchIndex();
  }

  /** The same request again, while the first one waits for the disk. */
  @Test
  void acknowledgedEntriesAreSynced() throws Exception {
    startWithAnEntry();
    for (int i = 0; i < 200; i++) {
      long next = log.getNextIndex();
      var first = append(true, next, next + 1);
      var again =
          append(true, next, next + 1)
              .thenApply(
                  reply ->
                      reply.getResult() != AppendResult.SUCCESS
                          || log.getFlushIndex() >= reply.getMatchIndex());
      assertTrue(again.get(), "acknowledged, but not synced: " + next);
      first.get();
    }
  }

  /** A vote for another candidate between a request and its reply. */
  @Test
  void replyHasTermOfRequest() throws Exception {
    startWithAnEntry();
    int failed = 0;
    for (int i = 0; i < 50; i++) {
      TermIndex last = log.getLastEntryTermIndex();
      var reply =
          server.appendEntriesAsync(
              request("b", TERM + i)
                  .setPreviousLog(
                      TermIndexProto.newBuilder().setTerm(last.getTerm()).setIndex(last.getIndex()))
                  .addEntries(entry(TERM + i, last.getIndex() + 1))
                  .build());
      // The next term may begin before or after the entry is synced: both are correct.
      server.appendEntriesAsync(request("c", TERM + i + 1).build()).get();
      failed += reply.handle((r, e) -> e == null ? 0 : 1).get();
    }
    assertTrue(failed > 0, "no reply was a failure");
  }

  /** SerialAppends is between network and server. */
  @Test
  void isInstalled() throws Exception {
    start(new BaseStateMachine());
    assertInstanceOf(SerialGrpc.class, RaftConfigKeys.Rpc.type(server.getProperties(), s -> {}));
  }

  /** Two connections of a leader: the second request overtakes the first. */
  @Test
  void overtakingRequestsDoNotBreakLaterOnes() throws Exception {
    startWithAnEntry();
    for (int i = 0; i < 500; i++) {
      long next = log.getNextIndex();
      Thread second = Thread.ofPlatform().start(() -> tryFor(30, next + 1));
      tryFor(30, next);
      second.join();
      assertEquals(next + 2, log.getNextIndex(), "it no longer accepts entries, round " + i);
    }
  }

  /** Sends an entry until it is accepted. */
  private void tryFor(int seconds, long index) {
    long until = System.nanoTime() + seconds * 1_000_000_000L;
    while (!isAppended(index) && System.nanoTime() - until < 0) {
      Thread.onSpinWait();
    }
  }

  private boolean isAppended(long index) {
    try {
      return append(true, index, index).get().getResult() == AppendResult.SUCCESS;
    } catch (Exception e) {
      return false; // the leader would repeat it
    }
  }

  /**
   * A new leader's log begins at a lower index than that of the leader for which the copy was
   * begun.
   */
  @Test
  void copyIsInstalledAcrossLeaderChange() throws Exception {
    long session = options.sessionWindow();
    Duration time = options.sessionTime();
    try (Replica from = replica("from");
        Replica to = replica("to")) {
      from.passed(new Position(TERM, 150));
      FoveaStateMachine gives = new FoveaStateMachine(from, new PeerState("b"), session, time);
      gives.takeSnapshot();
      FoveaStateMachine takes = new FoveaStateMachine(to, new PeerState("a"), session, time);
      CountDownLatch asked = new CountDownLatch(1);
      takes.asking(
          (peer, question, most) -> {
            asked.countDown();
            Message message = Message.valueOf(ByteString.copyFrom(question));
            return gives.queryStale(message, 0).join().getContent().toByteArray();
          });
      start(takes);
      install("b", TERM, 100);
      asked.await();
      InstallSnapshotResult result = InstallSnapshotResult.IN_PROGRESS;
      for (int i = 0; i < 600 && result != InstallSnapshotResult.SNAPSHOT_INSTALLED; i++) {
        Thread.sleep(50);
        result = install("c", TERM + 1, 90);
      }
      assertEquals(InstallSnapshotResult.SNAPSHOT_INSTALLED, result);
      assertEquals(1, takes.copiesTaken.sum());
      assertEquals(150, to.applied().index());
      assertEquals(151, log.getNextIndex());
    }
  }

  private Replica replica(String name) throws IOException {
    return Replica.open(
        directory.resolve(name),
        options.database(),
        options.commands(),
        Map.of(),
        options.experiments());
  }

  /** Sends what a leader, whose log begins at an index, sends to a peer that is too far behind. */
  private InstallSnapshotResult install(String leader, long term, long first) throws Exception {
    try {
      return server
          .installSnapshot(
              InstallSnapshotRequestProto.newBuilder()
                  .setServerRequest(from(leader))
                  .setLeaderTerm(term)
                  .setNotification(
                      NotificationProto.newBuilder()
                          .setFirstAvailableTermIndex(
                              TermIndexProto.newBuilder().setTerm(TERM).setIndex(first)))
                  .build())
          .getResult();
    } catch (IllegalStateException e) {
      return InstallSnapshotResult.IN_PROGRESS; // the leader would repeat it
    }
  }
}
