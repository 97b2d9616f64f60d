package io.fovea.ratis;

import io.fovea.replication.Position;
import io.fovea.replication.Replica;
import io.fovea.replication.Replica.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.LeaderElectionManagementRequest;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;

/**
 * Finds a peer whose database differs from the others', and gives it a fresh copy.
 *
 * <pre>
 *   leader           every few seconds: compares the digests of all peers at one index
 *                    tells each peer that is wrong the digest that is right there
 *   the wrong peer   compares that with its own; if they differ it is DOWN
 *                    1  it stands for no election; if it leads, it takes no commands, and lets
 *                       another lead
 *                    2  it applies nothing any more, at A. It votes, and its log goes on
 *                    3  it takes in a copy of the leader's that is at A or further
 *                    4  the copy takes the place of its database, durably; it goes on behind that
 * </pre>
 *
 * <p>It stays a member that votes and has a log, so the group has its majority all the time, and
 * nothing that was acknowledged depends on fewer logs. After a crash in between it differs still,
 * and is found again.
 *
 * <p><b>Ratis is not told of the copy.</b> Its updater asks to apply the entry behind A, and goes
 * on from there; the replica passes over what the copy has. Until then a checkpoint is told as one
 * of the updater's index ({@link FoveaStateMachine#takeSnapshot}), so that no entry is dropped from
 * the log before the updater has come to it.
 *
 * <p>Threads: one that compares, in each peer, for as long as it leads; one that takes in a copy.
 */
final class Divergence implements AutoCloseable {
  private static final Duration ANSWER = Duration.ofSeconds(2);
  private static final long PERIOD_MILLIS = 5_000;
  private static final long PAUSE_MILLIS = 500;
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");

  private final Replica replica;
  private final PeerState state;
  private final FoveaStateMachine machine;
  private final RaftServer server;
  private final RaftServer.Division division;
  private final Membership membership;
  private final FoveaStateMachine.Asking asking;
  private final CountDownLatch closed = new CountDownLatch(1);
  private String warned = "";

  Divergence(
      Replica replica,
      PeerState state,
      FoveaStateMachine machine,
      RaftServer server,
      RaftServer.Division division,
      Membership membership,
      FoveaStateMachine.Asking asking) {
    this.replica = replica;
    this.state = state;
    this.machine = machine;
    this.server = server;
    this.division = division;
    this.membership = membership;
    this.asking = asking;
    Thread.ofPlatform().daemon().name("fovea-digests").start(this::run);
  }

  /** Whether this is closed within a time. */
  private boolean closes(long millis) {
    try {
      return closed.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      return true; // nobody interrupts this thread but who ends it
    }
  }

  private void run() {
    while (!closes(PERIOD_MILLIS)) {
      try {
        compare();
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.WARNING, "The digests of the peers were not compared.", e);
      }
    }
  }

  /**
   * Compares the peers' digests, if this one leads, and tells those that are wrong.
   *
   * @return what was found; null if this one does not lead
   */
  synchronized @Nullable DigestComparison compare() {
    if (!membership.isLeader() || state.failure() != null) {
      return null;
    }
    long applied = replica.applied().index();
    if (replica.digest(applied).start() == Replica.NO_DIGEST) {
      replica.adopt(applied, applied, 0); // all peers take it over from this one
    }
    RaftPeerId self = server.getId();
    List<RaftPeerId> members =
        division.getRaftConf().getCurrentPeers().stream().map(RaftPeer::getId).toList();
    DigestComparison c = DigestComparison.of(members, self, asking, ANSWER);
    Long right = c.right();
    if (c.differ() && right == null) {
      warn(
          "Peers of a replicated database differ at entry "
              + c.index()
              + " of its log, and no majority has the same: "
              + c.sums()
              + ". Start the peers that are away.");
    }
    if (right != null) {
      c.wrong().forEach(id -> tell(id, FoveaStateMachine.DIVERGED, c.index(), c.start(), right));
    }
    c.ranges()
        .forEach(
            (id, d) -> {
              if (d.start() != c.start()) {
                adoptAt(id, d);
              }
            });
    return c;
  }

  /** Lets a peer take over this one's digest, where both know theirs. */
  private void adoptAt(RaftPeerId id, Digest theirs) {
    long index = Math.min(theirs.newest(), replica.applied().index());
    Digest own = replica.digest(index);
    Long sum = own.sum();
    if (sum != null && own.start() != Replica.NO_DIGEST) {
      tell(id, FoveaStateMachine.ADOPT, index, own.start(), sum);
    }
  }

  private void warn(String what) {
    if (!what.equals(warned)) {
      warned = what;
      LOG.log(System.Logger.Level.WARNING, what);
    }
  }

  private void tell(RaftPeerId id, byte what, long index, long start, long sum) {
    try {
      asking.ask(
          id,
          ByteBuffer.allocate(25).put(what).putLong(index).putLong(start).putLong(sum).array(),
          ANSWER);
    } catch (IOException e) {
      // The next comparison finds the same.
    }
  }

  /**
   * What the leader says is right. Looks whether this peer has something else there.
   *
   * @return whether this peer differs
   */
  boolean diverged(long index, long start, long sum) {
    Digest own = replica.digest(index);
    Long mine = own.sum();
    if (mine == null || own.start() != start || mine == sum) {
      return false;
    }
    HexFormat hex = HexFormat.of();
    if (state.diverge(
        "its database differs from the others'. Up to entry "
            + index
            + " of the log its digest is "
            + hex.toHexDigits(mine)
            + ", and that of the group "
            + hex.toHexDigits(sum)
            + ". It takes in a fresh copy.")) {
      Thread.ofPlatform().daemon().name("fovea-fresh-copy").start(this::recover);
    }
    return true;
  }

  private void recover() {
    boolean done = false;
    do {
      try {
        elections(false);
        if (division.getInfo().isLeader()) {
          membership.transferLeadership(null, Duration.ofSeconds(5));
          continue;
        }
        // From here on another one leads, or none: this one is not elected.
        Position at = replica.suspend();
        RaftPeerId leader = division.getInfo().getLeaderId();
        if (leader != null && !leader.equals(server.getId())) {
          done = machine.takeFresh(leader, at.index());
        }
        if (done) {
          state.recovered(replica.applied().index());
          elections(true);
        }
      } catch (IOException | RuntimeException e) {
        LOG.log(
            System.Logger.Level.WARNING,
            "A fresh copy was not taken in, and is asked for again: " + e.getMessage());
      }
    } while (!done && !closes(PAUSE_MILLIS));
  }

  /** Whether this peer stands for election. */
  private void elections(boolean stands) throws IOException {
    ClientId client = ClientId.randomId();
    var group = division.getGroup().getGroupId();
    Membership.require(
        server.leaderElectionManagement(
            stands
                ? LeaderElectionManagementRequest.newResume(client, server.getId(), group, 1)
                : LeaderElectionManagementRequest.newPause(client, server.getId(), group, 1)),
        "The elections of this peer were not changed.");
  }

  /** Ends it: before the server is closed, which waits for the entry that is applied. */
  @Override
  public void close() {
    closed.countDown();
    replica.abandon();
  }
}
