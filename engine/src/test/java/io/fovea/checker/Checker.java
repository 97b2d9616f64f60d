package io.fovea.checker;

import io.fovea.checker.Anomaly.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a history is serializable.
 *
 * <p>The order of each key's versions is recovered ({@link Versions}) and gives edges between
 * transactions. A cycle of edges is an anomaly. A transaction with unknown outcome counts as
 * committed if a committed one saw its writes, otherwise as never run. After Adya, Weak
 * consistency, 1999, and Kingsbury and Alvaro, Elle, VLDB 2020.
 */
final class Checker {
  /** The maximum number of edges of a component that is searched for cycles once one is known. */
  private static final int SEARCHES_MAX = 200;

  private static final int ANOMALIES_MAX = 50;

  /**
   * The result.
   *
   * @param anomalies some of the anomalies; empty if none is detectable
   * @param committed the number of transactions that have committed, or must have
   * @param unknown the number of transactions with unknown outcome
   * @param open the number of reads that may have seen one of several versions
   * @param cycles the number of components searched
   */
  record Report(
      List<Anomaly> anomalies,
      int committed,
      int unknown,
      int edges,
      int keys,
      long versions,
      long open,
      int cycles) {
    boolean clean() {
      return anomalies.isEmpty();
    }

    boolean has(Kind kind) {
      return anomalies.stream().anyMatch(a -> a.kind() == kind);
    }

    Report requireClean(Object context) {
      if (!clean()) {
        throw new AssertionError(
            context
                + ": "
                + anomalies.size()
                + " anomalies\n"
                + String.join("\n", anomalies.stream().limit(5).map(Anomaly::toString).toList()));
      }
      return this;
    }

    @Override
    public String toString() {
      return committed
          + " transactions, "
          + unknown
          + " with unknown outcome, "
          + edges
          + " edges, "
          + versions
          + " versions of "
          + keys
          + " keys, "
          + open
          + " ambiguous reads, "
          + cycles
          + " components searched, "
          + anomalies.size()
          + " anomalies";
    }
  }

  private final List<Txn> txns;
  private final Map<Long, Integer> byId = new HashMap<>();
  private final boolean[] committed;
  private final Map<Long, Versions> keys = new HashMap<>();
  private final List<Anomaly> anomalies = new ArrayList<>();
  private final Set<String> told = new HashSet<>();
  private final Replay replay = new Replay(keys);
  private final Graph graph;
  private long open;
  private int searched;

  private Checker(History history) {
    txns = history.txns();
    committed = new boolean[txns.size()];
    graph = new Graph(txns.size());
    for (int i = 0; i < txns.size(); i++) {
      if (byId.put(txns.get(i).id, i) != null) {
        throw new IllegalArgumentException("two transactions with the number " + txns.get(i).id);
      }
    }
  }

  /** Checks a history. */
  static Report check(History history) {
    return new Checker(history).run();
  }

  private Report run() {
    decideUnknown();
    forEach(this::ends);
    forEach(this::collect);
    Set<Long> departed = new HashSet<>();
    forEach(i -> compare(i, departed));
    long versions = 0;
    for (Versions v : keys.values()) {
      v.arrange(e -> byId.getOrDefault(Elements.txn(e), Versions.UNKNOWN));
      versions += v.count() - 1;
      for (int n = 1; n + 1 < v.count(); n++) {
        graph.add(v.writer(n), v.writer(n + 1), Graph.WW, v, n);
      }
    }
    maybe();
    forEach(this::connect);
    forEach(this::crash);
    graph.arrange();
    search();
    int yes = 0;
    int unknown = 0;
    for (int i = 0; i < committed.length; i++) {
      yes += committed[i] ? 1 : 0;
      unknown += txns.get(i).outcome == Txn.Outcome.INFO ? 1 : 0;
    }
    return new Report(
        anomalies, yes, unknown, graph.edges(), keys.size(), versions, open, searched);
  }

  private void forEach(IntConsumer body) {
    for (int i = 0; i < committed.length; i++) {
      if (committed[i]) {
        body.accept(i);
      }
    }
  }

  private void anomaly(Kind kind, String text, int... who) {
    if (anomalies.size() < ANOMALIES_MAX && told.add(kind + text)) {
      List<Long> ids = new ArrayList<>();
      for (int i : who) {
        ids.add(i < 0 ? -1 : txns.get(i).id);
      }
      anomalies.add(new Anomaly(kind, text, ids));
    }
  }

