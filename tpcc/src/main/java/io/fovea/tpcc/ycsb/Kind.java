package io.fovea.tpcc.ycsb;

import io.fovea.tpcc.bench.Rng;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * A kind of transactions: fixed numbers of operations in random order, or a number of operations
 * that are drawn individually.
 *
 * <p>Immutable; any thread.
 */
final class Kind {
  final String id;

  /** The percentage of transactions of this kind. */
  final int percent;

  /** The fixed operations; empty if operations are drawn. */
  private final Op[] fixed;

  /** The number of drawn operations; 0 if they are fixed. */
  private final int draws;

  /** Percentages by {@link Op}. */
  private final int[] percents;

  private Kind(String id, int percent, Op[] fixed, int draws, int[] percents) {
    this.id = id;
    this.percent = percent;
    this.fixed = fixed;
    this.draws = draws;
    this.percents = percents;
  }

  static Kind of(String id, int percent, int reads, int writes, Op write) {
    Op[] ops = new Op[reads + writes];
    Arrays.fill(ops, 0, reads, Op.READ);
    Arrays.fill(ops, reads, ops.length, write);
    return new Kind(id, percent, ops, 0, new int[Op.COUNT]);
  }

  static Kind single(Op op, int percent) {
    return new Kind(op.id, percent, new Op[] {op}, 0, new int[Op.COUNT]);
  }

  static Kind drawn(int draws, int[] percents) {
    return new Kind("transaction", 100, new Op[0], draws, percents.clone());
  }

  int size() {
    return fixed.length + draws;
  }

  Set<Op> ops() {
    Set<Op> ops = EnumSet.noneOf(Op.class);
    ops.addAll(Arrays.asList(fixed));
    for (Op op : Op.values()) {
      if (percents[op.ordinal()] > 0) {
        ops.add(op);
      }
    }
    return ops;
  }

  void draw(Rng rng, Op[] out) {
    System.arraycopy(fixed, 0, out, 0, fixed.length);
    for (int i = fixed.length - 1; i > 0; i--) {
      int j = rng.below(i + 1);
      Op op = out[i];
      out[i] = out[j];
      out[j] = op;
    }
    for (int i = 0; i < draws; i++) {
      out[i] = draw(rng.below(100));
    }
  }

  private Op draw(int percent) {
    int left = percent;
    for (Op op : OPS) {
      left -= percents[op.ordinal()];
      if (left < 0) {
        return op;
      }
    }
    throw new IllegalStateException("percentages of " + id + " add up to less than 100");
  }

  private static final Op[] OPS = Op.values();
}
