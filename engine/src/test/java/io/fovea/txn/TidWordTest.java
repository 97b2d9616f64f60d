package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class TidWordTest {
  @Test
  void zeroIsTheInitialWord() {
    assertEquals(0, TidWord.pack(0, 0));
    assertEquals(0, TidWord.wts(0));
    assertEquals(0, TidWord.rts(0));
    assertFalse(TidWord.isLocked(0));
  }

  @Test
  void theLargestDistanceFitsAndTheNextRaisesWts() {
    long fits = TidWord.pack(10, 10 + TidWord.DELTA_MAX);
    assertEquals(10, TidWord.wts(fits));
    assertEquals(10 + TidWord.DELTA_MAX, TidWord.rts(fits));
    long overflows = TidWord.pack(10, 10 + TidWord.DELTA_MAX + 1);
    assertEquals(10 + 32768, TidWord.wts(overflows));
    assertEquals(10 + 32768, TidWord.rts(overflows));
  }

  @Test
  void theLastTimestampsCanBeRepresented() {
    long word = TidWord.pack(TidWord.TIMESTAMP_MAX, TidWord.TIMESTAMP_MAX);
    assertEquals(TidWord.TIMESTAMP_MAX, TidWord.wts(word));
    assertEquals(TidWord.TIMESTAMP_MAX, TidWord.rts(word));
    assertFalse(TidWord.isLocked(word));
    assertEquals(TidWord.TIMESTAMP_MAX, TidWord.rts(TidWord.pack(0, TidWord.TIMESTAMP_MAX)));
  }

  @Property
  void fittingPairsAreExact(@ForAll("fitting") long[] pair) {
    long word = TidWord.pack(pair[0], pair[1]);
    assertEquals(pair[0], TidWord.wts(word));
    assertEquals(pair[1], TidWord.rts(word));
    assertEquals(pair[1] - pair[0], TidWord.delta(word));
  }

  @Property
  void packingRoundsUpByMultiplesAndKeepsRts(@ForAll("pairs") long[] pair) {
    long word = TidWord.pack(pair[0], pair[1]);
    assertEquals(pair[1], TidWord.rts(word));
    assertTrue(TidWord.wts(word) >= pair[0] && TidWord.wts(word) <= TidWord.rts(word));
    assertEquals(0, (TidWord.wts(word) - pair[0]) % (TidWord.DELTA_MAX + 1));
    // The smallest multiple: one less would not fit.
    assertTrue(TidWord.wts(word) == pair[0] || pair[1] - TidWord.wts(word) <= TidWord.DELTA_MAX);
  }

  @Property
  void theLockIsASeparateBit(@ForAll("pairs") long[] pair) {
    long word = TidWord.pack(pair[0], pair[1]);
    long locked = TidWord.withLock(word);
    assertTrue(TidWord.isLocked(locked));
    assertFalse(TidWord.isLocked(word));
    assertEquals(TidWord.wts(word), TidWord.wts(locked));
    assertEquals(TidWord.rts(word), TidWord.rts(locked));
    assertEquals(word, TidWord.withoutLock(locked));
  }

  @Property
  void extensionKeepsWtsOrRaisesItAboveTheOldRts(
      @ForAll("fitting") long[] pair, @ForAll("timestamps") long to, @ForAll boolean locked) {
    long word = TidWord.pack(pair[0], pair[1]);
    long given = locked ? TidWord.withLock(word) : word;
    long extended = TidWord.extended(given, to);
    assertEquals(locked, TidWord.isLocked(extended));
    assertEquals(Math.max(pair[1], to), TidWord.rts(extended));
    if (TidWord.wts(extended) != pair[0]) {
      // The dummy write of Timestamps.extend is above all timestamps of the former version.
      assertTrue(TidWord.wts(extended) > pair[1]);
      assertTrue(TidWord.wts(extended) <= to);
      assertEquals(0, (TidWord.wts(extended) - pair[0]) % 32768);
    }
  }

  @Property
  void maximumAndMinimumAreExactFieldByField(
      @ForAll("fitting") long[] a, @ForAll("fitting") long[] b) {
    long max = TidWord.max(TidWord.pack(a[0], a[1]), TidWord.pack(b[0], b[1]));
    assertEquals(Math.max(a[0], b[0]), TidWord.wts(max));
    assertEquals(Math.max(a[1], b[1]), TidWord.rts(max));
    long min = TidWord.min(TidWord.pack(a[0], a[1]), TidWord.pack(b[0], b[1]));
    assertEquals(Math.min(a[0], b[0]), TidWord.wts(min));
    assertEquals(Math.min(a[1], b[1]), TidWord.rts(min));
  }

  @Test
  void theLargerWordMayLoseTheLargerRts() {
    long read = TidWord.pack(5, 1000);
    long written = TidWord.pack(6, 6);
    assertEquals(1000, TidWord.rts(TidWord.max(read, written)));
    assertEquals(6, TidWord.wts(TidWord.max(read, written)));
  }

  @Provide
  Arbitrary<Long> timestamps() {
    return Arbitraries.oneOf(
        Arbitraries.longs().between(0, 100_000),
        Arbitraries.longs().between(0, TidWord.TIMESTAMP_MAX));
  }

  /** wts and rts with any distance. */
  @Provide
  Arbitrary<long[]> pairs() {
    return timestamps()
        .flatMap(
            wts ->
                Arbitraries.oneOf(
                        Arbitraries.longs()
                            .between(0, Math.min(70_000, TidWord.TIMESTAMP_MAX - wts)),
                        Arbitraries.longs().between(0, TidWord.TIMESTAMP_MAX - wts))
                    .map(delta -> new long[] {wts, wts + delta}));
  }

  @Provide
  Arbitrary<long[]> fitting() {
    return timestamps()
        .flatMap(
            wts ->
                Arbitraries.longs()
                    .between(0, Math.min(TidWord.DELTA_MAX, TidWord.TIMESTAMP_MAX - wts))
                    .map(delta -> new long[] {wts, wts + delta}));
  }
}
