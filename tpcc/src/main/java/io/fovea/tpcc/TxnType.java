package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;

/** The five transaction types: their cards in a deck of 23, keying and think times (clause 5.2). */
enum TxnType {
  NEW_ORDER("New-Order", "newOrder", 10, 18, 12),
  PAYMENT("Payment", "payment", 10, 3, 12),
  ORDER_STATUS("Order-Status", "orderStatus", 1, 2, 10),
  DELIVERY("Delivery", "delivery", 1, 2, 5),
  STOCK_LEVEL("Stock-Level", "stockLevel", 1, 2, 5);

  static final int COUNT = values().length;

  final String title;

  /** The name in JSON and in the tags of an .hlog. */
  final String id;

  final int cards;
  final int keyingSeconds;
  final int meanThinkSeconds;

  TxnType(String title, String id, int cards, int keyingSeconds, int meanThinkSeconds) {
    this.title = title;
    this.id = id;
    this.cards = cards;
    this.keyingSeconds = keyingSeconds;
    this.meanThinkSeconds = meanThinkSeconds;
  }

  /** Draws a think time in nanoseconds: negative exponential, at most ten times the mean. */
  long thinkNanos(Rng rng) {
    double seconds = Math.min(-Math.log(rng.unit()), 10.0) * meanThinkSeconds;
    return (long) (seconds * 1e9);
  }
}
