package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MixTest {
  private static int[] deal(Mix.Dealer dealer, int n) {
    int[] counts = new int[TxnType.COUNT];
    for (int i = 0; i < n; i++) {
      counts[dealer.next()]++;
    }
    return counts;
  }

  @Test
  void everyDeckHasTheSame23Cards() {
    Mix.Dealer dealer = Mix.FULL.dealer(new Rng(1));
    for (int deck = 0; deck < 100; deck++) {
      assertArrayEquals(new int[] {10, 10, 1, 1, 1}, deal(dealer, 23));
    }
  }

  @Test
  void decksAreShuffled() {
    Mix.Dealer dealer = Mix.FULL.dealer(new Rng(2));
    int[] first = new int[23];
    int[] second = new int[23];
    Arrays.setAll(first, i -> dealer.next());
    Arrays.setAll(second, i -> dealer.next());
    assertNotEquals(Arrays.toString(first), Arrays.toString(second));
  }

  @Test
  void halfHasOnlyNewOrderAndPayment() {
    assertArrayEquals(new int[] {500, 500, 0, 0, 0}, deal(Mix.HALF.dealer(new Rng(3)), 1_000));
    assertTrue(Mix.HALF.has(TxnType.PAYMENT) && !Mix.HALF.has(TxnType.DELIVERY));
  }

  @Test
  void weightsAreDrawn() {
    Mix mix = Mix.parse("45, 43,4,4,4");
    int[] counts = deal(mix.dealer(new Rng(4)), 100_000);
    int[] percents = {45, 43, 4, 4, 4};
    for (int i = 0; i < counts.length; i++) {
      assertEquals(percents[i] * 1_000, counts[i], 600, TxnType.values()[i].title);
    }
    assertArrayEquals(
        new int[] {0, 0, 0, 7, 0}, deal(Mix.parse("0,0,0,1,0").dealer(new Rng(5)), 7));
  }

  @Test
  void names() {
    assertSame(Mix.FULL, Mix.parse("FULL"));
    assertSame(Mix.HALF, Mix.parse("half"));
    assertEquals("1,2,3,4,5", Mix.parse("1,2,3,4,5").toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "most", "1,2,3,4", "1,2,3,4,5,6", "0,0,0,0,0", "1,-1,1,1,1", "1,x,1,1,1"})
  void invalidMixes(String text) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> Mix.parse(text));
    assertTrue(e.getMessage().contains("45,43,4,4,4"), e.getMessage());
  }

  @Test
  void thinkTimesHaveMeanAndCap() {
    Rng rng = new Rng(6);
    for (TxnType type : TxnType.values()) {
      double sum = 0;
      int n = 50_000;
      for (int i = 0; i < n; i++) {
        long nanos = type.thinkNanos(rng);
        assertTrue(nanos >= 0 && nanos <= 10 * type.meanThinkSeconds * 1_000_000_000L);
        sum += nanos;
      }
      double mean = sum / n / 1e9;
      assertEquals(type.meanThinkSeconds, mean, 0.03 * type.meanThinkSeconds, type.title);
    }
  }
}
