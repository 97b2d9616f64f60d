package io.fovea.ratis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Checks whether a history over many accounts is strictly serializable.
 *
 * <p>The order of the commands is known from their log indexes. So no search for an order is
 * needed, and the check is exact for that order:
 *
 * <ol>
 *   <li>the order keeps real time: a command that ended before another began has the lower index;
 *   <li>each command returned what it returns if all are run one after another;
 *   <li>each observation (a read of several accounts, or a refusal) matches the state after some
 *       number of commands, which includes all that ended before it began, and none that began
 *       after it ended;
 *   <li>observations keep real time: one that began after another ended is after no fewer commands.
 * </ol>
 *
 * <p>For the last two rules each observation, in order of begin, is placed after the fewest
 * commands that match. That is safe, because a placement bounds later ones only from below.
 */
final class StrictSerializability {
  /**
   * An applied command that moved an amount from one account to another.
   *
   * @param index its index in the log
   * @param ended Long.MAX_VALUE if unknown; there is no answer then
   * @param sawFrom the answered balance of the first account, after the command
   * @param sawTo the answered balance of the second account
   */
  record Transfer(
      String name,
      long index,
      long began,
      long ended,
      String from,
      String to,
      long amount,
      long sawFrom,
      long sawTo) {
    boolean known() {
      return ended != Long.MAX_VALUE;
    }
  }

  /** The balances at one point of the order. */
  interface State {
    long balance(String account);
  }

  /** Whether an observation matches a state. */
  interface Fit {
    boolean fits(State state);
  }

  /**
   * What a client saw without changing anything.
   *
   * @param what description for the report
   * @param fit the states that it matches
   */
  record Observation(String what, long began, long ended, Fit fit) {}

  /** The balance of an account after each command that changed it. */
  private static final class Versions {
    private int[] after = new int[8];
    private long[] balances = new long[8];
    private int size;

    void add(int commands, long balance) {
      if (size == after.length) {
        after = Arrays.copyOf(after, 2 * size);
        balances = Arrays.copyOf(balances, 2 * size);
      }
      after[size] = commands;
      balances[size++] = balance;
    }

    long at(int commands) {
      int i = Arrays.binarySearch(after, 0, size, commands);
      int last = i >= 0 ? i : -i - 2;
      return last < 0 ? 0 : balances[last];
    }
  }

  private final List<Transfer> order;
  private final List<String> wrong = new ArrayList<>();
  private final Map<String, Versions> accounts = new HashMap<>();

  private StrictSerializability(List<Transfer> commands) {
    order = new ArrayList<>(commands);
    order.sort(Comparator.comparingLong(Transfer::index));
  }

  /**
   * Returns the violations.
   *
   * @param commands all applied commands, in any order; accounts are initially 0
   * @param observations all observations to check
   * @return descriptions; empty if the history is strictly serializable
   */
  static List<String> check(List<Transfer> commands, List<Observation> observations) {
    StrictSerializability s = new StrictSerializability(commands);
    s.keepsTime();
    s.replay();
    s.place(observations);
    return s.wrong;
  }

  private void keepsTime() {
    Transfer latest = null;
    for (Transfer t : order) {
      if (latest != null && t.ended < latest.began) {
        wrong.add("Not strict: " + t + " had ended before " + latest + " began.");
      }
      if (latest == null || t.began > latest.began) {
        latest = t;
      }
    }
  }

  private void replay() {
    for (int i = 0; i < order.size(); i++) {
      Transfer t = order.get(i);
      if (i > 0 && order.get(i - 1).index == t.index) {
        wrong.add("Not serial: two commands have index " + t.index + ".");
      }
      long from = move(t.from, -t.amount, i + 1);
      long to = move(t.to, t.amount, i + 1);
      if (t.known() && (t.sawFrom != from || t.sawTo != to)) {
        wrong.add("Not serial: serial execution yields " + from + " and " + to + ", not " + t);
      }
    }
  }

  private long move(String account, long more, int commands) {
    Versions v = accounts.computeIfAbsent(account, a -> new Versions());
    long now = v.at(commands) + more;
    v.add(commands, now);
    return now;
  }

  private void place(List<Observation> observations) {
    int n = order.size();
    Integer[] byEnd = positions(n, Comparator.comparingLong(i -> order.get(i).ended));
    Integer[] byBegin = positions(n, Comparator.comparingLong(i -> order.get(i).began));
    // For the first i to end: the number of commands up to and including the last of them.
    int[] least = new int[n + 1];
    for (int i = 0; i < n; i++) {
      least[i + 1] = Math.max(least[i], byEnd[i] + 1);
    }
    // For those that begin from the i-th on: the number of commands before the first of them.
    int[] most = new int[n + 1];
    most[n] = n;
    for (int i = n - 1; i >= 0; i--) {
      most[i] = Math.min(most[i + 1], byBegin[i]);
    }

    List<Observation> sorted = new ArrayList<>(observations);
    sorted.sort(Comparator.comparingLong(Observation::began));
    PriorityQueue<long[]> open = new PriorityQueue<>(Comparator.comparingLong(e -> e[0]));
    int floor = 0;
    for (Observation o : sorted) {
      while (!open.isEmpty() && open.peek()[0] < o.began) {
        floor = (int) Math.max(floor, open.poll()[1]);
      }
      int endedBefore = count(n, i -> order.get(byEnd[i]).ended < o.began);
      int begunBy = count(n, i -> order.get(byBegin[i]).began <= o.ended);
      int from = Math.max(floor, least[endedBefore]);
      int to = most[begunBy];
      int at = from;
      while (at <= to && !fits(o, at)) {
        at++;
      }
      if (at <= to) {
        open.add(new long[] {o.ended, at});
      } else {
        wrong.add(
            "Not strictly serializable: "
                + o.what
                + " fits no state after "
                + from
                + " to "
                + to
                + " of "
                + n
                + " commands"
                + elsewhere(o, n)
                + ".");
      }
    }
  }

  private String elsewhere(Observation o, int n) {
    for (int at = 0; at <= n; at++) {
      if (fits(o, at)) {
        return ", but the state after " + at;
      }
    }
    return ", and no other state";
  }

  private boolean fits(Observation o, int commands) {
    return o.fit.fits(
        account -> {
          Versions v = accounts.get(account);
          return v == null ? 0 : v.at(commands);
        });
  }

  private static Integer[] positions(int n, Comparator<Integer> by) {
    Integer[] p = new Integer[n];
    Arrays.setAll(p, i -> i);
    Arrays.sort(p, by);
    return p;
  }

  private interface At {
    boolean is(int i);
  }

  /** Returns how many satisfy the condition; those that do come first. */
  private static int count(int n, At at) {
    int low = 0;
    int high = n;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (at.is(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
