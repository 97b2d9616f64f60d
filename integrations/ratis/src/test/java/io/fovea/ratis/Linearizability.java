package io.fovea.ratis;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Is the history of a register linearizable?
 *
 * <p>The search of Wing and Gong: an order of the operations is looked for in which each takes
 * effect between its beginning and its end, and answers what a register would. At each step an
 * operation may come next if none that is left has ended before it began. A set of operations that
 * was tried with a value is not tried again with that value (Lowe). An operation whose end nobody
 * knows may take effect at any moment after its beginning, or never.
 *
 * <p>Sources: J. Wing, C. Gong, Testing and Verifying Concurrent Objects, JPDC 17, 1993; G. Lowe,
 * Testing for linearizability, CCPE 29, 2017.
 */
final class Linearizability {
  /** What an operation does to the register. */
  enum Kind {
    READ,
    WRITE,
    SWAP
  }

  /**
   * An operation that has ended, or that nobody knows the end of.
   *
   * @param began a time
   * @param ended a time; Long.MAX_VALUE where it is not known
   * @param a the value that was written; of a swap, the one that was expected
   * @param b of a swap, the value that was set
   * @param saw what a read returned; of a swap, 1 where it was done and 0 where not
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

  /** Whether there is such an order, of a register that holds 0 at first. */
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
