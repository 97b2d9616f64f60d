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
 * Finds a peer whose database differs from the others', and replaces it by a copy of the leader's.
 *
 * <pre>
 *   leader         every few seconds: compares the digests of all peers at one index
 *                  sends each peer that is wrong the correct digest at that index
 *   wrong peer     compares it with its own; if they differ the peer is DOWN
 *                  1  stops standing for election; if it leads, refuses commands and transfers
 *                     the leadership
 *                  2  stops applying, at index A. It still votes and appends to its log
 *                  3  fetches a copy of the leader's database at index A or later
 *                  4  installs the copy, durably, and resumes after its index
 * </pre>
 *
 * <p>The peer remains a member that votes and has a log, so the group keeps its majority, and no
 * acknowledged command depends on fewer logs. If it crashes in between, it still differs and is
 * found again.
 *
 * <p><b>Ratis does not learn of the copy.</b> Its updater asks to apply the entry after A and
 * continues from there; the replica skips entries that the copy includes. Until then a checkpoint
 * is reported at the updater's index ({@link FoveaStateMachine#takeSnapshot}), so that no entry is
 * dropped from the log before the updater has reached it.
 *
 * <p>Threads: one per peer that compares while the peer leads; one that installs a copy.
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

  /** Returns whether this is closed within the time. */
  private boolean closes(long millis) {
    try {
      return closed.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      return true; // only close() interrupts this thread
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
   * Compares the peers' digests if this peer leads, and notifies those that are wrong.
   *
   * @return the comparison; null if this peer does not lead
   */
  synchronized @Nullable DigestComparison compare() {
    if (!membership.isLeader() || state.failure() != null) {
      return null;
    }
    long applied = replica.applied().index();
    if (replica.digest(applied).start() == Replica.NO_DIGEST) {
      replica.adopt(applied, applied, 0); // all peers adopt it from this one
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
              + ". Start the peers that are down.");
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

  /** Makes a peer adopt this one's digest, at an index where both are known. */
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
   * Handles the leader's message about the correct digest: compares it with this peer's.
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
            + ". It fetches a copy of the leader's.")) {
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
        // From here on another peer leads, or none: this one can't be elected.
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
            "Installing a copy failed, and will be retried: " + e.getMessage());
      }
    } while (!done && !closes(PAUSE_MILLIS));
  }

  /** Sets whether this peer stands for election. */
  private void elections(boolean stands) throws IOException {
    ClientId client = ClientId.randomId();
    var group = division.getGroup().getGroupId();
    Membership.require(
        server.leaderElectionManagement(
            stands
                ? LeaderElectionManagementRequest.newResume(client, server.getId(), group, 1)
                : LeaderElectionManagementRequest.newPause(client, server.getId(), group, 1)),
        "Elections of this peer could not be paused or resumed.");
  }

  /**
   * Stops the threads. Must precede closing the server, which waits for the entry being applied.
   */
  @Override
  public void close() {
    closed.countDown();
    replica.abandon();
  }
}