  private String name(int i) {
    return i < 0 ? "no transaction" : "T" + txns.get(i).id;
  }

  // ------------------------------------------------------------------------------------ outcomes

  /** Marks as committed all transactions whose elements a committed one saw. */
  private void decideUnknown() {
    boolean unknown = false;
    for (int i = 0; i < committed.length; i++) {
      committed[i] = txns.get(i).outcome == Txn.Outcome.OK;
      unknown |= txns.get(i).outcome == Txn.Outcome.INFO;
    }
    if (!unknown) {
      return;
    }
    List<Integer> work = new ArrayList<>();
    forEach(work::add);
    while (!work.isEmpty()) {
      Txn t = txns.get(work.removeLast());
      for (Op op : t.ops) {
        switch (op) {
          case Op.Read r -> promote(r.state(), work);
          case Op.Append a -> promote(a.after(), work);
          case Op.Delete d -> promote(d.before(), work);
          case Op.Scan s -> s.found().values().forEach(state -> promote(state, work));
          case Op.GroupScan s -> s.found().values().forEach(state -> promote(state, work));
          case Op.Lookup l -> promote(l.state(), work);
          case Op.Timed r -> promote(r.state(), work);
          case Op.Ends e -> {}
        }
      }
    }
  }

  private void promote(State s, List<Integer> work) {
    for (long e : s.list()) {
      Integer w = byId.get(Elements.txn(e));
      if (w != null && !committed[w] && txns.get(w).outcome == Txn.Outcome.INFO) {
        committed[w] = true;
        work.add(w);
      }
    }
  }

  /** Registers the possible writes of transactions whose outcome is still unknown. */
  private void maybe() {
    for (int i = 0; i < committed.length; i++) {
      if (!committed[i] && txns.get(i).outcome == Txn.Outcome.INFO) {
        for (Op op : txns.get(i).ops) {
          switch (op) {
            case Op.Append a -> versions(a.key()).maybe(false);
            case Op.Delete d -> versions(d.key()).maybe(true);
            case Op.Ends e -> versions(e.key()).maybeEnds(e.end());
            default -> {}
          }
        }
      }
    }
  }

  // ------------------------------------------------------------------------------------ versions

  private Versions versions(long key) {
    return keys.computeIfAbsent(key, Versions::new);
  }

  /** Registers the expiry of what the transaction wrote. */
  private void ends(int i) {
    for (Op op : txns.get(i).ops) {
      if (op instanceof Op.Ends e) {
        versions(e.key()).ends(e.element(), e.end());
      }
    }
  }

  /** Requires that nothing the transaction saw had expired. */
  private void notExpired(int i) {
    for (Op op : txns.get(i).ops) {
      if (op instanceof Op.Timed r && r.state().present()) {
        long end = versions(r.key()).end(r.state());
        if (end <= r.low()) {
          anomaly(
              Kind.IMPOSSIBLE_READ,
              name(i)
                  + " read "
                  + Keys.name(r.key())
                  + "="
                  + r.state()
                  + " at "
                  + r.low()
                  + " or later, which had expired at "
                  + end,
              i);
        }
      }
    }
  }

  private void collect(int i) {
    notExpired(i);
    replay.run(
        txns.get(i),
        new Replay.Visitor() {
          @Override
          public void saw(long key, State state, boolean predicate) {
            Versions v = versions(key);
            if (state.present() && checkElements(i, key, state)) {
              v.list(state);
            }
          }

          @Override
          public void missed(long key, int group) {}

          @Override
          public void wrote(long key, State before, State after) {
            Versions v = versions(key);
            v.list(before);
            boolean begins = Keys.isEnding(key) && after.life() > 1 && after.list().length == 1;
            if (begins) {
              v.deleted(after.life() - 1, i); // the key is absent afterwards
            }
            if (!after.present()) {
              int other = v.deleted(before.life(), i);
              if (other != Versions.NOBODY) {
                anomaly(
                    Kind.LOST_UPDATE,
                    name(other)
                        + " and "
                        + name(i)
                        + " both deleted life "
                        + before.life()
                        + " of "
                        + Keys.name(key),
                    other,
                    i);
              }
            }
          }

          @Override
          public void wrong(long key, String saw, State own) {
            anomaly(
                Kind.INTERNAL,
                name(i) + " read " + Keys.name(key) + "=" + saw + ", but its own is " + own,
                i);
          }

          @Override
          public void misplaced(long key, State state, int group) {
            anomaly(
                Kind.IMPOSSIBLE_READ,
                name(i)
                    + " found "
                    + Keys.name(key)
                    + "="
                    + state
                    + " in group "
                    + group
                    + ", where it does not belong",
                i);
          }
        });
  }

