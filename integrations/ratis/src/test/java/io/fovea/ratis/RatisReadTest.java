package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.ratis.LinearizableReadTests;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.MiniRaftClusterWithGrpc;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Ratis' tests of linearizable reads, with our state machine. Two of them want an election to take
 * longer than a read may: they fail where the machine has much else to do, and are run by {@code
 * -Dratis.suite=true}.
 */
@Tag("slow")
@ResourceLock(SuiteMachine.EXIT)
class RatisReadTest extends LinearizableReadTests<MiniRaftClusterWithGrpc>
    implements MiniRaftClusterWithGrpc.FactoryGet {
  @BeforeEach
  @Override
  public void setup() {
    super.setup();
    setStateMachine(SuiteMachine.class);
  }

  @Override
  @Test
  @EnabledIfSystemProperty(named = "ratis.suite", matches = "true")
  public void testLinearizableReadFailWhenLeaderDown() throws Exception {
    super.testLinearizableReadFailWhenLeaderDown();
  }

  @Override
  @Test
  @EnabledIfSystemProperty(named = "ratis.suite", matches = "true")
  public void testLinearizableReadTimeout() throws Exception {
    super.testLinearizableReadTimeout();
  }

  @Override
  public boolean isLeaderLeaseEnabled() {
    return false;
  }

  @Override
  public void assertRaftProperties(RaftProperties p) {
    assertEquals(
        RaftServerConfigKeys.Read.Option.LINEARIZABLE, RaftServerConfigKeys.Read.option(p));
  }
}
