package io.fovea.tpcc.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.fovea.tpcc.lookups.CostModel.Point;
import java.util.List;
import org.junit.jupiter.api.Test;

class CostModelTest {
  @Test
  void matchesTheExtremes() {
    Point memory = new Point(0, 1_000);
    Point device = new Point(0.5, 21_000);
    CostModel model = CostModel.of(List.of(device, new Point(0.1, 5_000), memory));
    assertEquals(1_000, model.hitNanos(), 1e-6);
    assertEquals(41_000, model.missNanos(), 1e-6);
    assertEquals(1, model.measuredByModel(memory), 1e-9);
    assertEquals(1, model.measuredByModel(device), 1e-9);
    assertEquals(0.5, model.measuredByModel(new Point(0.1, 10_000)), 1e-9);
    assertEquals(2, model.measuredByModel(new Point(0.1, 2_500)), 1e-9);
  }

  @Test
  void fewestMissesNeedNotBeZero() {
    CostModel model = CostModel.of(List.of(new Point(0.1, 2_000), new Point(0.6, 7_000)));
    assertEquals(1_000, model.hitNanos(), 1e-6);
    assertEquals(11_000, model.missNanos(), 1e-6);
  }

  @Test
  void similarPointsDetermineNoModel() {
    assertNull(CostModel.of(List.of()));
    assertNull(CostModel.of(List.of(new Point(0, 1_000))));
    assertNull(CostModel.of(List.of(new Point(0, 1_000), new Point(0.001, 1_200))));
  }
}
