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

class WordTest {
  @Test
  void zeroIsTheUnlockedWordOfNoTime() {
    assertEquals(0, Word.pack(0, 0));
    assertEquals(0, Word.wts(0));
    assertEquals(0, Word.rts(0));
    assertFalse(Word.isLocked(0));
  }

  @Test
  void theLargestDistanceFitsAndTheNextOneRaisesWts() {
    long fits = Word.pack(10, 10 + Word.DELTA_MAX);
    assertEquals(10, Word.wts(fits));
    assertEquals(10 + Word.DELTA_MAX, Word.rts(fits));
    long overflows = Word.pack(10, 10 + Word.DELTA_MAX + 1);
    assertEquals(10 + 32768, Word.wts(overflows));
    assertEquals(10 + 32768, Word.rts(overflows));
  }

  @Test
  void theLastTimestampsCanBeRepresented() {
    long word = Word.pack(Word.TIMESTAMP_MAX, Word.TIMESTAMP_MAX);
    assertEquals(Word.TIMESTAMP_MAX, Word.wts(word));
    assertEquals(Word.TIMESTAMP_MAX, Word.rts(word));
    assertFalse(Word.isLocked(word));
    assertEquals(Word.TIMESTAMP_MAX, Word.rts(Word.pack(0, Word.TIMESTAMP_MAX)));
  }

  @Property
  void whatFitsIsKept(@ForAll("fitting") long[] pair) {
    long word = Word.pack(pair[0], pair[1]);
    assertEquals(pair[0], Word.wts(word));
    assertEquals(pair[1], Word.rts(word));
    assertEquals(pair[1] - pair[0], Word.delta(word));
  }

  @Property
  void packingRoundsUpByMultiplesAndKeepsRts(@ForAll("pairs") long[] pair) {
    long word = Word.pack(pair[0], pair[1]);
    assertEquals(pair[1], Word.rts(word));
    assertTrue(Word.wts(word) >= pair[0] && Word.wts(word) <= Word.rts(word));
    assertEquals(0, (Word.wts(word) - pair[0]) % (Word.DELTA_MAX + 1));
    // The smallest such multiple: one less would not fit.
    assertTrue(Word.wts(word) == pair[0] || pair[1] - Word.wts(word) <= Word.DELTA_MAX);
  }

  @Property
  void theLockIsABitOfItsOwn(@ForAll("pairs") long[] pair) {
    long word = Word.pack(pair[0], pair[1]);
    long locked = Word.withLock(word);
    assertTrue(Word.isLocked(locked));
    assertFalse(Word.isLocked(word));
    assertEquals(Word.wts(word), Word.wts(locked));
    assertEquals(Word.rts(word), Word.rts(locked));
    assertEquals(word, Word.withoutLock(locked));
  }

  @Property
  void extensionKeepsTheVersionOrPassesItsOldEnd(
      @ForAll("fitting") long[] pair, @ForAll("timestamps") long to, @ForAll boolean locked) {
    long word = Word.pack(pair[0], pair[1]);
    long given = locked ? Word.withLock(word) : word;
    long extended = Word.extended(given, to);
    assertEquals(locked, Word.isLocked(extended));
    assertEquals(Math.max(pair[1], to), Word.rts(extended));
    if (Word.wts(extended) != pair[0]) {
      // The dummy write of Timestamps.extend: later than every timestamp the version was valid at.
      assertTrue(Word.wts(extended) > pair[1]);
      assertTrue(Word.wts(extended) <= to);
      assertEquals(0, (Word.wts(extended) - pair[0]) % 32768);
    }
  }

  @Property
  void maximumAndMinimumAreExactFieldByField(
      @ForAll("fitting") long[] a, @ForAll("fitting") long[] b) {
    long max = Word.max(Word.pack(a[0], a[1]), Word.pack(b[0], b[1]));
    assertEquals(Math.max(a[0], b[0]), Word.wts(max));
    assertEquals(Math.max(a[1], b[1]), Word.rts(max));
    long min = Word.min(Word.pack(a[0], a[1]), Word.pack(b[0], b[1]));
    assertEquals(Math.min(a[0], b[0]), Word.wts(min));
    assertEquals(Math.min(a[1], b[1]), Word.rts(min));
  }

  @Test
  void theMaximumOfThePackedWordsWouldLoseAnRts() {
    long read = Word.pack(5, 1000);
    long written = Word.pack(6, 6);
    assertEquals(1000, Word.rts(Word.max(read, written)));
    assertEquals(6, Word.wts(Word.max(read, written)));
  }

  @Provide
  Arbitrary<Long> timestamps() {
    return Arbitraries.oneOf(
        Arbitraries.longs().between(0, 100_000),
        Arbitraries.longs().between(0, Word.TIMESTAMP_MAX));
  }

  /** wts and rts with any distance. */
  @Provide
  Arbitrary<long[]> pairs() {
    return timestamps()
        .flatMap(
            wts ->
                Arbitraries.oneOf(
                        Arbitraries.longs().between(0, Math.min(70_000, Word.TIMESTAMP_MAX - wts)),
                        Arbitraries.longs().between(0, Word.TIMESTAMP_MAX - wts))
                    .map(delta -> new long[] {wts, wts + delta}));
  }

  @Provide
  Arbitrary<long[]> fitting() {
    return timestamps()
        .flatMap(
            wts ->
                Arbitraries.longs()
                    .between(0, Math.min(Word.DELTA_MAX, Word.TIMESTAMP_MAX - wts))
                    .map(delta -> new long[] {wts, wts + delta}));
  }
}
