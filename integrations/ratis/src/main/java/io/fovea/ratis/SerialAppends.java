package io.fovea.ratis;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto.AppendResult;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;

/**
 * What leaders send to a peer, one by one, and acknowledged when it is synced. It stands between
 * Ratis' network and Ratis' server ({@link SerialGrpc}).
 *
 * <p>A leader counts an acknowledged entry for its majority. So what a follower acknowledges must
 * be in its log after a loss of power, and nothing but a later leader, which had to have it, may
 * take it out again. Three things of Ratis (3.3.0, {@code RaftServerImpl.appendEntriesAsync}) are
 * not so, the first two where requests come by two connections: those of a leader before and after
 * its link was reset, or those of two leaders.
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
 *   <li><b>A vote fits between these steps.</b> The candidate would be compared with a log that has
 *       not the entries, and need not have them. So a reply is a failure if the term is not that of
 *       its request any more. A vote that comes later is compared with the entries.
 * </ul>
 *
 * <p>A request that is refused says so at once, and one without entries, a heartbeat, appends
 * nothing and passes by the lock: others wait there while the log's queue is full. An append whose
 * reply is a failure is sent again by the leader. One that a copy overtook, or that the log was
 * closed under, may never end in Ratis. It ends here, as a failure, with the copy or with the next
 * request.
 *
 * <p>Any thread. The lock is taken before all locks of Ratis' server, and by no thread that Ratis
 * waits for. There is one group in a server.
 */
final class SerialAppends {
  private final RaftServer server;

  /** Ends when the latest append has. Guarded by this. */
  private CompletableFuture<?> latest = CompletableFuture.completedFuture(null);

  /** Replies that have not ended. Its threads take no lock of ours. */
  private final Set<CompletableFuture<AppendEntriesReplyProto>> underWay =
      ConcurrentHashMap.newKeySet();

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
    boolean moved = true; // the log; also where Ratis fails in the middle of it
    try {
      InstallSnapshotReplyProto reply = (InstallSnapshotReplyProto) pass(method, args);
      moved = reply.getResult() == InstallSnapshotResult.SNAPSHOT_INSTALLED;
      return reply;
    } catch (IllegalStateException e) {
      moved = false; // Ratis does not take it, as it does not fit what it is doing
      throw e;
    } finally {
      if (moved) {
        abandon("A copy was used instead.");
      }
    }
  }

  private CompletableFuture<AppendEntriesReplyProto> append(AppendEntriesRequestProto request)
      throws IOException {
    if (request.getEntriesCount() == 0) {
      return server.appendEntriesAsync(request);
    }
    synchronized (this) {
      CompletableFuture<AppendEntriesReplyProto> reply = server.appendEntriesAsync(request);
      if (isRefused(reply)) {
        if (division(request).getInfo().getLifeCycleState().isClosingOrClosed()) {
          abandon("The log was closed.");
        }
        return reply;
      }
      CompletableFuture<AppendEntriesReplyProto> synced =
          latest
              .handle((before, failure) -> null)
              .thenCompose(before -> reply)
              .thenApply(r -> synced(request, r));
      underWay.add(synced);
      synced.whenComplete((r, e) -> underWay.remove(synced));
      latest = synced;
      return synced;
    }
  }

  private static boolean isRefused(CompletableFuture<AppendEntriesReplyProto> reply) {
    return reply.isCompletedExceptionally()
        || reply.isDone() && reply.join().getResult() != AppendResult.SUCCESS;
  }

  private RaftServer.Division division(AppendEntriesRequestProto request) throws IOException {
    return server.getDivision(
        RaftGroupId.valueOf(request.getServerRequest().getRaftGroupId().getId()));
  }

  private AppendEntriesReplyProto synced(
      AppendEntriesRequestProto request, AppendEntriesReplyProto reply) {
    try {
      if (reply.getResult() == AppendResult.SUCCESS) {
        RaftServer.Division division = division(request);
        if (division.getRaftLog().getFlushIndex() < reply.getMatchIndex()) {
          throw new IOException("The entry " + reply.getMatchIndex() + " could not be synced.");
        }
        if (division.getInfo().getCurrentTerm() != request.getLeaderTerm()) {
          throw new IOException("The term is another one since the request came.");
        }
      }
      return reply;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  /** Ends what may not end by itself, by another thread, which holds no lock. Guarded by this. */
  private void abandon(String why) {
    latest = CompletableFuture.completedFuture(null);
    List<CompletableFuture<AppendEntriesReplyProto>> all = List.copyOf(underWay);
    if (!all.isEmpty()) {
      CompletableFuture.runAsync(
          () -> all.forEach(reply -> reply.completeExceptionally(new IOException(why))));
    }
  }
}
