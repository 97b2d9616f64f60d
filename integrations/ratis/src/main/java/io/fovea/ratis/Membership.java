package io.fovea.ratis;

import io.fovea.ratis.ReplicationException.Reason;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SetConfigurationRequest;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;

/**
 * The members of a group and its leader, as seen from one peer.
 *
 * <p>Change one member at a time. A group of {@code 2f + 1} works while {@code f} of them are down.
 *
 * <p>Thread-safe, but only one change at a time may run in the whole group.
 *
 * @since 0.1.0
 */
public final class Membership {
  /** How long a peer may take to learn of a change that the leader has made. */
  private static final Duration CHANGE = Duration.ofSeconds(3);

  private final RaftServer.Division division;
  private final RaftClient client;

  Membership(RaftServer.Division division, RaftClient client) {
    this.division = division;
    this.client = client;
  }

  /** {@return the members, as this peer knows them; immutable} */
  public List<Peer> peers() {
    return division.getRaftConf().getAllPeers().stream()
        .map(p -> new Peer(p.getId().toString(), p.getAddress()))
        .toList();
  }

  /** {@return the name of the leader, as this peer knows it; null if none is known} */
  public @Nullable String leader() {
    RaftPeerId id = division.getInfo().getLeaderId();
    return id == null ? null : id.toString();
  }

  /**
   * Returns whether this peer is the leader and ready to accept commands.
   *
   * @return whether it leads, as far as it knows: another peer may have been elected
   */
  public boolean isLeader() {
    return division.getInfo().isLeader() && division.getInfo().isLeaderReady();
  }

  /**
   * Adds a peer that was started with {@link ReplicationOptions#joining}. It becomes a member once
   * it has caught up.
   *
   * @param peer the new member
   * @throws ReplicationException if the group does not add it: the peer does not answer or has not
   *     caught up in time, or another change is in progress
   */
  public void add(Peer peer) {
    List<RaftPeer> members = members();
    members.removeIf(p -> p.getId().toString().equals(peer.id()));
    members.add(RaftSetup.peer(peer));
    set(members, "Peer \"" + peer.id() + "\" was not added to the group.");
  }

  /**
   * Removes a peer, which may be down. Before a peer of the same name is added again, close this
   * one and delete its directory.
   *
   * @param id its name
   * @throws ReplicationException if the group does not remove it: no majority answers, or another
   *     change is in progress
   * @throws IllegalArgumentException if there is no such member, or it is the last one
   */
  public void remove(String id) {
    List<RaftPeer> members = members();
    if (!members.removeIf(p -> p.getId().toString().equals(id)) || members.isEmpty()) {
      throw new IllegalArgumentException(
          "\"" + id + "\" can't be removed: the members are " + peers() + ", and one must stay.");
    }
    set(members, "Peer \"" + id + "\" was not removed from the group.");
  }

  /**
   * Transfers the leadership to another member. Before a planned shutdown this avoids the wait for
   * an election.
   *
   * @param id its name; null for any member that is up to date
   * @param most the longest time to wait
   * @throws ReplicationException if it does not lead by then; the old leader remains, or another
   *     one leads
   */
  public void transferLeadership(@Nullable String id, Duration most) {
    String failed =
        "The leadership was not transferred to "
            + (id == null ? "another peer" : "\"" + id + "\"")
            + ".";
    if (id == null) {
      String leader = leader();
      for (Peer p : peers()) {
        if (!p.id().equals(leader)) {
          try {
            transferLeadership(p.id(), most.dividedBy(2));
            return;
          } catch (ReplicationException e) {
            // try the next one
          }
        }
      }
      throw new ReplicationException(Reason.MEMBERSHIP, false, failed, null);
    }
    try {
      require(client.admin().transferLeadership(RaftPeerId.valueOf(id), most.toMillis()), failed);
    } catch (IOException e) {
      throw new ReplicationException(
          Reason.MEMBERSHIP, false, failed + " The cause: " + e.getMessage(), e);
    }
  }

  private List<RaftPeer> members() {
    return new ArrayList<>(division.getRaftConf().getAllPeers());
  }

  private void set(List<RaftPeer> members, String failed) {
    try {
      change(client, members(), members, failed);
    } catch (ReplicationException e) {
      // If the answer to an earlier attempt was lost, the repeated one fails although the change
      // was made.
      if (!becomes(members)) {
        throw e;
      }
    }
  }

  private boolean becomes(List<RaftPeer> members) {
    Set<RaftPeerId> wanted = ids(members);
    long until = System.nanoTime() + CHANGE.toNanos();
    while (System.nanoTime() < until) {
      if (ids(division.getRaftConf().getAllPeers()).equals(wanted)) {
        return true;
      }
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return false;
  }

  private static Set<RaftPeerId> ids(Collection<RaftPeer> peers) {
    return peers.stream().map(RaftPeer::getId).collect(Collectors.toSet());
  }

  /** Changes the members, provided that they are still {@code from}. */
  static void change(
      RaftClient client, List<RaftPeer> from, List<RaftPeer> members, String failed) {
    try {
      require(
          client
              .admin()
              .setConfiguration(
                  SetConfigurationRequest.Arguments.newBuilder()
                      .setServersInCurrentConf(from)
                      .setServersInNewConf(members)
                      .setMode(SetConfigurationRequest.Mode.COMPARE_AND_SET)
                      .build()),
          failed);
    } catch (IOException e) {
      throw new ReplicationException(
          Reason.MEMBERSHIP, true, failed + " The cause: " + e.getMessage(), e);
    }
  }

  static void require(RaftClientReply reply, String failed) {
    if (!reply.isSuccess()) {
      Throwable e = reply.getException();
      throw new ReplicationException(
          Reason.MEMBERSHIP,
          false,
          failed + " The cause: " + (e == null ? "unknown" : e.getMessage()) + ".",
          e);
    }
  }
}