  /** Returns whether a state can be a version at all. */
  private boolean checkElements(int i, long key, State s) {
    long[] list = s.list();
    if (repeats(s)) {
      anomaly(
          Kind.IMPOSSIBLE_READ,
          name(i) + " read " + Keys.name(key) + "=" + s + ", with a duplicate element",
          i);
      return false;
    }
    for (int n = 0; n < list.length; n++) {
      Integer w = byId.get(Elements.txn(list[n]));
      if (w == null || w == i) {
        anomaly(
            Kind.IMPOSSIBLE_READ,
            name(i)
                + " read "
                + Keys.name(key)
                + "="
                + s
                + (w == null
                    ? ", which no transaction appended"
                    : ", before it appended that itself"),
            i);
      } else if (txns.get(w).outcome == Txn.Outcome.FAIL) {
        anomaly(
            Kind.G1A,
            name(i)
                + " read "
                + Keys.name(key)
                + "="
                + s
                + ", but "
                + name(w)
                + ", which appended "
                + Elements.name(list[n])
                + ", was aborted",
            i,
            w);
      }
    }
    return true;
  }

  private static boolean repeats(State s) {
    long[] list = s.list();
    for (int n = 1; n < list.length; n++) {
      for (int m = 0; m < n; m++) {
        if (list[m] == list[n]) {
          return true;
        }
      }
    }
    return false;
  }

  /** Requires that all lists of a life are prefixes of the longest. */
  private void compare(int i, Set<Long> departed) {
    replay.run(
        txns.get(i),
        new Replay.Visitor() {
          @Override
          public void saw(long key, State state, boolean predicate) {
            look(key, state);
          }

          @Override
          public void missed(long key, int group) {}

          @Override
          public void wrote(long key, State before, State after) {
            look(key, before);
          }

          @Override
          public void wrong(long key, String saw, State own) {}

          @Override
          public void misplaced(long key, State state, int group) {}

          private void look(long key, State s) {
            if (!s.present() || repeats(s)) {
              return;
            }
            Versions v = versions(key);
            int place = v.departs(s);
            if (place >= 0 && departed.add(s.list()[place] ^ Long.rotateLeft(key, 40))) {
              incompatible(v, s, place, i);
            }
          }
        });
  }

  private void incompatible(Versions v, State s, int place, int reader) {
    long a = v.longest(s.life(), place);
    long b = s.list()[place];
    int first = byId.getOrDefault(Elements.txn(a), -1);
    int second = byId.getOrDefault(Elements.txn(b), -1);
    if (appendedAt(first, v.key, s.life(), a, place)
        && appendedAt(second, v.key, s.life(), b, place)) {
      anomaly(
          Kind.LOST_UPDATE,
          name(first)
              + " and "
              + name(second)
              + " both appended to "
              + Keys.name(v.key)
              + "="
              + new State(s.life(), Arrays.copyOf(s.list(), place)),
          first,
          second);
    } else {
      anomaly(
          Kind.INCOMPATIBLE_ORDER,
          name(reader)
              + " read "
              + Keys.name(v.key)
              + "="
              + s
              + ", but elsewhere "
              + Elements.name(a)
              + " is at position "
              + place,
          reader);
    }
  }

  private boolean appendedAt(int i, long key, int life, long element, int place) {
    return i >= 0
        && committed[i]
        && txns.get(i).ops.stream()
            .anyMatch(
                op ->
                    op instanceof Op.Append a
                        && a.key() == key
                        && a.after().life() == life
                        && a.after().list().length == place + 1
                        && a.after().last() == element);
  }

  // --------------------------------------------------------------------------------------- edges

