package io.fovea.ratis;

import io.fovea.ratis.ReplicationException.Reason;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.ratis.client.RaftClientRpc;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.NotLeaderException;
import org.apache.ratis.protocol.exceptions.RaftException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to the peers, and repeats them until one answers or the time limit is reached.
 *
 * <p>A request to this peer's own server bypasses the network. Each attempt has its own time limit,
 * so a stopped peer or a lossy link costs one such limit. Each attempt is a separate call for
 * Ratis, which may append it twice; the session table ensures that it is applied once.
 *
 * <p>Continuations run on virtual threads and may block.
 *
 * <p>Thread-safe.
 */
final class Requests {
  private static final byte[] NO_BYTES = {};
  private static final long PAUSE_LEAST_MILLIS = 10;
  private static final long PAUSE_MOST_MILLIS = 250;
  private static final Executor TELL = body -> Thread.ofVirtual().name("fovea-reply").start(body);

  private final RaftServer server;
  private final RaftGroupId group;
  private final RaftClientRpc rpc;
  private final Duration attempt;
  private final ClientId client = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  private final LongAdder again = new LongAdder();
  private volatile @Nullable RaftPeerId hint;
  private volatile boolean closed;

  Requests(RaftServer server, RaftGroupId group, RaftClientRpc rpc, Duration attempt) {
    this.server = server;
    this.group = group;
    this.rpc = rpc;
    this.attempt = attempt;
  }

  /** Sends an entry to the leader; completes with the answer of the state machine. */
  CompletableFuture<byte[]> write(byte[] entry, Duration most) {
    return new Call(RaftClientRequest.writeRequestType(), entry, null, most).begin();
  }

  /** Appends a mark; completes with its outcome, which has its index. */
  CompletableFuture<byte[]> mark(Duration most) {
    return write(NO_BYTES, most);
  }

  /** Asks one peer's state machine, once. */
  byte[] ask(RaftPeerId peer, byte[] question, Duration most) throws IOException {
    addMembers();
    Call call = new Call(RaftClientRequest.staleReadRequestType(0), question, peer, most);
    try {
      RaftClientReply reply = call.send(peer).get(most.toMillis(), TimeUnit.MILLISECONDS);
      RaftException e = reply.getException();
      if (e != null) {
        throw e;
      }
      return reply.getMessage().getContent().toByteArray();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("Interrupted while peer " + peer + " was asked.", e);
    } catch (ExecutionException | TimeoutException e) {
      rpc.handleException(peer, e, true);
      throw new IOException(
          "Peer " + peer + " did not answer within " + most.toMillis() + " ms.", e);
    }
  }

  /** Returns the number of repeated attempts. */
  long retries() {
    return again.sum();
  }

  /** Makes waiting requests end at their next attempt. */
  void close() {
    closed = true;
  }

  private List<RaftPeerId> addMembers() {
    List<RaftPeerId> ids = new ArrayList<>();
    try {
      var members = server.getDivision(group).getRaftConf().getAllPeers();
      rpc.addRaftPeers(members);
      for (RaftPeer p : members) {
        ids.add(p.getId());
      }
    } catch (IOException e) {
      ids.add(server.getId());
    }
    return ids;
  }

  private @Nullable RaftPeerId leader() {
    try {
      return server.getDivision(group).getInfo().getLeaderId();
    } catch (IOException e) {
      return null;
    }
  }

  /** A request and its attempts. */
  private final class Call {
    private final RaftClientRequest.Type type;
    private final Message content;
    private final @Nullable RaftPeerId only;
    private final long began = System.nanoTime();
    private final long mostNanos;
    private final CompletableFuture<byte[]> done = new CompletableFuture<>();
    private int tries;
    private @Nullable Throwable last;
    private @Nullable RaftPeerId lastTarget;

    Call(RaftClientRequest.Type type, byte[] content, @Nullable RaftPeerId only, Duration most) {
      this.type = type;
      this.content = Message.valueOf(ByteString.copyFrom(content));
      this.only = only;
      this.mostNanos = most.toNanos();
    }

    CompletableFuture<byte[]> begin() {
      attempt(null);
      return done;
    }

