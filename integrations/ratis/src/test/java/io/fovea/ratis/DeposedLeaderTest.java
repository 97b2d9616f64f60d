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
 * A leader is cut off; others lead and write; it still takes itself for the leader, and must not
 * answer with what it has.
 *
 * <p>That is a moment of some 100 ms: the others elect after 0.6 to 1.2 s, and the old leader gives
 * up after 1.2 s. So they are sent the same value often, and the old leader is asked as soon as one
 * of these writes is acknowledged. With the ReadIndex of Ratis 3.2.2 this fails in the first
 * rounds.
 */
@Tag("slow")
class DeposedLeaderTest {
  private static final int ROUNDS = 2;
  private static final long PATIENCE = 30_000;

  @TempDir Path directory;

  @Test
  void aReadOfALeaderThatIsCutOffSeesWhatOthersHaveWritten() throws Exception {
    try (Storm storm = new Storm(directory, 1, "-")) {
      for (int round = 0; round < ROUNDS; round++) {
        List<String> others = new ArrayList<>(List.of("a", "b", "c"));
        String id = leader(storm);
        others.remove(id);
        PeerProcess leader = Objects.requireNonNull(storm.peers.get(id));
        String put = "write x" + round + " ";
        String read = "read x" + round;
        ok(leader, put + 1);
        // A majority has confirmed the leader's commit index for this read.
        assertEquals("ok 1", leader.ask(read, PATIENCE));
        for (String other : others) {
          storm.links.cut(id, other);
          storm.links.cut(other, id);
        }
        CompletableFuture<Void> written = new CompletableFuture<>();
        while (!written.isDone()) {
          for (String other : others) {
            PeerProcess p = Objects.requireNonNull(storm.peers.get(other));
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
        storm.links.heal();
        assertEquals("ok 2", answer(leader, read), "round " + round);
      }
    }
  }

  /** Whoever leads: asks until one says so. */
  private static String leader(Storm storm) throws InterruptedException {
    long until = System.nanoTime() + PATIENCE * 1_000_000;
    while (System.nanoTime() < until) {
      for (String id : List.of("a", "b", "c")) {
        PeerProcess p = Objects.requireNonNull(storm.peers.get(id));
        if (p.ask("role", 1000).equals("ok LEADER")) {
          return id;
        }
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    throw new AssertionError("No peer leads.");
  }

  /** Once an election is over; a request that nobody answers in time is sent again. */
  private static void ok(PeerProcess peer, String request) {
    String answer = answer(peer, request);
    assertTrue(answer.startsWith("ok"), request + ": " + answer);
  }

  /** What is answered, where it is; else why it was not in the end. */
  private static String answer(PeerProcess peer, String request) {
    long until = System.nanoTime() + 2 * PATIENCE * 1_000_000;
    String answer;
    do {
      answer = peer.ask(request, PATIENCE);
    } while (!answer.startsWith("ok") && System.nanoTime() < until);
    return answer;
  }
}