  private void connect(int i) {
    Txn t = txns.get(i);
    Map<Long, Integer> graves = gravesSeen(t);
    replay.run(
        t,
        new Replay.Visitor() {
          @Override
          public void saw(long key, State state, boolean predicate) {
            if (state.present()) {
              exact(i, versions(key), state, predicate ? Graph.PREDICATE : 0);
            } else {
              missing(i, versions(key), -1, graves.get(Keys.grave(key)), 0);
            }
          }

          @Override
          public void ended(long key, long high) {
            gone(i, versions(key), graves.getOrDefault(Keys.grave(key), -1), high);
          }

          @Override
          public void missed(long key, int group) {
            Integer depth = group < 0 ? graves.get(Keys.grave(key)) : null;
            missing(i, versions(key), group, depth, Graph.PREDICATE);
          }

          @Override
          public void wrote(long key, State before, State after) {}

          @Override
          public void wrong(long key, String saw, State own) {}

          @Override
          public void misplaced(long key, State state, int group) {}
        });
  }

  /** Returns the length of each grave that the transaction read before it wrote there. */
  private Map<Long, Integer> gravesSeen(Txn t) {
    Map<Long, Integer> graves = new HashMap<>();
    replay.run(
        t,
        new Replay.Visitor() {
          @Override
          public void saw(long key, State state, boolean predicate) {
            if (Keys.isGrave(key)) {
              graves.putIfAbsent(key, state.list().length);
            }
          }

          @Override
          public void missed(long key, int group) {
            if (Keys.isGrave(key)) {
              graves.putIfAbsent(key, 0);
            }
          }

          @Override
          public void wrote(long key, State before, State after) {}

          @Override
          public void wrong(long key, String saw, State own) {}

          @Override
          public void misplaced(long key, State state, int group) {}
        });
    return graves;
  }

  private void exact(int i, Versions v, State s, int mark) {
    if (repeats(s) || v.departs(s) >= 0) {
      return;
    }
    int n = v.of(s);
    if (v.passing(n) && v.writer(n) != i) {
      anomaly(
          Kind.G1B,
          name(i)
              + " read "
              + Keys.name(v.key)
              + "="
              + s
              + ", but "
              + name(v.writer(n))
              + " changed that later",
          i,
          v.writer(n));
      return; // the cycle of the two would be redundant
    }
    between(i, v, n, n, mark);
  }

  /** Adds the edges of a read that did not find a key, or not in a group. */
  private void missing(int i, Versions v, int group, @Nullable Integer grave, int mark) {
    if (grave != null && !Keys.isGrave(v.key)) {
      int n = v.dead(grave);
      if (n >= 0 && !v.passing(n)) {
        between(i, v, n, n, mark | Graph.MISSING);
        return;
      }
    }
    int a = v.without(group, true);
    int b = v.mayBeWithout(group) ? v.count() : v.without(group, false);
    open += a == b ? 0 : 1;
    between(i, v, a, b, mark | Graph.MISSING);
  }

  /** Adds the edges of a read that did not find an expiring list. */
  private void gone(int i, Versions v, int life, long high) {
    boolean maybe = v.mayHaveEnded(high);
    int a = maybe ? 0 : v.ended(life, high, true);
    int b = maybe ? v.lastOf(life) : v.ended(life, high, false);
    if (b < 0) {
      anomaly(
          Kind.IMPOSSIBLE_READ,
          name(i)
              + " did not find "
              + Keys.name(v.key)
              + " by "
              + high
              + (life < 0 ? "" : ", in life " + life)
              + ", which was not expired",
          i);
      return;
    }
    open += a == b ? 0 : 1;
    between(i, v, a, b, Graph.MISSING);
  }

  private void between(int i, Versions v, int a, int b, int mark) {
    if (a > 0) {
      graph.add(v.writer(a), i, Graph.WR | mark, v, a);
    }
    if (b + 1 < v.count()) {
      graph.add(i, v.writer(b + 1), Graph.RW | mark, v, b + 1);
    }
  }

  /** Orders acknowledged transactions before those that began after a crash. */
  private void crash(int i) {
    Txn t = txns.get(i);
    if (!t.barrier) {
      return;
    }
    for (int n = 0; n < committed.length; n++) {
      Txn before = txns.get(n);
      if (before.outcome == Txn.Outcome.OK && before.completed - t.invoked < 0) {
        graph.add(n, i, Graph.CRASH, null, 0);
      }
    }
  }

  // -------------------------------------------------------------------------------------- cycles

