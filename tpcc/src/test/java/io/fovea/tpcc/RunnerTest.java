package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.error.AbortCause;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RunnerTest {
  @Test
  void affinityAssignsEveryWarehouseOnce() {
    for (int warehouses = 1; warehouses <= 12; warehouses++) {
      for (int workers = 1; workers <= warehouses; workers++) {
        List<Integer> dealt = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
          IntStream.of(Runner.homes(i, workers, warehouses, true)).forEach(dealt::add);
        }
        dealt.sort(null);
        assertEquals(IntStream.rangeClosed(1, warehouses).boxed().toList(), dealt);
      }
    }
  }

  @Test
  void surplusWorkersShareWarehouses() {
    assertArrayEquals(new int[] {1}, Runner.homes(0, 5, 2, true));
    assertArrayEquals(new int[] {2}, Runner.homes(1, 5, 2, true));
    assertArrayEquals(new int[] {1}, Runner.homes(4, 5, 2, true));
    assertArrayEquals(new int[] {1, 2, 3}, Runner.homes(1, 2, 3, false));
  }

  @Test
  void talliesAddUpAndSubtract() {
    Tally a = new Tally();
    Tally b = new Tally();
    a.ended(TxnType.NEW_ORDER.ordinal(), false, 1, 0);
    Tally.Totals before = Tally.Totals.of(List.of(a, b));
    a.ended(TxnType.NEW_ORDER.ordinal(), true, 3, 0);
    b.ended(TxnType.DELIVERY.ordinal(), false, 2, 4);
    b.conflict(TxnType.DELIVERY.ordinal(), AbortCause.VALIDATION);
    Tally.Totals t = Tally.Totals.of(List.of(a, b)).since(before);
    assertEquals(0, t.get(TxnType.NEW_ORDER, Tally.What.COMMITS));
    assertEquals(1, t.get(TxnType.NEW_ORDER, Tally.What.ROLLBACKS));
    assertEquals(2, t.get(TxnType.NEW_ORDER, Tally.What.RETRIES));
    assertEquals(1, t.get(TxnType.DELIVERY, Tally.What.COMMITS));
    assertEquals(4, t.get(TxnType.DELIVERY, Tally.What.SKIPPED_DISTRICTS));
    assertEquals(1, t.get(TxnType.DELIVERY, AbortCause.VALIDATION));
    assertEquals(0, t.get(TxnType.PAYMENT, AbortCause.VALIDATION));
    assertEquals(1, t.get(Tally.What.COMMITS));
    assertEquals(3, t.get(Tally.What.RETRIES));
    assertEquals(1, t.get(AbortCause.VALIDATION));
  }
}
