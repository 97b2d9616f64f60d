package io.fovea.tpcc.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the composition of transactions. */
class WorkloadTest {
  @ParameterizedTest
  @EnumSource(Workload.class)
  void percentagesAreWhole(Workload workload) {
    for (int ops : new int[] {1, 4}) {
      List<Kind> kinds = workload.kinds(ops, false);
      assertEquals(100, kinds.stream().mapToInt(k -> k.percent).sum());
      assertEquals(kinds.size(), kinds.stream().map(k -> k.id).distinct().count());
    }
    assertEquals(workload.transactional() ? 1 : 10, workload.fields);
  }

  @ParameterizedTest
  @CsvSource({
    "WRITE_INTENSIVE_HIGH,.99,8,8,100",
    "WRITE_INTENSIVE_MEDIUM,.6,8,8,100",
    "READ_INTENSIVE_HIGH,.99,15,1,100",
    "READ_INTENSIVE_MEDIUM,.6,15,1,100",
    "MIXED_HIGH,.9,2,2,80",
    "MIXED_MEDIUM,.6,2,2,80",
    "LONG,.9,8,8,95"
  })
  void dissertationWorkloads(Workload workload, double theta, int reads, int writes, int percent) {
    assertEquals(theta, workload.theta);
    Kind kind = workload.kinds(1, false).getFirst();
    assertEquals(percent, kind.percent);
    Op[] ops = new Op[kind.size()];
    kind.draw(new Rng(1), ops);
    assertEquals(reads, Arrays.stream(ops).filter(op -> op == Op.READ).count());
    assertEquals(writes, Arrays.stream(ops).filter(op -> op == Op.WRITE).count());
    Set<Op> readFirst = workload.kinds(1, true).getFirst().ops();
    assertTrue(readFirst.contains(Op.MODIFY) && !readFirst.contains(Op.WRITE));
  }

  @Test
  void theOthersOfMixedAndLongOnlyRead() {
    for (Workload w : List.of(Workload.MIXED_HIGH, Workload.LONG)) {
      Kind kind = w.kinds(1, false).get(1);
      assertEquals(Set.of(Op.READ), kind.ops());
      assertEquals(w == Workload.LONG ? 1_000 : 28, kind.size());
      assertEquals(w == Workload.LONG ? 5 : 20, kind.percent);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "A,READ,50,UPDATE,50",
    "B,READ,95,UPDATE,5",
    "C,READ,100,UPDATE,0",
    "D,READ,95,INSERT,5",
    "E,SCAN,95,INSERT,5",
    "F,READ,50,MODIFY,50"
  })
  void ycsbWorkloads(Workload workload, Op first, int percent, Op second, int other) {
    Kind kind = workload.kinds(20, false).getFirst();
    Op[] ops = new Op[kind.size()];
    int[] counts = new int[Op.COUNT];
    Rng rng = new Rng(2);
    int draws = 10_000;
    for (int i = 0; i < draws; i++) {
      kind.draw(rng, ops);
      for (Op op : ops) {
        counts[op.ordinal()]++;
      }
    }
    assertEquals(percent, 100.0 * counts[first.ordinal()] / draws / ops.length, .5);
    assertEquals(other, 100.0 * counts[second.ordinal()] / draws / ops.length, .5);
    assertEquals(workload == Workload.D ? Keys.Shape.LATEST : Keys.Shape.ZIPFIAN, workload.keys);
  }

  @Test
  void theOrderIsDrawn() {
    Kind kind = Workload.READ_INTENSIVE_HIGH.kinds(1, false).getFirst();
    Op[] ops = new Op[kind.size()];
    Rng rng = new Rng(3);
    int[] places = new int[ops.length];
    for (int i = 0; i < 16_000; i++) {
      kind.draw(rng, ops);
      places[Arrays.asList(ops).indexOf(Op.WRITE)]++;
    }
    for (int n : places) {
      assertEquals(1_000, n, 150);
    }
  }

  @Test
  void distinctNumbers() {
    Distinct drawn = new Distinct(1_000);
    Set<Long> model = new HashSet<>();
    Rng rng = new Rng(4);
    for (int round = 0; round < 50; round++) {
      while (model.size() < 1_000) {
        long number = rng.below(3_000);
        assertEquals(model.add(number), drawn.add(number));
      }
      model.clear();
      drawn.clear();
    }
  }

  @Test
  void stampsIdentifyCommittedAttempts() {
    Stamps[] clients = {new Stamps(7, 0), new Stamps(7, 1)};
    long aborted = clients[1].next();
    long committed = 0;
    for (int i = 0; i < 200_000; i++) {
      committed = clients[1].next();
      clients[1].commit();
    }
    long late = clients[1].next();
    assertTrue(Stamps.plausible(committed, 7, clients));
    assertTrue(Stamps.plausible(0, 7, clients));
    assertFalse(Stamps.plausible(aborted, 7, clients));
    assertFalse(Stamps.plausible(late, 7, clients));
    assertFalse(Stamps.plausible(committed - (1L << 36), 7, clients), "of another client");
    assertTrue(Stamps.plausible(aborted, 8, clients), "of another run");
    assertFalse(Stamps.plausible(new Stamps(7, 2).next(), 7, clients), "of an unknown client");
  }

  @Test
  void limitAdvancesPastCommittedNumbers() {
    KeyCount count = new KeyCount(10);
    assertEquals(10, count.take());
    assertEquals(11, count.take());
    assertEquals(12, count.take());
    count.committed(12);
    count.committed(11);
    assertEquals(10, count.limit());
    count.committed(10);
    assertEquals(13, count.limit());
    assertEquals(13, count.take());
    long last = 13;
    for (long n = count.take(); n >= 0; n = count.take()) {
      last = n;
      count.committed(n);
    }
    assertEquals(13 + (1 << 16) - 1, last, "no further ahead than the window");
    assertEquals(13, count.limit());
    count.committed(13);
    assertEquals(last + 1, count.limit());
  }

  @Test
  void manyThreadsAdvanceTheLimit() throws InterruptedException {
    KeyCount count = new KeyCount(5);
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; i++) {
      threads[i] =
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int n = 0; n < 100_000; ) {
                      long number = count.take();
                      if (number >= 0) {
                        count.committed(number);
                        n++;
                      }
                    }
                  });
    }
    for (Thread t : threads) {
      t.join();
    }
    assertEquals(400_005, count.limit());
  }
}
