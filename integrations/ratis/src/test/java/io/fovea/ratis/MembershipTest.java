package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static io.fovea.ratis.Consistency.LOCAL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Health.State;
import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Break;
import io.fovea.ratis.Operations.Stop;
import io.fovea.ratis.ReplicationException.Reason;
import io.fovea.replication.RefusedException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import org.apache.ratis.util.ExitUtils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Adding and removing members, and the health of peers. */
@Tag("slow")
class MembershipTest {
  @TempDir Path directory;

  private static long register(ReplicatedDatabase db, Consistency c, String key) {
    return db.read(c, tx -> Operations.value(tx, Operations.REGISTERS, key));
  }

  @Test
  void addsAndRemovesPeers() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      for (int i = 0; i < 30; i++) {
        g.leader().submit(new Add("n", 1)).get();
      }
      Peer d = new Peer("d", "127.0.0.1:" + Ports.next());
      g.startJoining(d);
      assertEquals(State.NO_LEADER, g.get("d").health().state());
      g.follower().membership().add(d);
      assertEquals(30, register(g.get("d"), LINEARIZABLE, "n"));
      assertEquals(4, g.leader().membership().peers().size());

      // The leader leaves, and the others elect another.
      String old = g.leader().id();
      g.leader().membership().transferLeadership("d", Duration.ofSeconds(10));
      assertEquals("d", g.leader().id());
      g.get("d").membership().remove(old);
      g.stop(old);
      assertEquals(3, g.leader().membership().peers().size());
      assertEquals(
          30, Operations.number(g.get("d").submit(new Add("n", 1)).get().result()), "as before");

      // It restarts with the stored members, not with those in its options.
      g.stop("d");
      g.startJoining(d);
      assertEquals(31, register(g.get("d"), LINEARIZABLE, "n"));
      assertArrayEquals(
          Group.export(g.leader(), LINEARIZABLE), Group.export(g.get("d"), LINEARIZABLE));

      assertThrows(IllegalArgumentException.class, () -> g.leader().membership().remove("zebra"));
      ReplicationException e =
          assertThrows(
              ReplicationException.class,
              () -> g.leader().membership().transferLeadership("zebra", Duration.ofSeconds(1)));
      assertEquals(Reason.MEMBERSHIP, e.reason());
    }
  }

  @Test
  void addsPeerToEmptyGroup() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      Peer d = new Peer("d", "127.0.0.1:" + Ports.next());
      g.startJoining(d);
      g.leader().membership().add(d);
      g.get("d").submit(new Add("n", 1)).get();
      assertEquals(1, register(g.get("d"), LINEARIZABLE, "n"));
    }
  }

  @Test
  void withoutMajority() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.requestTimeout(Duration.ofSeconds(2)))) {
      g.leader().submit(new Add("n", 1)).get();
      ReplicatedDatabase left = g.leader();
      for (String id : List.of("a", "b", "c")) {
        if (!id.equals(left.id())) {
          g.up.remove(id).close(false);
        }
      }
      ReplicationException read =
          assertThrows(ReplicationException.class, () -> register(left, LINEARIZABLE, "n"));
      assertEquals(Reason.TIMEOUT, read.reason());
      ExecutionException write =
          assertThrows(ExecutionException.class, () -> left.submit(new Add("n", 1)).get());
      assertTrue(assertInstanceOf(ReplicationException.class, write.getCause()).mayBeApplied());
      assertEquals(1, register(left, LOCAL, "n"));
      ReplicationException behind =
          assertThrows(
              ReplicationException.class, () -> register(left, LOCAL.atLeast(1_000_000), "n"));
      assertEquals(Reason.BEHIND, behind.reason());
      assertEquals(State.NO_LEADER, left.health().state());
    }
  }

  @Test
  void commandWithBugIsRefused() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      for (ReplicatedDatabase db : g.up.values()) {
        ExecutionException e =
            assertThrows(ExecutionException.class, () -> db.submit(new Break()).get());
        RefusedException refused = assertInstanceOf(RefusedException.class, e.getCause());
        assertTrue(refused.getMessage().contains("This command has a bug."), refused::getMessage);
      }
      g.leader().submit(new Add("n", 1)).get();
      for (ReplicatedDatabase db : g.up.values()) {
        assertEquals(1, register(db, LINEARIZABLE, "n"));
        assertEquals(State.UP, db.health().state());
      }
    }
  }

  @Test
  void localFailureStopsPeers() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.requestTimeout(Duration.ofSeconds(5)))) {
      g.leader().submit(new Add("n", 1)).get();
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      ReplicatedDatabase leader = g.leader();
      new ReplicationMetrics(leader).bindTo(registry);
      assertEquals(1, registry.get("fovea.replication.health").gauge().value());
      assertEquals(1, registry.get("fovea.replication.leader").gauge().value());
      assertEquals(1, registry.get("fovea.replication.applied").functionCounter().count());

      assertThrows(ExecutionException.class, () -> leader.submit(new Stop()).get());
      Health health = leader.health();
      assertEquals(State.DOWN, health.state());
      assertTrue(health.reason().contains("This command reads a file."), health.reason());
      assertEquals(0, registry.get("fovea.replication.health").gauge().value());
      ReplicationException e =
          assertThrows(ReplicationException.class, () -> register(leader, LINEARIZABLE, "n"));
      assertEquals(Reason.STOPPED, e.reason());
      assertTrue(e.getMessage().contains("This command reads a file."), e.getMessage());
      assertEquals(1, register(leader, LOCAL, "n"));
    }
  }

  /** Ratis would install its handler for all threads of the JVM. */
  @Test
  void keepsDefaultExceptionHandler() {
    try (Group g = new Group(directory, UnaryOperator.identity(), "a", "b", "c")) {
      g.start("a");
      Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
      assertFalse(handler != null && handler.getClass().getName().startsWith("org.apache.ratis"));
    }
  }

  /**
   * Ratis records that it would have ended the JVM; Ratis' own tests, which check this, run alone.
   */
  @Test
  void reportsAddressInUse() {
    try (Group g = new Group(directory, UnaryOperator.identity(), "a", "b", "c")) {
      g.start("a");
      ReplicationOptions taken =
          g.options("b", g.peers).listen("127.0.0.1:" + g.peers.get(0).port());
      UncheckedIOException e =
          assertThrows(UncheckedIOException.class, () -> ReplicatedDatabase.join(taken));
      assertTrue(e.getMessage().contains("Is the address in use"), e.getMessage());
    } finally {
      ExitUtils.clear();
    }
  }

  @Test
  void stalledPeerIsDown() throws Exception {
    StallWatch watch = new StallWatch(Duration.ofNanos(1));
    assertEquals(false, watch.stalled(5, 5));
    assertEquals(false, watch.stalled(5, 6), "the stall has only just begun");
    while (!watch.stalled(5, 6)) {
      Thread.onSpinWait();
    }
    assertEquals(false, watch.stalled(6, 7), "it applies again");
  }
}
