package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import java.util.Locale;

/**
 * Chooses the next transaction. A deck is shuffled, dealt to its end and shuffled again, so that
 * the shares are exact (clause 5.2.4.2). Weights are drawn independently.
 *
 * @param weights cards of each type, or weights
 * @param deck whether the weights are cards
 */
record Mix(String name, int[] weights, boolean deck) {
  static final Mix FULL = new Mix("full", fullDeck(), true);

  /** 50 % New-Order and 50 % Payment, as in the paper on FPSketch. */
  static final Mix HALF = new Mix("half", new int[] {1, 1, 0, 0, 0}, true);

  private static final int MAX_WEIGHT = 1_000_000;

  private static int[] fullDeck() {
    int[] cards = new int[TxnType.COUNT];
    for (TxnType type : TxnType.values()) {
      cards[type.ordinal()] = type.cards;
    }
    return cards;
  }

  /**
   * Parses the value of {@code --mix}: full, half, or five weights such as 45,43,4,4,4.
   *
   * @throws IllegalArgumentException with a message for the user
   */
  static Mix parse(String text) {
    switch (text.toLowerCase(Locale.ROOT)) {
      case "full":
        return FULL;
      case "half":
        return HALF;
      default:
        break;
    }
    String[] parts = text.split(",", -1);
    int[] weights = new int[TxnType.COUNT];
    long sum = 0;
    try {
      for (int i = 0; i < parts.length && i < weights.length; i++) {
        weights[i] = Integer.parseInt(parts[i].strip());
        sum += weights[i];
      }
    } catch (NumberFormatException e) {
      sum = 0;
    }
    boolean inRange = Arrays.stream(weights).allMatch(w -> w >= 0 && w <= MAX_WEIGHT);
    if (parts.length != weights.length || sum <= 0 || !inRange) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' is not a mix: expected full, half, or five weights in the order New-Order, Payment,"
              + " Order-Status, Delivery, Stock-Level, such as 45,43,4,4,4");
    }
    return new Mix(text, weights, false);
  }

  boolean has(TxnType type) {
    return weights[type.ordinal()] > 0;
  }

  Dealer dealer(Rng rng) {
    return new Dealer(rng);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Mix m
        && name.equals(m.name)
        && deck == m.deck
        && Arrays.equals(weights, m.weights);
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }

  @Override
  public String toString() {
    return name;
  }

  /** The deck of one worker. */
  final class Dealer {
    private final Rng rng;
    private final int[] cards;
    private int next;

    private Dealer(Rng rng) {
      this.rng = rng;
      if (deck) {
        cards = new int[Arrays.stream(weights).sum()];
        int at = 0;
        for (int type = 0; type < weights.length; type++) {
          Arrays.fill(cards, at, at + weights[type], type);
          at += weights[type];
        }
        next = cards.length;
      } else {
        cards = weights.clone();
        Arrays.parallelPrefix(cards, Integer::sum);
      }
    }

    int next() {
      if (!deck) {
        int draw = rng.below(cards[cards.length - 1]);
        int type = 0;
        while (draw >= cards[type]) {
          type++;
        }
        return type;
      }
      if (next == cards.length) {
        rng.shuffle(cards);
        next = 0;
      }
      return cards[next++];
    }
  }
}
