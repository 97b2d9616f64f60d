package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static io.fovea.ratis.Consistency.LOCAL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Break;
import io.fovea.ratis.Operations.Put;
import io.fovea.replication.Wipe;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A peer whose database differs is detected and gets a copy; the others are unaffected. */
@Tag("slow")
class DivergenceTest {
  private static final Logger LOGGER = Logger.getLogger("io.fovea.ratis");

  @TempDir Path directory;

  private final Queue<String> told = new ConcurrentLinkedQueue<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord r) {
          told.add(r.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    LOGGER.addHandler(handler);
  }

  @AfterEach
  void listenNoMore() {
    LOGGER.removeHandler(handler);
  }

  /** Messages about a difference. */
  private List<String> differences() {
    return told.stream().filter(m -> m.contains("differs from the others'")).toList();
  }

  private static String verify(Group g, int code) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String peers =
        g.peers.stream().map(p -> p.id() + "=" + p.address()).collect(Collectors.joining(","));
    assertEquals(
        code,
        ReplicaCommand.run(new PrintWriter(out), new PrintWriter(err), "verify", peers),
        () -> out + " " + err);
    return out.toString();
  }

  /** Changes a peer's database without the replica's knowledge. */
  private static void spoil(ReplicatedDatabase db) {
    db.database()
        .run(
            tx ->
                tx.table(Operations.REGISTERS)
                    .bytes()
                    .put(tx, Operations.utf("n"), Operations.bytes(1_000)));
  }

  private static void appliedByAll(Group g) {
    long index = g.leader().appliedIndex();
    g.up.values().forEach(db -> db.read(LOCAL.atLeast(index), tx -> null));
  }

  /**
   * Compares until all three were compared: a peer that was just started may not be reachable yet.
   */
  private static DigestComparison agree(Group g) {
    while (true) {
      appliedByAll(g);
      DigestComparison c = g.leader().compare();
      if (c != null) {
        assertFalse(c.differ(), c::toString);
        if (c.sums().size() == 3) {
          return c;
        }
      }
    }
  }

  private void recovers(Group g, String id) throws Exception {
    ReplicatedDatabase db = g.get(id);
    while (db.health().state() != Health.State.UP || db.stats().copiesTaken() == 0) {
      FaultWorkload.pause(20); // the test's timeout ends it
    }
    CopyTest.assertHasTheSame(g.leader(), db);
    agree(g);
    assertTrue(verify(g, 0).endsWith("3 of 3 agree.\n"));
  }

  @Test
  void divergedFollowerRecovers() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      g.leader().submit(new Add("n", 1)).get();
      appliedByAll(g);
      String id = g.follower().id();
      spoil(g.get(id));
      g.leader().submit(new Add("n", 1)).get();
      appliedByAll(g);
      String out = verify(g, 1);
      assertEquals(1, out.lines().filter(l -> l.contains("  differs")).count(), out);
      assertEquals(2, out.lines().filter(l -> l.endsWith("  agrees")).count(), out);
      assertTrue(out.contains("The peers differ."), out);
      assertTrue(out.lines().anyMatch(l -> l.startsWith(id) && l.contains("differs")), out);

      g.leader().compare();
      recovers(g, id);
      assertEquals(1, differences().size(), differences()::toString);
      String said = differences().get(0);
      assertTrue(
          said.matches(
              "Peer "
                  + id
                  + " .* Up to entry [0-9]+ of the log its digest is [0-9a-f]{16}, and that of the"
                  + " group [0-9a-f]{16}\\. It fetches a copy of the leader's\\."),
          said);

      // It continues, votes and leads, even across a restart.
      g.leader().membership().transferLeadership(id, Duration.ofSeconds(20));
      assertEquals(id, g.leader().id());
      g.leader().submit(new Add("n", 1)).get();
      g.stop(id);
      g.start(id);
      assertEquals(
          3L,
          (long)
              g.get(id).read(LINEARIZABLE, tx -> Operations.value(tx, Operations.REGISTERS, "n")));
      agree(g);
    }
  }

  @Test
  void divergedLeaderStepsDownAndRecovers() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      ReplicatedDatabase leader = g.leader();
      leader.submit(new Add("n", 1)).get();
      appliedByAll(g);
      spoil(leader);
      leader.submit(new Add("n", 1)).get();
      appliedByAll(g);
      leader.compare();
      // It refuses commands; the others accept them.
      g.follower().submit(new Add("n", 1)).get();
      recovers(g, leader.id());
      assertNotEquals(leader.id(), g.leader().id());
      assertEquals(
          3L,
          (long) leader.read(LINEARIZABLE, tx -> Operations.value(tx, Operations.REGISTERS, "n")));
      assertEquals(1, differences().size(), differences()::toString);
    }
  }

  /** Only one peer skips an entry; it was down when the others applied it. */
  @Test
  void peerWithWrongSkipRecovers() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      g.leader().submit(new Add("n", 1)).get();
      appliedByAll(g);
      String id = g.follower().id();
      g.stop(id);
      long skipped = g.leader().submit(new Add("m", 1)).get().index();
      g.up.put(id, ReplicatedDatabase.join(g.options(id, g.peers).skip(skipped, "by mistake")));
      appliedByAll(g);
      assertEquals(List.of(skipped), List.copyOf(g.get(id).skipped().keySet()));
      g.leader().compare();
      recovers(g, id);
      assertEquals(List.of(), List.copyOf(g.get(id).skipped().keySet()));
    }
  }

  /** During writes, so that the copy is ahead of what was applied. */
  @Test
  void divergedPeerRecoversDuringWrites() throws Exception {
    try (Group g = Group.ofThree(directory, CopyTest::shortLog)) {
      ReplicatedDatabase leader = g.leader();
      leader.submit(new Add("n", 1)).get();
      appliedByAll(g);
      String id = g.follower().id();
      spoil(g.get(id));
      leader.submit(new Add("n", 1)).get();
      try (CopyTest.Writer writer = new CopyTest.Writer(leader)) {
        while (g.get(id).stats().copiesTaken() == 0) {
          writer.until(50);
          leader.compare();
        }
        writer.until(1000);
      }
      recovers(g, id);
      g.stop(id);
      g.start(id);
      CopyTest.assertHasTheSame(leader, g.get(id));
      assertEquals(1, differences().size(), differences()::toString);
    }
  }

  @Test
  void restartsLeadersAndCopiesAreNoDivergence() throws Exception {
    try (Group g = Group.ofThree(directory, CopyTest::shortLog)) {
      long copies = 0;
      for (int round = 0; round < 3; round++) {
        for (String id : List.of("a", "b", "c")) {
          g.stop(id);
          if (round == 1) {
            Wipe.tree(g.directory(id)); // it installs a copy
          }
          ReplicatedDatabase leader = g.leader();
          Deque<CompletableFuture<CommandResult>> sent = new ArrayDeque<>();
          for (int i = 0; i < (round == 1 ? 800 : 20); i++) {
            sent.addLast(leader.submit(new Put("key" + i, round * i)));
            if (sent.size() > 20) {
              sent.removeFirst().get();
            }
          }
          for (CompletableFuture<CommandResult> each : sent) {
            each.get();
          }
          try {
            g.leader().submit(new Break()).get();
          } catch (ExecutionException e) {
            // refused by each peer
          }
          g.start(id);
          g.get(id).read(LINEARIZABLE, tx -> null);
          agree(g);
          copies += g.get(id).stats().copiesTaken();
          g.leader().membership().transferLeadership(id, Duration.ofSeconds(20));
        }
      }
      assertTrue(copies > 0, "no copy was taken");
      g.stopAll();
      List.of("a", "b", "c").forEach(g::start);
      g.leader().submit(new Add("n", 1)).get();
      assertEquals(-1, agree(g).start());
      assertArrayEquals(Group.export(g.get("a"), LOCAL), Group.export(g.get("b"), LOCAL));
      assertEquals(List.of(), differences());
    }
  }
}
