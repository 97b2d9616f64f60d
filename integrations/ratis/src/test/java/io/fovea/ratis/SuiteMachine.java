package io.fovea.ratis;

import io.fovea.Options;
import io.fovea.Table;
import io.fovea.replication.Command;
import io.fovea.replication.CommandContext;
import io.fovea.replication.Commands;
import io.fovea.replication.Outcome;
import io.fovea.replication.Replica;
import io.fovea.replication.RequestId;
import io.fovea.replication.Stamp;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.StateMachine;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;

/**
 * Our state machine for Ratis' own tests. They send text messages, expect exactly these bytes in
 * the log, and do not configure a directory. So a message becomes a command when it is applied, and
 * the database is in the directory of the log.
 *
 * <p>A message is stored and counted; the answer to it, and to a query, is the count.
 */
public final class SuiteMachine implements StateMachine {
  private static final TableSpec MESSAGES = TableSpec.bytes("messages", 8);
  private static final byte[] COUNT = {0};

  private static final Commands COMMANDS =
      Commands.NONE.with("text", Text.class, t -> t.text, Text::new);

  private volatile @Nullable Replica replica;
  private volatile @Nullable FoveaStateMachine inner;

  /** Called by Ratis. */
  public SuiteMachine() {}

  record Text(byte[] text) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      Table<byte[], byte[]> t = c.table(MESSAGES).bytes();
      long n = Operations.number(t.get(c.tx(), COUNT)) + 1;
      t.put(c.tx(), COUNT, Operations.bytes(n));
      t.put(c.tx(), Operations.bytes(n), text);
      return Operations.utf(Long.toString(n));
    }
  }

  long count() {
    return replica.read(
        tx ->
            tx.tables().contains(MESSAGES.name())
                ? Operations.number(tx.table(MESSAGES).bytes().get(tx, COUNT))
                : 0L);
  }

  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage)
      throws IOException {
    Options options =
        Options.defaults()
            .bufferBytes(16 << 20)
            .log(l -> l.segmentBytes(4 << 20).maxBytes(16 << 20));
    Replica opened =
        Replica.open(
            storage.getStorageDir().getRoot().toPath().resolve("fovea"),
            options,
            COMMANDS,
            Map.of(),
            Replica.Experiments.NONE);
    PeerState state = new PeerState(server.getId().toString());
    state.closing(); // the tests end servers at any time, which is not a failure
    FoveaStateMachine machine = new FoveaStateMachine(opened, state, 100_000, Duration.ZERO);
    replica = opened;
    inner = machine;
    machine.initialize(server, group, storage);
  }

  @Override
  public void close() throws IOException {
    FoveaStateMachine machine = inner;
    if (machine != null) {
      machine.close();
      replica.close();
    }
  }

  @Override
  public TransactionContext startTransaction(RaftClientRequest request) {
    return TransactionContext.newBuilder().setStateMachine(this).setClientRequest(request).build();
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext trx) {
    LogEntryProto entry = trx.getLogEntry();
    StateMachineLogEntryProto text = entry.getStateMachineLogEntry();
    ByteBuffer client = text.getClientId().asReadOnlyByteBuffer();
    RequestId id =
        new RequestId(
            new UUID(client.getLong(), client.getLong()), text.getCallId(), entry.getIndex() - 1);
    byte[] bytes =
        Stamp.put(COMMANDS.entry(id, new Text(text.getLogData().toByteArray())), 0, 100_000, 0);
    LogEntryProto wrapped =
        entry.toBuilder()
            .setStateMachineLogEntry(text.toBuilder().setLogData(ByteString.copyFrom(bytes)))
            .build();
    return inner
        .applyTransaction(
            TransactionContext.newBuilder().setStateMachine(inner).setLogEntry(wrapped).build())
        .thenApply(m -> Outcome.of(m.getContent().toByteArray()))
        .thenApply(o -> Message.valueOf(ByteString.copyFrom(o.payload())));
  }

  @Override
  public CompletableFuture<Message> query(Message request) {
    return CompletableFuture.completedFuture(Message.valueOf(Long.toString(count())));
  }

  // ----------------------------------------------------------------------- everything else is
  // delegated

  @Override
  public TransactionContext preAppendTransaction(TransactionContext trx) {
    return trx;
  }

  @Override
  public TransactionContext cancelTransaction(TransactionContext trx) {
    return trx;
  }

  @Override
  public TransactionContext applyTransactionSerial(TransactionContext trx) {
    return trx;
  }

  @Override
  public CompletableFuture<Message> queryStale(Message request, long minIndex) {
    return inner.queryStale(request, minIndex);
  }

  @Override
  public EventApi event() {
    return inner.event();
  }

  @Override
  public LeaderEventApi leaderEvent() {
    return inner.leaderEvent();
  }

  @Override
  public FollowerEventApi followerEvent() {
    return inner.followerEvent();
  }

  @Override
  public LifeCycle.State getLifeCycleState() {
    return inner.getLifeCycleState();
  }

  @Override
  public void pause() {
    inner.pause();
  }

  @Override
  public void reinitialize() throws IOException {
    inner.reinitialize();
  }

  @Override
  public long takeSnapshot() {
    return inner.takeSnapshot();
  }

  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    return inner == null ? null : inner.getLatestSnapshot();
  }

  /** Called before initialization. */
  @Override
  public TermIndex getLastAppliedTermIndex() {
    return inner == null ? TermIndex.INITIAL_VALUE : inner.getLastAppliedTermIndex();
  }

  /** Called before initialization. */
  @Override
  public StateMachineStorage getStateMachineStorage() {
    return new NoFiles(this::getLatestSnapshot);
  }
}
