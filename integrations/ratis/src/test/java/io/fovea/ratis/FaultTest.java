package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.FaultWorkload.Fault;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three processes; a network that loses and delays messages and cuts links; kills, stops, full
 * disks. Clients must see linearizable registers and strictly serializable accounts, each payment
 * made once, and a constant sum over the accounts.
 *
 * <p>Deliberate errors must also be detected. {@code ReplicaKillTest} finds a position that commits
 * separately: here a kill would have to fall between two transactions of a peer that is mostly
 * idle.
 *
 * <p>{@code -Dratis.seconds} sets the duration, {@code -Dratis.seed} the seed of the faults, {@code
 * -Dratis.faults} their kinds, separated by commas.
 */
@Tag("slow")
@Order(1)
class FaultTest {
  private static final long SECONDS = Long.getLong("ratis.seconds", 60);
  private static final long SEED = Long.getLong("ratis.seed", System.nanoTime());
  private static final List<Fault> FAULTS =
      Arrays.stream(System.getProperty("ratis.faults", "").split(","))
          .filter(f -> !f.isEmpty())
          .map(Fault::valueOf)
          .toList();

  /** With fewer answers a run proves nothing. */
  private static final long LEAST = 100;

  /** The longest extension to reach {@link #LEAST}. */
  private static final long MORE_SECONDS = 150;

  /** How long a deliberate error may stay undetected. */
  private static final long FOUND_SECONDS = 90;

  @TempDir Path directory;

  @Test
  void clientHistoriesAreLinearizable() throws Exception {
    try (FaultWorkload workload = new FaultWorkload(directory, SEED, "-")) {
      workload.clients(6);
      long until = System.nanoTime() + SECONDS * 1_000_000_000L;
      long latest = until + MORE_SECONDS * 1_000_000_000L;
      List<Fault> kinds = new ArrayList<>(FAULTS.isEmpty() ? List.of(Fault.values()) : FAULTS);
      Collections.shuffle(kinds, workload.random);
      // If other tests use the processors, it takes longer until enough requests were answered.
      while (System.nanoTime() < until
          || (workload.acknowledged.get() < LEAST || workload.faults.get() < kinds.size())
              && System.nanoTime() < latest) {
        if (!workload.wrong.isEmpty()) {
          break;
        }
        // each kind once, then random ones
        long n = workload.faults.get();
        int next = n < kinds.size() ? (int) n : workload.random.nextInt(kinds.size());
        workload.fault(kinds.get(next));
        workload.look();
      }
      List<String> wrong = workload.verdict();
      String what =
          workload.acknowledged
              + " requests were answered, "
              + workload.unanswered
              + " were not, "
              + workload.faults
              + " faults; to repeat: -Dratis.seed="
              + SEED;
      System.out.println(what);
      assertEquals(List.of(), wrong, what);
      assertTrue(workload.acknowledged.get() >= LEAST, what);
      assertTrue(workload.faults.get() >= kinds.size(), what);
    }
  }

  @Test
  void detectsLocalReads() throws Exception {
    isDetected("stale", "", Fault.CUT, Fault.STOP, Fault.CUT_ONE_WAY);
  }

  @Test
  void detectsMissingSessions() throws Exception {
    isDetected("impatient,forgetful", "", Fault.DELAY, Fault.STOP);
  }

  /** Each half of such a read is linearizable: only the checker of many accounts can find it. */
  @Test
  void detectsTornReads() throws Exception {
    isDetected("torn", "Not strictly serializable", Fault.DELAY, Fault.RESET);
  }

  private void isDetected(String flags, String how, Fault... faults) throws Exception {
    try (FaultWorkload workload = new FaultWorkload(directory, SEED, flags)) {
      workload.clients(6);
      long until = System.nanoTime() + FOUND_SECONDS * 1_000_000_000L;
      while (System.nanoTime() < until && workload.wrong.isEmpty()) {
        FaultWorkload.pause(1000);
        workload.fault(faults[workload.random.nextInt(faults.length)]);
        workload.look();
        for (String id : List.of("b", "c")) {
          workload.ledger(id);
        }
        workload.strict();
      }
      List<String> wrong = workload.verdict();
      assertFalse(
          wrong.isEmpty(),
          () -> flags + " was not detected; " + workload.acknowledged + " requests, seed " + SEED);
      assertTrue(wrong.stream().anyMatch(w -> w.startsWith(how)), () -> flags + ": " + wrong);
      System.out.println(flags + " was detected: " + wrong.get(0).lines().findFirst().orElse(""));
    }
  }
}
