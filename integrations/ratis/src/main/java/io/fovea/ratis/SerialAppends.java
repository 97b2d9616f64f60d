package io.fovea.ratis;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto.AppendResult;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * What leaders send to a peer, one by one, and acknowledged when it is synced. It stands between
 * Ratis' network and Ratis' server ({@link SerialGrpc}).
 *
 * <p>A leader counts an acknowledged entry for its majority. So what a follower acknowledges must
 * be in its log after a loss of power, and nothing but a newer leader may take it out again. Two
 * things of Ratis (3.3.0, {@code RaftServerImpl.appendEntriesAsync}) are not so, where requests
 * come by two connections: that of a leader before and after its link was reset, or those of two
 * leaders.
 *
 * <ul>
 *   <li><b>An entry that comes again is acknowledged at once</b>, since it is in the memory of the
 *       log; its first append may still wait for the disk, or have failed. So a reply here waits
 *       for the append before it, and is a failure if the log is not synced up to its entries. The
 *       first half is needed because a cut of the log that waits for the disk leaves the index up
 *       to which it is synced too high.
 *   <li><b>A request is compared with the log in one step and appended in another.</b> One of an
 *       older leader, held up between the two until a newer one's was appended, would cut that off.
 *       Both are done by the caller's thread (appends are not composed: {@link RaftSetup}), so they
 *       are one step under the lock here. The use of a copy, which moves the log, takes it too.
 * </ul>
 *
 * <p>An append whose reply is a failure is sent again by the leader. One that a copy overtook has
 * no end, and nobody waits for it: those after the copy begin anew.
 *
 * <p>Any thread. The lock is taken before all locks of Ratis' server.
 */
final class SerialAppends {
  private final RaftServer server;

  /** Ends when the latest append has. Guarded by this. */
  private CompletableFuture<?> latest = CompletableFuture.completedFuture(null);

  private SerialAppends(RaftServer server) {
    this.server = server;
  }

  /** A server that is the other one, but for what leaders send. */
  static RaftServer around(RaftServer server) {
    SerialAppends appends = new SerialAppends(server);
    return (RaftServer)
        Proxy.newProxyInstance(
            RaftServer.class.getClassLoader(),
            new Class<?>[] {RaftServer.class},
            (proxy, method, args) -> appends.call(method, args));
  }

  private Object call(Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "appendEntriesAsync" -> append((AppendEntriesRequestProto) args[0]);
      case "installSnapshot" -> install(method, args);
      default -> pass(method, args);
    };
  }

  private Object pass(Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(server, args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private synchronized Object install(Method method, Object[] args) throws Throwable {
    Object reply = pass(method, args);
    if (((InstallSnapshotReplyProto) reply).getResult()
        == InstallSnapshotResult.SNAPSHOT_INSTALLED) {
      latest = CompletableFuture.completedFuture(null);
    }
    return reply;
  }

  private synchronized CompletableFuture<AppendEntriesReplyProto> append(
      AppendEntriesRequestProto request) throws IOException {
    CompletableFuture<AppendEntriesReplyProto> reply = server.appendEntriesAsync(request);
    if (request.getEntriesCount() == 0) {
      return reply;
    }
    ByteString group = request.getServerRequest().getRaftGroupId().getId();
    CompletableFuture<AppendEntriesReplyProto> synced =
        latest
            .handle((before, failure) -> null)
            .thenCompose(before -> reply)
            .thenApply(r -> synced(RaftGroupId.valueOf(group), r));
    latest = synced;
    return synced;
  }

  private AppendEntriesReplyProto synced(RaftGroupId group, AppendEntriesReplyProto reply) {
    try {
      if (reply.getResult() == AppendResult.SUCCESS
          && server.getDivision(group).getRaftLog().getFlushIndex() < reply.getMatchIndex()) {
        throw new IOException("The entry " + reply.getMatchIndex() + " could not be synced.");
      }
      return reply;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }
}
