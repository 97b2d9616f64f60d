package io.fovea.ratis;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Checks whether the history of a register is linearizable.
 *
 * <p>Wing and Gong's search for an order in which each operation takes effect between its start and
 * its end, with the answers of a register. An operation may come next if no remaining one ended
 * before it began. A set of operations is tried only once with each value (Lowe). An operation with
 * an unknown end may take effect at any time after its start, or never.
 *
 * <p>Sources: J. Wing, C. Gong, Testing and Verifying Concurrent Objects, JPDC 17, 1993; G. Lowe,
 * Testing for linearizability, CCPE 29, 2017.
 */
final class Linearizability {
  enum Kind {
    READ,
    WRITE,
    SWAP
  }

  /**
   * An operation.
   *
   * @param ended Long.MAX_VALUE if unknown
   * @param a the value written; for a swap, the expected value
   * @param b for a swap, the value set
   * @param saw the result of a read; for a swap, 1 if it was done, otherwise 0
   */
  record Operation(Kind kind, long began, long ended, long a, long b, long saw) {
    boolean known() {
      return ended != Long.MAX_VALUE;
    }
  }

  private final List<Operation> operations;
  private final Set<State> tried = new HashSet<>();
  private final BitSet done = new BitSet();
  private int knownLeft;

  private record State(BitSet done, long value) {}

  private Linearizability(List<Operation> history) {
    operations = new ArrayList<>(history);
    operations.removeIf(o -> !o.known() && o.kind == Kind.READ);
    operations.sort(Comparator.comparingLong(Operation::began));
    knownLeft = (int) operations.stream().filter(Operation::known).count();
  }

  /** Returns whether there is such an order for a register that is initially 0. */
  static boolean check(List<Operation> history) {
    return new Linearizability(history).search(0);
  }

  private boolean search(long value) {
    if (knownLeft == 0) {
      return true;
    }
    if (!tried.add(new State((BitSet) done.clone(), value))) {
      return false;
    }
    long firstEnd = Long.MAX_VALUE;
    for (int i = done.nextClearBit(0); i < operations.size(); i = done.nextClearBit(i + 1)) {
      Operation o = operations.get(i);
      if (o.began > firstEnd) {
        break;
      }
      firstEnd = Math.min(firstEnd, o.ended);
    }
    for (int i = done.nextClearBit(0); i < operations.size(); i = done.nextClearBit(i + 1)) {
      Operation o = operations.get(i);
      if (o.began > firstEnd) {
        break;
      }
      if (fits(o, value)) {
        done.set(i);
        knownLeft -= o.known() ? 1 : 0;
        if (search(after(o, value))) {
          return true;
        }
        done.clear(i);
        knownLeft += o.known() ? 1 : 0;
      }
    }
    return false;
  }

  private static boolean fits(Operation o, long value) {
    return switch (o.kind) {
      case READ -> o.saw == value;
      case WRITE -> true;
      case SWAP -> o.known() ? (o.saw == 1) == (value == o.a) : value == o.a;
    };
  }

  private static long after(Operation o, long value) {
    return switch (o.kind) {
      case READ -> value;
      case WRITE -> o.a;
      case SWAP -> value == o.a ? o.b : value;
    };
  }
}