    CompletableFuture<RaftClientReply> send(RaftPeerId target) {
      RaftClientRequest request =
          RaftClientRequest.newBuilder()
              .setClientId(client)
              .setServerId(target)
              .setGroupId(group)
              .setCallId(calls.incrementAndGet())
              .setMessage(content)
              .setType(type)
              .build();
      try {
        return target.equals(server.getId())
            ? server.submitClientRequestAsync(request)
            : rpc.sendRequestAsyncUnordered(request);
      } catch (IOException | RuntimeException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    private void attempt(@Nullable RaftPeerId not) {
      long left = mostNanos - (System.nanoTime() - began);
      if (left <= 0 || closed) {
        end();
        return;
      }
      tries++;
      RaftPeerId target = choose(not);
      long limit = Math.min(left, attempt.toNanos());
      // A copy, so that the timeout of an attempt does not complete Ratis' future.
      send(target)
          .copy()
          .orTimeout(limit, TimeUnit.NANOSECONDS)
          .whenComplete((reply, e) -> ended(target, reply, e));
    }

    private RaftPeerId choose(@Nullable RaftPeerId not) {
      if (only != null) {
        return only;
      }
      RaftPeerId known = leader();
      if (known == null || known.equals(not)) {
        known = hint;
      }
      List<RaftPeerId> members = addMembers();
      if (known != null && !known.equals(not)) {
        return known;
      }
      return members.isEmpty() ? server.getId() : members.get(tries % members.size());
    }

    private void ended(
        RaftPeerId target, @Nullable RaftClientReply reply, @Nullable Throwable thrown) {
      if (reply != null && reply.isSuccess()) {
        hint = only == null ? target : hint;
        byte[] answer = reply.getMessage().getContent().toByteArray();
        TELL.execute(() -> done.complete(answer));
        return;
      }
      Throwable e = thrown;
      RaftPeerId not = target;
      if (reply != null) {
        e = reply.getException();
        if (e instanceof NotLeaderException n) {
          rpc.addRaftPeers(n.getPeers());
          RaftPeer suggested = n.getSuggestedLeader();
          hint = suggested == null || suggested.getId().equals(target) ? null : suggested.getId();
        }
      } else {
        if (e instanceof CompletionException && e.getCause() != null) {
          e = e.getCause();
        }
        if (!target.equals(server.getId())) {
          rpc.handleException(target, e, true);
        }
        hint = null;
      }
      if (last == null || says(target, e) >= says(lastTarget, last)) {
        last = e;
        lastTarget = target;
      }
      again.increment();
      long pause = Math.min(PAUSE_MOST_MILLIS, PAUSE_LEAST_MILLIS << Math.min(10, tries - 1));
      CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS, TELL)
          .execute(() -> attempt(not));
    }

    /**
     * Ranks failures by how informative they are: "this peer does not lead" is the least
     * informative; a timeout of another peer is more so, although all requests time out in the end;
     * any other failure is the most informative.
     */
    private int says(@Nullable RaftPeerId target, @Nullable Throwable e) {
      boolean own = e instanceof NotLeaderException && server.getId().equals(target);
      return own ? 0 : e instanceof TimeoutException ? 1 : 2;
    }

    private void end() {
      boolean write = !content.getContent().isEmpty();
      String what = write ? "command" : "linearizable read";
      String later = write ? " The command may still be applied, once." : "";
      String tls = last == null ? null : Tls.trouble(last);
      String why =
          tls != null
              ? "no connection to peer \"" + lastTarget + "\", because " + tls
              : last == null ? "no answer" : String.valueOf(last);
      ReplicationException e =
          closed
              ? new ReplicationException(
                  Reason.STOPPED,
                  write && tries > 0,
                  "The " + what + " was not answered before this peer was closed.",
                  last)
              : new ReplicationException(
                  Reason.TIMEOUT,
                  write,
                  "The "
                      + what
                      + " was not answered within "
                      + TimeUnit.NANOSECONDS.toMillis(mostNanos)
                      + " ms, in "
                      + tries
                      + " tries. Are a majority of the peers up, and do they reach each other?"
                      + later
                      + " The last try ended with: "
                      + why
                      + ".",
                  last);
      TELL.execute(() -> done.completeExceptionally(e));
    }
  }
}
