package io.fovea.ratis;

import org.apache.ratis.RaftBasicTests;
import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.apache.ratis.util.JavaUtils;
import org.apache.ratis.util.TimeDuration;
import org.apache.ratis.util.function.CheckedConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Ratis' basic tests, with our state machine. {@code -Dratis.suite=true}, which the profile soak
 * sets, includes the slow ones.
 */
@Tag("slow")
@Isolated("it has time limits, and checks whether the JVM would have been terminated")
class RatisBasicTest extends RaftBasicTests<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  {
    setStateMachine(SuiteMachine.class);
  }

  /**
   * Starts a test only when each peer has the leader's first entry. Some tests kill two of five
   * peers as soon as there is a leader, and later the leader. The vote of a peer without entries
   * does not count for a candidate that has commits (Ratis' {@code LeaderElection}), so two peers
   * killed before their first entry would leave a group that can't elect a leader.
   */
  @Override
  public void runWithNewCluster(
      int servers,
      int listeners,
      boolean start,
      CheckedConsumer<MiniRaftClusterWithGrpc, Exception> test)
      throws Exception {
    MiniRaftClusterWithGrpc.FactoryGet.super.runWithNewCluster(
        servers,
        listeners,
        start,
        cluster -> {
          if (start) {
            JavaUtils.attemptUntilTrue(
                () ->
                    cluster
                        .getServerAliveStream()
                        .allMatch(peer -> peer.getRaftLog().getLastEntryTermIndex() != null),
                100,
                TimeDuration.ONE_SECOND,
                "each peer has an entry",
                null);
          }
          test.accept(cluster);
        });
  }

  @Override
  @Test
  @EnabledIfSystemProperty(named = "ratis.suite", matches = "true")
  public void testBasicAppendEntriesKillLeader() throws Exception {
    super.testBasicAppendEntriesKillLeader();
  }

  @Override
  @Test
  @Timeout(300)
  @EnabledIfSystemProperty(named = "ratis.suite", matches = "true")
  public void testWithLoad() throws Exception {
    super.testWithLoad();
  }

  /** Ratis calls it flaky: RATIS-2262. */
  @Override
  @Test
  @EnabledIfSystemProperty(named = "ratis.suite", matches = "true")
  public void testStateMachineMetrics() throws Exception {
    super.testStateMachineMetrics();
  }
}
