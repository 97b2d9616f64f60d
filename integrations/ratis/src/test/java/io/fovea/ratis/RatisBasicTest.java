package io.fovea.ratis;

import org.apache.ratis.RaftBasicTests;
import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Ratis' basic tests, with our state machine. Those that take long are run by {@code
 * -Dratis.suite=true}, which the profile soak sets.
 */
@Tag("slow")
@Isolated("it has limits in time, and asks whether anybody would have ended the JVM")
class RatisBasicTest extends RaftBasicTests<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  {
    setStateMachine(SuiteMachine.class);
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
