package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.StrictSerializability.Observation;
import io.fovea.ratis.StrictSerializability.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The checker finds all violations, and reports nothing else. */
class StrictSerializabilityTest {
  private static final long NEVER = Long.MAX_VALUE;

  /** The n-th transfer of 1 from x to y. */
  private static Transfer move(long n, long began, long ended) {
    return new Transfer("t" + n, n, began, ended, "x", "y", 1, -n, n);
  }

  private static Observation read(long began, long ended, long x, long y) {
    return new Observation(
        "a read of " + x + " and " + y,
        began,
        ended,
        s -> s.balance("x") == x && s.balance("y") == y);
  }

  private static boolean good(List<Transfer> commands, Observation... seen) {
    return StrictSerializability.check(commands, List.of(seen)).isEmpty();
  }

  @Test
  void sequentialOperations() {
    List<Transfer> two = List.of(move(2, 20, 25), move(1, 10, 15));
    assertTrue(good(List.of(), read(1, 2, 0, 0)));
    assertTrue(good(two, read(1, 2, 0, 0), read(16, 17, -1, 1), read(26, 27, -2, 2)));
    assertFalse(good(two, read(16, 17, 0, 0)), "a stale read");
    assertFalse(good(two, read(16, 17, -2, 2)), "from the future");
    assertFalse(good(two, read(11, 12, -1, 0)), "half of a transfer");
    assertFalse(good(two, read(11, 22, -2, 1)), "one account is later than the other");
  }

  @Test
  void concurrentOperations() {
    List<Transfer> two = List.of(move(1, 10, 50), move(2, 10, 50));
    assertTrue(good(two, read(11, 12, 0, 0), read(13, 14, -1, 1), read(15, 16, -2, 2)));
    assertFalse(good(two, read(11, 12, -1, 1), read(13, 14, 0, 0)), "back in time");
    assertTrue(good(two, read(11, 14, -1, 1), read(13, 14, 0, 0)), "they overlap");
  }

  @Test
  void logOrderKeepsRealTime() {
    assertFalse(good(List.of(move(1, 20, 25), move(2, 10, 15))));
    assertTrue(good(List.of(move(1, 20, 25), move(2, 10, NEVER))), "its end is unknown");
    assertFalse(good(List.of(move(1, 20, 25), move(2, 30, 31), move(3, 10, 24))));
    assertFalse(good(List.of(move(1, 1, 2), move(1, 3, 4))), "one index twice");
  }

  @Test
  void answersAreSerial() {
    assertFalse(
        good(List.of(move(1, 1, 9), new Transfer("t", 2, 1, 9, "x", "y", 5, -5, 5))),
        "a lost update");
    assertTrue(good(List.of(move(1, 1, 9), new Transfer("t", 2, 1, 9, "x", "y", 5, -6, 6))));
    assertTrue(good(List.of(move(1, 1, 9), new Transfer("t", 2, 1, NEVER, "x", "y", 5, 0, 0))));
  }

  /** Histories with random intervals around each effect are accepted, damaged ones are not. */
  @Test
  void randomHistories() {
    Random random = new Random(7);
    String[] names = {"a", "b", "c", "d"};
    for (int round = 0; round < 100; round++) {
      List<Transfer> commands = new ArrayList<>();
      List<Observation> seen = new ArrayList<>();
      long[] now = new long[4];
      for (int i = 1; i <= 200; i++) {
        long began = 100L * i - random.nextInt(700);
        long ended = 100L * i + random.nextInt(700);
        if (random.nextBoolean()) {
          int from = random.nextInt(4);
          int to = (from + 1 + random.nextInt(3)) % 4;
          long amount = 1 + random.nextInt(1000);
          now[from] -= amount;
          now[to] += amount;
          commands.add(
              new Transfer(
                  "t" + i,
                  10L * i,
                  began,
                  random.nextInt(10) == 0 ? NEVER : ended,
                  names[from],
                  names[to],
                  amount,
                  now[from],
                  now[to]));
        } else {
          seen.add(all(names, now.clone(), began, ended));
        }
      }
      assertEquals(List.of(), StrictSerializability.check(commands, seen), "round " + round);
      List<Observation> damaged = new ArrayList<>(seen);
      switch (round % 3) {
        case 0 -> {
          long[] torn = now.clone();
          torn[random.nextInt(4)]++;
          damaged.add(all(names, torn, 5_000, 30_000));
        }
        case 1 -> damaged.add(all(names, new long[4], 15_000, 15_001)); // stale
        default -> damaged.add(all(names, now.clone(), 5_000, 5_001)); // from the future
      }
      List<String> wrong = StrictSerializability.check(commands, damaged);
      assertEquals(1, wrong.size(), "round " + round + wrong);
      assertTrue(wrong.get(0).startsWith("Not strictly serializable"), wrong.get(0));
    }
  }

  private static Observation all(String[] names, long[] saw, long began, long ended) {
    return new Observation(
        "a read",
        began,
        ended,
        s -> {
          for (int i = 0; i < names.length; i++) {
            if (s.balance(names[i]) != saw[i]) {
              return false;
            }
          }
          return true;
        });
  }
}
