package io.fovea.ratis;

import static io.fovea.ratis.Linearizability.Kind.READ;
import static io.fovea.ratis.Linearizability.Kind.SWAP;
import static io.fovea.ratis.Linearizability.Kind.WRITE;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Linearizability.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The checker finds all violations, and reports nothing else. */
class LinearizabilityTest {
  private static final long NEVER = Long.MAX_VALUE;

  private static Operation write(long began, long ended, long value) {
    return new Operation(WRITE, began, ended, value, 0, 0);
  }

  private static Operation read(long began, long ended, long saw) {
    return new Operation(READ, began, ended, 0, 0, saw);
  }

  private static Operation swap(long began, long ended, long from, long to, long saw) {
    return new Operation(SWAP, began, ended, from, to, saw);
  }

  @Test
  void sequentialOperations() {
    assertTrue(Linearizability.check(List.of(read(1, 2, 0), write(3, 4, 7), read(5, 6, 7))));
    assertFalse(Linearizability.check(List.of(write(3, 4, 7), read(5, 6, 0))), "a stale read");
    assertFalse(Linearizability.check(List.of(read(1, 2, 7), write(3, 4, 7))), "from the future");
  }

  @Test
  void concurrentOperations() {
    assertTrue(Linearizability.check(List.of(write(1, 10, 7), read(2, 3, 0), read(4, 5, 7))));
    assertFalse(Linearizability.check(List.of(write(1, 10, 7), read(2, 3, 7), read(4, 5, 0))));
    assertTrue(Linearizability.check(List.of(write(1, 10, 7), write(1, 10, 8), read(11, 12, 7))));
    assertFalse(
        Linearizability.check(
            List.of(write(1, 10, 7), write(1, 10, 8), read(11, 12, 7), read(13, 14, 8))));
  }

  @Test
  void unknownEnds() {
    assertTrue(Linearizability.check(List.of(write(1, NEVER, 7), read(5, 6, 0))));
    assertTrue(Linearizability.check(List.of(write(1, NEVER, 7), read(5, 6, 0), read(7, 8, 7))));
    assertFalse(
        Linearizability.check(
            List.of(write(1, NEVER, 7), read(5, 6, 7), write(7, 8, 9), read(9, 10, 7))),
        "applied twice");
  }

  @Test
  void swaps() {
    assertTrue(Linearizability.check(List.of(swap(1, 2, 0, 5, 1), swap(3, 4, 0, 6, 0))));
    assertFalse(Linearizability.check(List.of(swap(1, 2, 0, 5, 1), swap(3, 4, 0, 6, 1))));
    assertTrue(Linearizability.check(List.of(swap(1, NEVER, 0, 5, 0), read(3, 4, 5))));
  }

  /** Histories of a register with random intervals around each effect are linearizable. */
  @Test
  void acceptsRegisterAndRejectsDamage() {
    Random random = new Random(42);
    for (int round = 0; round < 30; round++) {
      List<Operation> history = new ArrayList<>();
      long value = 0;
      for (int i = 1; i <= 100; i++) {
        long began = 100L * i - random.nextInt(400);
        long ended = 100L * i + random.nextInt(400);
        switch (random.nextInt(3)) {
          case 0 -> history.add(read(began, ended, value));
          case 1 -> history.add(write(began, random.nextInt(10) == 0 ? NEVER : ended, value = i));
          default -> {
            long from = random.nextBoolean() ? value : -1;
            history.add(swap(began, ended, from, i, from == value ? 1 : 0));
            value = from == value ? i : value;
          }
        }
      }
      assertTrue(Linearizability.check(history), "round " + round);
      history.add(read(20_000, 20_001, value + 1000));
      assertFalse(Linearizability.check(history), "round " + round);
    }
  }
}
