package io.fovea.ratis;

import io.fovea.ratis.ReplicationException.Reason;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.proto.RaftProtos.LogInfoProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.protocol.GroupInfoReply;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.GroupMismatchException;
import org.apache.ratis.protocol.exceptions.TimeoutIOException;
import org.apache.ratis.retry.RetryPolicies;
import org.apache.ratis.retry.RetryPolicy;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.StatusRuntimeException;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/**
 * Inspects and changes a group from outside, over the network, without being a member.
 *
 * <p>Some of the members suffice to begin with. Each one that answers names the members it knows;
 * the leader's answer is authoritative.
 *
 * <p>Not thread-safe.
 */
final class Administration implements AutoCloseable {
  /** How often a change is attempted while the leader is unknown. */
  private static final int TRIES = 20;

  /** Messages of gRPC for an unreachable peer, and of Ratis for a silent one. */
  private final RaftGroupId group;

  private final RaftProperties properties = new RaftProperties();
  private final Parameters parameters;
  private final Duration most;
  private final List<Peer> named;
  private final RaftClient asking;

  /**
   * A member, as it answered.
   *
   * @param role LEADER, FOLLOWER, CANDIDATE or LISTENER; null without an answer
   * @param leader the leader it knows; null if none
   * @param trouble why it is unhealthy; empty if it is healthy
   * @param applied the last entry that it has applied; -1 before the first
   * @param committed the last entry that it knows to be on a majority
   * @param snapshot the last entry that its database snapshot includes; its log may begin after it
   * @param members the members that it knows
   */
  record Seen(
      Peer peer,
      @Nullable String role,
      @Nullable String leader,
      boolean answered,
      String trouble,
      long applied,
      long committed,
      long snapshot,
      List<Peer> members) {
    boolean leads() {
      return RaftPeerRole.LEADER.name().equals(role) && trouble.isEmpty();
    }
  }

  Administration(String group, Collection<Peer> named, Duration most, Parameters parameters) {
    this.group = RaftSetup.groupId(group);
    this.named = List.copyOf(named);
    this.most = most;
    this.parameters = parameters;
    RaftClientConfigKeys.Rpc.setRequestTimeout(properties, RaftSetup.time(most));
    this.asking = client(named, RetryPolicies.noRetry());
  }

  private RaftClient client(Collection<Peer> peers, RetryPolicy retry) {
    return RaftClient.newBuilder()
        .setRaftGroup(RaftGroup.valueOf(group, RaftSetup.peers(peers)))
        .setProperties(properties)
        .setParameters(parameters)
        .setRetryPolicy(retry)
        .build();
  }

  /**
   * Returns all members, including those that do not answer, and the named peers that are not
   * members.
   */
  List<Seen> look() {
    Map<String, Seen> seen = new LinkedHashMap<>();
    List<Peer> next = new ArrayList<>(named);
    while (!next.isEmpty()) {
      List<Peer> known = new ArrayList<>();
      for (Peer p : next) {
        Seen s = look(p);
        seen.put(p.id(), s);
        known.addAll(s.members);
      }
      known.removeIf(p -> seen.containsKey(p.id()));
      next = known;
    }
    return List.copyOf(seen.values());
  }

  private Seen look(Peer p) {
    RaftPeerId id = RaftPeerId.valueOf(p.id());
    GroupInfoReply r;
    try {
      asking.getClientRpc().addRaftPeers(List.of(RaftSetup.peer(p)));
      r = asking.getGroupManagementApi(id).info(group);
      Membership.require(r, "It did not answer.");
    } catch (IOException | RuntimeException e) {
      Trouble t = trouble(e);
      return new Seen(p, null, null, t.answered, t.words, -1, -1, -1, List.of());
    }
    List<Peer> members =
        r.getGroup().getPeers().stream()
            .map(m -> new Peer(m.getId().toString(), m.getAddress()))
            .sorted(Comparator.comparing(Peer::id))
            .toList();
    LogInfoProto log = r.getLogInfoProto();
    String role = r.getRoleInfoProto().getRole().name();
    Trouble t = trouble(id);
    return new Seen(
        p,
        role,
        leader(r),
        t.answered,
        t.words,
        log.hasApplied() ? log.getApplied().getIndex() : -1,
        log.hasCommitted() ? log.getCommitted().getIndex() : -1,
        log.hasLastSnapshot() ? log.getLastSnapshot().getIndex() : -1,
        members);
  }

