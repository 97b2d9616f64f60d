package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("slow")
class BudgetComparisonTest {
  /** One loader for all operations, since loading an engine takes longer than measuring it. */
  private static ClassLoader before;

  private static ClassLoader after;

  @BeforeAll
  static void load() throws Exception {
    String path = System.getProperty("java.class.path");
    before = BudgetComparison.loader(path);
    after = BudgetComparison.loader(path);
  }

  /** Compares a build with itself: each operation runs, and yields figures of both. */
  @ParameterizedTest
  @EnumSource(names = {"POINT_READ", "SCAN_STEP", "INSERT", "DELETE", "ONE_UPDATE"})
  void beside(BudgetPiece.Operation operation) throws Exception {
    boolean swapped = operation.ordinal() % 2 == 1;
    BudgetComparison.Pair pair =
        BudgetComparison.measure(before, after, operation.name(), 3_000, 1, swapped);
    assertTrue(pair.before() > 0 && pair.after() > 0, pair::toString);
    assertEquals(pair.after() / pair.before(), pair.ratio(), 1e-9, "one round has one ratio");
  }
}
