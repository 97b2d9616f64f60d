package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ScanOrder;
import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Transfer;
import io.fovea.replication.RefusedException;
import io.fovea.replication.RequestId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A repeated request is applied once. */
@Tag("slow")
class SessionsTest {
  @TempDir Path directory;

  private static long register(ReplicatedDatabase db, String key) {
    return db.read(LINEARIZABLE, tx -> Operations.value(tx, Operations.REGISTERS, key));
  }

  @Test
  void retryIsAppliedOnce() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      RequestId id = RequestId.parse(g.follower().newRequest().toString());
      CommandResult first = g.follower().submit(id, new Add("n", 5)).get();
      RequestId refused = g.follower().newRequest();
      assertThrows(
          ExecutionException.class,
          () -> g.leader().submit(refused, new Transfer("x", "y", 5000)).get());

      // The same peer, then another leader, then all peers restarted.
      assertSame(first, g.leader().submit(id, new Add("n", 5)).get());
      g.leader().membership().transferLeadership(g.follower().id(), Duration.ofSeconds(10));
      assertSame(first, g.follower().submit(id, new Add("n", 5)).get());
      g.stopAll();
      List.of("a", "b", "c").forEach(g::start);
      g.leader();
      for (ReplicatedDatabase db : g.up.values()) {
        assertSame(first, db.submit(id, new Add("n", 5)).get());
        assertEquals(5, register(db, "n"));
        ExecutionException e =
            assertThrows(
                ExecutionException.class,
                () -> db.submit(refused, new Transfer("x", "y", 5000)).get());
        assertInstanceOf(RefusedException.class, e.getCause());
      }
      assertTrue(g.get("a").stats().retriesFound() > 0);
    }
  }

  private static void assertSame(CommandResult a, CommandResult b) {
    assertEquals(a.index(), b.index());
    assertArrayEquals(a.result(), b.result());
  }

  @Test
  void lateRetryIsRefused() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.sessionWindow(100).sessionTime(Duration.ZERO))) {
      ReplicatedDatabase db = g.leader();
      RequestId old = db.newRequest();
      db.submit(old, new Add("n", 1)).get();
      for (int i = 0; i < 90; i++) {
        db.submit(new Add("m", 1)).get();
      }
      db.submit(old, new Add("n", 1)).get(); // still known
      for (int i = 0; i < 110; i++) {
        db.submit(new Add("m", 1)).get();
      }
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> db.submit(old, new Add("n", 1)).get());
      ReplicationException r = assertInstanceOf(ReplicationException.class, e.getCause());
      assertEquals(ReplicationException.Reason.EXPIRED, r.reason());
      assertTrue(r.mayBeApplied());
      assertEquals(1, register(db, "n"));
      // The table grows by at most one group beyond its window.
      int sessions =
          db.read(
              LINEARIZABLE,
              tx -> {
                int n = 0;
                try (var c =
                    tx.table(io.fovea.schema.TableSpec.bytes("fovea.sessions", 24))
                        .bytes()
                        .scan(tx, null, null, ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    n++;
                  }
                }
                return n;
              });
      assertTrue(sessions <= 100 + 64, () -> sessions + " sessions");
    }
  }
}