  private void search() {
    boolean[] members = new boolean[txns.size()];
    for (int[] c : graph.components(Graph.WW)) {
      shortest(c, members, Graph.WW, Graph.WW);
    }
    for (int[] c : graph.components(Graph.WW | Graph.WR)) {
      shortest(c, members, Graph.WR, Graph.WW | Graph.WR);
    }
    for (int[] c : graph.components(Graph.ALL)) {
      if (!shortest(c, members, Graph.RW, Graph.WW | Graph.WR)) {
        shortest(c, members, Graph.RW, Graph.ALL);
      }
    }
    if (anomalies.isEmpty()) {
      for (int[] c : graph.components(Graph.ALL | Graph.CRASH)) {
        shortest(c, members, Graph.CRASH, Graph.ALL | Graph.CRASH);
      }
    }
  }

  /**
   * Reports the shortest cycle that starts with an edge of kind {@code first} and continues with
   * edges of {@code kinds}; returns whether there is one.
   */
  private boolean shortest(int[] component, boolean[] members, int first, int kinds) {
    searched++;
    for (int v : component) {
      members[v] = true;
    }
    int[] best = null;
    int[] starts = graph.within(component, members, first);
    for (int n = 0; n < starts.length && (n < SEARCHES_MAX || best == null); n++) {
      int[] cycle =
          graph.cycle(starts[n], kinds, members, best == null ? Integer.MAX_VALUE : best.length);
      best = cycle == null ? best : cycle;
    }
    for (int v : component) {
      members[v] = false;
    }
    if (best == null) {
      return false;
    }
    tell(best);
    return true;
  }

  private void tell(int[] cycle) {
    int rw = 0;
    boolean written = false;
    boolean predicate = false;
    boolean crash = false;
    StringBuilder text = new StringBuilder();
    int[] who = new int[cycle.length];
    for (int n = 0; n < cycle.length; n++) {
      int e = cycle[n];
      who[n] = graph.from(e);
      boolean isRw = (graph.kind(e) & Graph.RW) != 0;
      rw += isRw ? 1 : 0;
      written |= (graph.kind(e) & Graph.WR) != 0;
      crash |= (graph.kind(e) & Graph.CRASH) != 0;
      predicate |= isRw && (graph.kind(e) & Graph.PREDICATE) != 0;
      text.append(n == 0 ? "" : "; ").append(words(e));
    }
    anomaly(kind(cycle, crash, rw, written, predicate), text.toString(), who);
  }

  private Kind kind(int[] cycle, boolean crash, int rw, boolean written, boolean predicate) {
    if (crash) {
      return Kind.LOST_COMMIT;
    }
    if (rw == 0) {
      return written ? Kind.G1C : Kind.G0;
    }
    if (rw == 1) {
      return isLostUpdate(cycle) ? Kind.LOST_UPDATE : Kind.G_SINGLE;
    }
    return predicate ? Kind.G2 : Kind.G2_ITEM;
  }

  /**
   * Returns whether one transaction read what the other overwrote, and then overwrote it itself.
   */
  private boolean isLostUpdate(int[] cycle) {
    return cycle.length == 2
        && (graph.kind(cycle[1]) & Graph.WW) != 0
        && graph.key(cycle[0]) == graph.key(cycle[1]);
  }

  private String words(int e) {
    String from = name(graph.from(e));
    String to = name(graph.to(e));
    if ((graph.kind(e) & Graph.CRASH) != 0) {
      return from + " was acknowledged before the crash, and " + to + " began after it";
    }
    Versions v = graph.key(e);
    int n = graph.version(e);
    boolean missing = (graph.kind(e) & Graph.MISSING) != 0;
    if ((graph.kind(e) & Graph.WW) != 0) {
      return from + " " + v.describeWrite(n) + " before " + to + " " + v.describeWrite(n + 1);
    }
    if ((graph.kind(e) & Graph.WR) != 0) {
      return from
          + " "
          + v.describeWrite(n)
          + " before "
          + to
          + (missing
              ? " read and did not find it"
              : " read " + Keys.name(v.key) + "=" + v.state(n));
    }
    return from
        + (missing
            ? " did not find " + Keys.name(v.key)
            : " read " + Keys.name(v.key) + "=" + v.state(n - 1))
        + " before "
        + to
        + " "
        + v.describeWrite(n);
  }
}
