package io.fovea.tpcc.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.lookups.WorkingSet.Drifting;
import io.fovea.tpcc.lookups.WorkingSet.Fixed;
import io.fovea.tpcc.lookups.WorkingSet.Growing;
import io.fovea.tpcc.lookups.WorkingSet.Mark;
import io.fovea.tpcc.lookups.WorkingSet.Range;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class WorkingSetTest {
  private static final long SECOND = 1_000_000_000L;

  private static Set<Long> members(Range range, long records) {
    Set<Long> set = new HashSet<>();
    LongStream.range(0, range.size()).forEach(i -> set.add((range.first() + i) % records));
    return set;
  }

  @Test
  void fixedSetIsConstant() {
    WorkingSet set = new Fixed(70);
    assertEquals(new Range(0, 70), set.at(0));
    assertEquals(new Range(0, 70), set.at(100 * SECOND));
    assertEquals(Long.MAX_VALUE, set.nextChange(0));
    assertEquals(List.of(), set.marks(100 * SECOND));
  }

  @Test
  void growsLinearly() {
    WorkingSet set = new Growing(500, 1500, false, 10 * SECOND, 1000);
    assertEquals(new Range(0, 500), set.at(-3 * SECOND), "the warm-up");
    assertEquals(new Range(0, 500), set.at(0));
    assertEquals(new Range(0, 750), set.at(5 * SECOND / 2));
    assertEquals(new Range(0, 1000), set.at(5 * SECOND));
    assertEquals(new Range(0, 1500), set.at(10 * SECOND));
    assertEquals(new Range(0, 1500), set.at(11 * SECOND));
    assertEquals(1500, set.sizeMax());
    assertEquals(List.of(new Mark(5 * SECOND, "as large as the pool")), set.marks(10 * SECOND));
  }

  @Test
  void stepsAreSmall() {
    WorkingSet set = new Growing(500, 1500, true, 10 * SECOND, 1000);
    long steps = 0;
    long size = set.at(0).size();
    for (long t = set.nextChange(0); t != Long.MAX_VALUE; t = set.nextChange(t)) {
      long next = set.at(t).size();
      assertTrue(Math.abs(next - size) <= 15, "at " + t + " from " + size + " to " + next);
      size = next;
      steps++;
    }
    assertEquals(10 * SECOND / Growing.STEP_NANOS, steps);
  }

  @Test
  void shrinksBackToItsFirstSize() {
    WorkingSet set = new Growing(500, 1500, true, 10 * SECOND, 1000);
    assertEquals(500, set.at(0).size());
    assertEquals(1000, set.at(2 * SECOND).size());
    assertEquals(1500, set.at(4 * SECOND).size());
    assertEquals(1500, set.at(5 * SECOND - 1).size());
    assertEquals(1000, set.at(7 * SECOND).size());
    assertEquals(500, set.at(9 * SECOND).size());
    assertEquals(500, set.at(20 * SECOND).size());
    List<Mark> marks = set.marks(10 * SECOND);
    assertEquals(
        List.of(
            "as large as the pool",
            "1.50 of the pool",
            "shrinks",
            "as large as the pool",
            "0.50 of the pool"),
        marks.stream().map(Mark::text).toList());
    assertEquals(
        List.of(2 * SECOND, 4 * SECOND, 5 * SECOND, 7 * SECOND, 9 * SECOND),
        marks.stream().map(Mark::nanos).toList());
  }

  @Test
  void growthMayBeNegative() {
    WorkingSet set = new Growing(1500, 1200, false, 10 * SECOND, 1000);
    assertEquals(1500, set.at(0).size());
    assertEquals(1200, set.at(10 * SECOND).size());
    assertEquals(1500, set.sizeMax());
    assertEquals(List.of(), set.marks(10 * SECOND), "never as small as the pool");
  }

  @Test
  void driftReplacesAQuarter() {
    long records = 1000;
    WorkingSet set = new Drifting(records, 200, 50, 10 * SECOND);
    assertEquals(new Range(0, 200), set.at(-1));
    assertEquals(set.at(0), set.at(10 * SECOND - 1));
    Set<Long> all = members(set.at(0), records);
    for (int i = 1; i <= 40; i++) {
      Set<Long> before = members(set.at(i * 10 * SECOND - 1), records);
      Set<Long> after = members(set.at(i * 10 * SECOND), records);
      assertEquals(200, after.size());
      all.addAll(after);
      after.removeAll(before);
      assertEquals(50, after.size(), "new ones, at interval " + i);
    }
    assertEquals(records, all.size(), "it wraps around");
  }

  @Test
  void driftIsMarkedWhenItHappens() {
    WorkingSet set = new Drifting(1000, 200, 50, 10 * SECOND);
    assertEquals(10 * SECOND, set.nextChange(-5));
    assertEquals(10 * SECOND, set.nextChange(0));
    assertEquals(20 * SECOND, set.nextChange(10 * SECOND));
    assertEquals(
        List.of(new Mark(10 * SECOND, "25 % replaced"), new Mark(20 * SECOND, "25 % replaced")),
        set.marks(30 * SECOND));
  }
}