  private static @Nullable String leader(GroupInfoReply r) {
    var role = r.getRoleInfoProto();
    if (role.getRole() == RaftPeerRole.LEADER) {
      return role.getSelf().getId().toStringUtf8();
    }
    String id =
        role.hasFollowerInfo()
            ? role.getFollowerInfo().getLeaderInfo().getId().getId().toStringUtf8()
            : "";
    return id.isEmpty() ? null : id;
  }

  /**
   * Asks the state machine: a server that has stopped still reports its role, but its state machine
   * does not answer.
   */
  private Trouble trouble(RaftPeerId id) {
    try {
      ByteString question = ByteString.copyFrom(new byte[] {FoveaStateMachine.TROUBLE});
      RaftClientReply r = asking.io().sendStaleRead(Message.valueOf(question), 0, id);
      Membership.require(r, "It did not answer.");
      String what = r.getMessage().getContent().toString(StandardCharsets.UTF_8);
      return new Trouble(true, what.isEmpty() ? "" : "It has stopped: " + what);
    } catch (IOException | RuntimeException e) {
      return trouble(e);
    }
  }

  /** Compares the digests of the members that answer. */
  DigestComparison compare(List<Seen> seen) {
    List<RaftPeerId> ids = seen.stream().map(s -> RaftPeerId.valueOf(s.peer.id())).toList();
    RaftPeerId leader =
        seen.stream()
            .filter(Seen::leads)
            .map(s -> RaftPeerId.valueOf(s.peer.id()))
            .findFirst()
            .orElse(null);
    return DigestComparison.of(ids, leader, this::ask, most);
  }

  private byte[] ask(RaftPeerId id, byte[] question, Duration timeout) throws IOException {
    RaftClientReply r =
        asking.io().sendStaleRead(Message.valueOf(ByteString.copyFrom(question)), 0, id);
    if (!r.isSuccess()) {
      throw new IOException(r.getException());
    }
    return r.getMessage().getContent().toByteArray();
  }

  private static Trouble trouble(Throwable e) {
    String words = words(e);
    if (e instanceof GroupMismatchException) {
      return new Trouble(true, "It is not in this group: " + words);
    }
    return isAway(e) || Tls.trouble(e) != null
        ? new Trouble(false, "It did not answer: " + words)
        : new Trouble(
            true, "It has stopped; its health and its log say why. It answered: " + words);
  }

  /**
   * Returns whether a request failed for lack of an answer, judging by the messages of gRPC and
   * Ratis.
   */
  private static boolean isAway(Throwable thrown) {
    Set<Throwable> seen = new HashSet<>();
    for (Throwable e = thrown; e != null && seen.add(e); e = e.getCause()) {
      if (e instanceof TimeoutIOException || e instanceof TimeoutException) {
        return true;
      }
      if (e instanceof StatusRuntimeException s) {
        Status.Code code = s.getStatus().getCode();
        return code == Status.Code.UNAVAILABLE || code == Status.Code.DEADLINE_EXCEEDED;
      }
    }
    return false;
  }

  private record Trouble(boolean answered, String words) {}

  private static String words(Throwable e) {
    String tls = Tls.trouble(e);
    if (tls != null) {
      return tls;
    }
    String message = String.valueOf(e.getMessage());
    String line = message.lines().findFirst().orElse("").strip();
    return line.endsWith(".") ? line.substring(0, line.length() - 1) : line;
  }

  /** Returns the members according to the leader. */
  private List<Peer> members(List<Seen> seen) {
    return seen.stream()
        .filter(Seen::leads)
        .findFirst()
        .map(Seen::members)
        .orElseThrow(
            () ->
                new ReplicationException(
                    Reason.MEMBERSHIP,
                    false,
                    "None of the peers that answer is the leader. Check that a majority of the"
                        + " peers is up and that they reach each other.",
                    null));
  }

