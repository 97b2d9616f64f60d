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
 * Serializes the append requests that leaders send to a peer, and acknowledges them only when they
 * are synced. It sits between Ratis' network layer and Ratis' server ({@link SerialGrpc}).
 *
 * <p>A leader counts an acknowledged entry for its majority. So an acknowledged entry must be in
 * the follower's log even after a power loss, and only a later leader, which must have it, may
 * remove it. Ratis violates this in three ways (3.3.0, {@code RaftServerImpl.appendEntriesAsync}).
 * The first two occur if requests arrive over two connections: those of one leader before and after
 * a reset, or those of two leaders.
 *
 * <ul>
 *   <li><b>A repeated entry is acknowledged at once</b>, because it is in the log's memory; its
 *       first append may still wait for the disk, or have failed. So a reply waits for the append
 *       before it, and fails unless the log is synced up to its entries. The first condition is
 *       needed because a truncation that waits for the disk leaves the synced index too high.
 *   <li><b>A request is compared with the log in one step and appended in another.</b> A request of
 *       an older leader, delayed between the two steps while a newer leader's request is appended,
 *       would truncate the newer entries. Both steps run on the caller's thread (appends are not
 *       composed: {@link RaftSetup}), so the lock here makes them one. Installing a copy, which
 *       moves the log, takes the lock too.
 *   <li><b>A vote can occur between the two steps.</b> The candidate would be compared with a log
 *       that lacks the entries, and need not have them. So a reply fails if the term is no longer
 *       that of its request. A later vote is compared with the entries.
 * </ul>
 *
 * <p>A refused request is answered at once. A heartbeat, which has no entries, bypasses the lock,
 * where other requests wait while the log's queue is full. The leader repeats an append whose reply
 * failed. An append that a copy overtook, or that was in progress when the log was closed, may
 * never complete in Ratis. It fails here, when the copy is installed or the next request arrives.
 *
 * <p>Thread-safe. The lock is taken before all locks of Ratis' server, and by no thread that Ratis
 * waits for. A server has one group.
 */
final class SerialAppends {
  private final RaftServer server;

  /** Completes with the latest append. Guarded by this. */
  private CompletableFuture<?> latest = CompletableFuture.completedFuture(null);

  /** Incomplete replies. The threads that complete them take no lock of this class. */
  private final Set<CompletableFuture<AppendEntriesReplyProto>> underWay =
      ConcurrentHashMap.newKeySet();

  private SerialAppends(RaftServer server) {
    this.server = server;
  }

  /** Returns a proxy of the server that intercepts what leaders send. */
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
    boolean moved = true; // the log; also if Ratis fails midway
    try {
      InstallSnapshotReplyProto reply = (InstallSnapshotReplyProto) pass(method, args);
      moved = reply.getResult() == InstallSnapshotResult.SNAPSHOT_INSTALLED;
      return reply;
    } catch (IllegalStateException e) {
      moved = false; // Ratis refuses it in its current state
      throw e;
    } finally {
      if (moved) {
        abandon("A copy was installed instead.");
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
          throw new IOException("The term has changed since the request arrived.");
        }
      }
      return reply;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  /**
   * Fails the replies that may never complete, on another thread that holds no lock. Guarded by
   * this.
   */
  private void abandon(String why) {
    latest = CompletableFuture.completedFuture(null);
    List<CompletableFuture<AppendEntriesReplyProto>> all = List.copyOf(underWay);
    if (!all.isEmpty()) {
      CompletableFuture.runAsync(
          () -> all.forEach(reply -> reply.completeExceptionally(new IOException(why))));
    }
  }
}
