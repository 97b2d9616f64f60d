package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A leader that was cut off, and does not know yet that another one leads, must not answer
 * linearizable reads from its own state.
 *
 * <p>The window is about 100 ms: the others elect after 0.6 to 1.2 s, and the old leader steps down
 * after 1.2 s. So the new leader is sent the same value repeatedly, and the old one is asked as
 * soon as one write is acknowledged. With the ReadIndex of Ratis 3.2.2 this fails within the first
 * rounds.
 */
@Tag("slow")
class DeposedLeaderTest {
  private static final int ROUNDS = 2;
  private static final long PATIENCE = 30_000;

  @TempDir Path directory;

  @Test
  void deposedLeaderDoesNotServeStaleReads() throws Exception {
    try (FaultWorkload workload = new FaultWorkload(directory, 1, "-")) {
      for (int round = 0; round < ROUNDS; round++) {
        List<String> others = new ArrayList<>(List.of("a", "b", "c"));
        String id = leader(workload);
        others.remove(id);
        PeerProcess leader = Objects.requireNonNull(workload.peers.get(id));
        String put = "write x" + round + " ";
        String read = "read x" + round;
        ok(leader, put + 1);
        // A majority has confirmed the leader's commit index for this read.
        assertEquals("ok 1", leader.ask(read, PATIENCE));
        for (String other : others) {
          workload.links.cut(id, other);
          workload.links.cut(other, id);
        }
        CompletableFuture<Void> written = new CompletableFuture<>();
        while (!written.isDone()) {
          for (String other : others) {
            PeerProcess p = Objects.requireNonNull(workload.peers.get(other));
            Thread.ofVirtual()
                .start(
                    () -> {
                      if (p.ask(put + 2, PATIENCE).startsWith("ok")) {
                        written.complete(null);
                      }
                    });
          }
          TimeUnit.MILLISECONDS.sleep(20);
        }
        for (int i = 0; i < 10; i++) {
          String saw = leader.ask(read, 50);
          assertNotEquals("ok 1", saw, "round " + round);
        }
        workload.links.heal();
        assertEquals("ok 2", answer(leader, read), "round " + round);
      }
    }
  }

  /** Asks until some peer leads. */
  private static String leader(FaultWorkload workload) throws InterruptedException {
    long until = System.nanoTime() + PATIENCE * 1_000_000;
    while (System.nanoTime() < until) {
      for (String id : List.of("a", "b", "c")) {
        PeerProcess p = Objects.requireNonNull(workload.peers.get(id));
        if (p.ask("role", 1000).equals("ok LEADER")) {
          return id;
        }
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    throw new AssertionError("No peer leads.");
  }

  /** Waits until an election has ended; repeats a request that timed out. */
  private static void ok(PeerProcess peer, String request) {
    String answer = answer(peer, request);
    assertTrue(answer.startsWith("ok"), request + ": " + answer);
  }

  /** Returns the answer, or the last failure. */
  private static String answer(PeerProcess peer, String request) {
    long until = System.nanoTime() + 2 * PATIENCE * 1_000_000;
    String answer;
    do {
      answer = peer.ask(request, PATIENCE);
    } while (!answer.startsWith("ok") && System.nanoTime() < until);
    return answer;
  }
}