  /** Adds a peer; returns false if it already was a member. */
  boolean add(Peer peer) {
    List<Peer> members = members(look());
    if (members.contains(peer)) {
      return false;
    }
    List<Peer> more = new ArrayList<>(members);
    more.removeIf(p -> p.id().equals(peer.id()));
    more.add(peer);
    change(members, more, "Peer \"" + peer.id() + "\" was not added to the group.");
    return true;
  }

  /** Removes a peer; returns false if it was not a member. */
  boolean remove(String id) {
    List<Peer> members = members(look());
    List<Peer> fewer = new ArrayList<>(members);
    if (!fewer.removeIf(p -> p.id().equals(id))) {
      return false;
    }
    if (fewer.isEmpty()) {
      throw new IllegalArgumentException(
          "\"" + id + "\" can't be removed: it is the last member, and one must stay.");
    }
    change(members, fewer, "Peer \"" + id + "\" was not removed from the group.");
    return true;
  }

  private RaftClient changing(Collection<Peer> members) {
    return client(
        members,
        RetryPolicies.retryUpToMaximumCountWithFixedSleep(
            TRIES, TimeDuration.valueOf(200, TimeUnit.MILLISECONDS)));
  }

  private void change(List<Peer> from, List<Peer> to, String failed) {
    try (RaftClient client = changing(from)) {
      Membership.change(client, RaftSetup.peers(from), RaftSetup.peers(to), failed);
    } catch (IOException e) {
      throw new ReplicationException(
          Reason.MEMBERSHIP, true, failed + " The cause: " + e.getMessage(), e);
    } catch (ReplicationException e) {
      // If the answer to an earlier attempt was lost, the repeated one fails although the change
      // was made.
      if (!is(to)) {
        throw e;
      }
    }
  }

  /** Returns whether a leader has these members. */
  private boolean is(List<Peer> wanted) {
    Set<Peer> set = Set.copyOf(wanted);
    return look().stream().anyMatch(s -> s.leads() && Set.copyOf(s.members).equals(set));
  }

  /** Transfers the leadership; returns the new leader. */
  String transfer(@Nullable String id) {
    List<Seen> seen = look();
    List<Peer> members = members(seen);
    String leader = seen.stream().filter(Seen::leads).findFirst().orElseThrow().peer.id();
    List<String> to = new ArrayList<>();
    for (Seen s : seen) {
      boolean wanted = id == null ? !s.leads() && s.trouble.isEmpty() : s.peer.id().equals(id);
      if (wanted && members.contains(s.peer)) {
        to.add(s.peer.id());
      }
    }
    if (to.isEmpty()) {
      throw new IllegalArgumentException(
          id == null ? "No other member is healthy." : "\"" + id + "\" is not a member.");
    }
    if (leader.equals(id)) {
      return id;
    }
    ReplicationException last = null;
    for (String each : to) {
      String failed = "The leadership was not transferred to \"" + each + "\".";
      try (RaftClient client = changing(members)) {
        Membership.require(
            client.admin().transferLeadership(RaftPeerId.valueOf(each), most.toMillis()), failed);
        return each;
      } catch (IOException e) {
        String why = failed + " The cause: " + words(e) + ".";
        last = new ReplicationException(Reason.MEMBERSHIP, false, why, e);
      } catch (ReplicationException e) {
        last = e;
      }
    }
    throw Objects.requireNonNull(last);
  }

  /** Makes a checkpoint at a member; returns its index. */
  long snapshot(Peer peer) {
    String failed = "Peer \"" + peer.id() + "\" did not make a snapshot.";
    try {
      asking.getClientRpc().addRaftPeers(List.of(RaftSetup.peer(peer)));
      RaftClientReply r =
          asking.getSnapshotManagementApi(RaftPeerId.valueOf(peer.id())).create(1, most.toMillis());
      Membership.require(r, failed);
      return r.getLogIndex();
    } catch (IOException e) {
      throw new ReplicationException(
          Reason.TIMEOUT, false, failed + " The cause: " + words(e) + ".", e);
    }
  }

  @Override
  public void close() throws IOException {
    asking.close();
  }
}
