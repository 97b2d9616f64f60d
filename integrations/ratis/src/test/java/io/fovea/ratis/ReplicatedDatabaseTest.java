package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static io.fovea.ratis.Consistency.LOCAL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Put;
import io.fovea.ratis.Operations.Transfer;
import io.fovea.replication.RefusedException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands and reads of three peers in one JVM. */
@Tag("slow")
class ReplicatedDatabaseTest {
  @TempDir Path directory;

  private static long register(ReplicatedDatabase db, Consistency c, String key) {
    return db.read(c, tx -> Operations.value(tx, Operations.REGISTERS, key));
  }

  @Test
  void allPeersSeeCommands() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      List<CompletableFuture<CommandResult>> all = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        all.add(g.get(List.of("a", "b", "c").get(i % 3)).submit(new Add("n", 1)));
      }
      List<Long> results = new ArrayList<>();
      for (CompletableFuture<CommandResult> f : all) {
        results.add(Operations.number(f.get().result()));
      }
      results.sort(null);
      for (int i = 0; i < 200; i++) {
        assertEquals(i, results.get(i), "each command saw another value");
      }
      for (ReplicatedDatabase db : g.up.values()) {
        assertEquals(200, register(db, LINEARIZABLE, "n"));
        assertEquals(Health.State.UP, db.health().state());
      }
      CommandResult r = g.leader().submit(new Put("m", 7)).get();
      assertEquals(7, register(g.follower(), LOCAL.atLeast(r), "m"));
    }
  }

  @Test
  void followerResumes() throws Exception {
    for (Durability durability : List.of(Durability.ASYNC, Durability.SYNC)) {
      Path here = directory.resolve(durability.name());
      try (Group g = Group.ofThree(here, o -> o.durability(durability))) {
        for (int i = 1; i <= 50; i++) {
          g.leader().submit(new Add("n", 1)).get();
        }
        String id = g.follower().id();
        assertEquals(50, register(g.get(id), LINEARIZABLE, "n"));
        g.stop(id);
        for (int i = 1; i <= 50; i++) {
          g.leader().submit(new Add("n", 1)).get();
        }
        g.start(id);
        assertEquals(100, register(g.get(id), LINEARIZABLE, "n"));
        // Only what was not applied before is applied.
        assertTrue(g.get(id).stats().applied() <= 51, () -> "applied " + g.get(id).stats());
      }
    }
  }

  @Test
  void allPeersResume() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.snapshotEvery(20))) {
      for (int i = 1; i <= 70; i++) {
        g.leader().submit(new Add("n", 1)).get();
      }
      g.stopAll();
      List.of("a", "b", "c").forEach(g::start);
      for (ReplicatedDatabase db : g.up.values()) {
        assertEquals(70, register(db, LINEARIZABLE, "n"));
      }
      assertEquals(70, Operations.number(g.leader().submit(new Add("n", 1)).get().result()));
      ReplicatedDatabase leader = g.leader();
      byte[] export = Group.export(leader, LINEARIZABLE);
      for (ReplicatedDatabase db : g.up.values()) {
        assertArrayEquals(export, Group.export(db, LOCAL.atLeast(leader.appliedIndex())), db.id());
      }
    }
  }

  @Test
  void aRefusedCommandChangesNothing() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      g.leader().submit(new Transfer("x", "y", 600)).get();
      ExecutionException e =
          assertThrows(
              ExecutionException.class,
              () -> g.follower().submit(new Transfer("x", "y", 600)).get());
      assertInstanceOf(RefusedException.class, e.getCause());
      assertEquals("The account has too little.", e.getCause().getMessage());
      for (ReplicatedDatabase db : g.up.values()) {
        assertEquals(
            -600,
            (long) db.read(LINEARIZABLE, tx -> Operations.value(tx, Operations.CHECKING, "x")));
        assertEquals(
            600, (long) db.read(LINEARIZABLE, tx -> Operations.value(tx, Operations.SAVINGS, "y")));
      }
    }
  }
}
