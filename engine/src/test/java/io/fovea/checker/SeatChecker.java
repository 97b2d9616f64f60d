package io.fovea.checker;

import io.fovea.checker.Anomaly.Kind;
import io.fovea.checker.SeatTxn.Looked;
import io.fovea.checker.SeatTxn.Saw;
import io.fovea.checker.SeatTxn.Where;
import io.fovea.checker.SeatTxn.Wrote;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a history of {@link Seats} is serializable.
 *
 * <p>Rows carry version numbers, so the order of versions is known. Edges are those of {@link
 * Checker}. A read of seats that did not find a row saw one of the versions that were in other
 * seats: it follows the first of those and precedes the successor of the last.
 *
 * <p>A transaction that threw an exception to its caller counts as a reader, since the exception
 * depends on what it saw. So does one that committed although it saw an impossible state.
 */
final class SeatChecker {
  private static final int SEARCHES_MAX = 50;
  private static final int ANOMALIES_MAX = 50;
  private static final int VERSION_BITS = 20;

  private final List<SeatTxn> txns = new ArrayList<>();
  private final List<SeatTxn> failed;
  private final int rows;

  /** The writers of each row's versions: nodes; -1: none; node 0 wrote the initial rows. */
  private final List<List<Integer>> writers = new ArrayList<>();

  private final List<List<Integer>> seats = new ArrayList<>();
  private final List<Anomaly> anomalies = new ArrayList<>();
  private final Graph graph;
  private long open;

  private SeatChecker(int rows, List<SeatTxn> all) {
    this.rows = rows;
    txns.add(new SeatTxn(0));
    all.stream().filter(t -> t.committed).forEach(txns::add);
    failed = all.stream().filter(t -> !t.committed || t.told).toList();
    graph = new Graph(txns.size());
  }

  /**
   * Checks a history that began with row n in seat n, for all rows; takes all attempts in any
   * order.
   */
  static Checker.Report check(int rows, List<SeatTxn> all) {
    return new SeatChecker(rows, all).run();
  }

  private Checker.Report run() {
    long versions = order();
    if (anomalies.isEmpty()) {
      for (int t = 1; t < txns.size(); t++) {
        edges(t);
      }
    }
    int searched = cycles();
    return new Checker.Report(
        anomalies, txns.size() - 1, 0, graph.edges(), rows, versions, open, searched);
  }

  private void report(Kind kind, String what, SeatTxn... who) {
    if (anomalies.size() < ANOMALIES_MAX) {
      anomalies.add(new Anomaly(kind, what, Arrays.stream(who).map(t -> t.id).toList()));
    }
  }

  // ----------------------------------------------------------------------------- versions

  private long order() {
    long versions = 0;
    List<Map<Integer, Integer>> by = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      by.add(new HashMap<>());
    }
    for (int t = 1; t < txns.size(); t++) {
      if (txns.get(t).told) {
        continue;
      }
      for (Map.Entry<Integer, Wrote> w : txns.get(t).writes.entrySet()) {
        Integer other = by.get(w.getKey()).put(w.getValue().version(), t);
        if (other != null) {
          String what = "both wrote version " + w.getValue().version() + " of row " + w.getKey();
          report(Kind.LOST_UPDATE, txns.get(other) + " and " + txns.get(t) + " " + what);
        }
      }
    }
    for (int row = 0; row < rows; row++) {
      List<Integer> w = new ArrayList<>(List.of(0));
      List<Integer> s = new ArrayList<>(List.of(row));
      for (int version = 1; by.get(row).containsKey(version); version++) {
        int t = by.get(row).get(version);
        w.add(t);
        s.add(txns.get(t).writes.get(row).seat());
      }
      if (w.size() <= by.get(row).size()) {
        report(Kind.IMPOSSIBLE_READ, "row " + row + " lacks version " + w.size());
      }
      versions += w.size();
      writers.add(w);
      seats.add(s);
    }
    return versions;
  }

  // -------------------------------------------------------------------------------- edges

  private void edges(int t) {
    SeatTxn txn = txns.get(t);
    if (txn.contradiction != null) {
      String how = txn.told ? " threw: " : " has committed, and saw: ";
      report(Kind.CONTRADICTION, txn + how + txn.contradiction, txn);
    }
    if (txn.internal != null) {
      report(Kind.INTERNAL, txn + ": " + txn.internal, txn);
    }
    Map<Integer, Integer> read = new HashMap<>();
    for (Saw r : txn.reads) {
      if (existed(txn, r)) {
        read.put(r.row(), r.seat());
        edge(r.row(), r.version(), t, false);
      }
    }
    for (Looked look : txn.looks) {
      for (int row = 0; row < rows; row++) {
        if (!look.found().contains(row)) {
          missed(t, row, look, read.get(row));
        }
      }
    }
    if (!txn.told) {
      txn.writes.forEach(
          (row, w) ->
              graph.add(writer(row, w.version() - 1), t, Graph.WW, null, code(row, w.version())));
    }
  }

  private int writer(int row, int version) {
    return writers.get(row).get(version);
  }

  private static int code(int row, int version) {
    return row << VERSION_BITS | version & (1 << VERSION_BITS) - 1;
  }

  /** Returns whether a row ever had the state that was found; otherwise reports it. */
  private boolean existed(SeatTxn txn, Saw r) {
    String what = txn + " found row " + r.row() + " as " + r;
    if (r.version() >= writers.get(r.row()).size()) {
      boolean aborted = failed.stream().anyMatch(f -> f.id == r.writer());
      report(aborted ? Kind.G1A : Kind.IMPOSSIBLE_READ, what, txn);
      return false;
    }
    SeatTxn by = txns.get(writer(r.row(), r.version()));
    if (by.id != r.writer() || seats.get(r.row()).get(r.version()) != r.seat()) {
      report(Kind.G1B, what + ", which " + by + " overwrote", txn, by);
      return false;
    }
    return true;
  }

  /** Adds the edges of a read: after the version's writer, before the writer of the next one. */
  private void edge(int row, int version, int t, boolean missing) {
    afterAndBefore(row, version, version, t, missing);
  }

  private void afterAndBefore(int row, int first, int last, int t, boolean missing) {
    int mark = missing ? Graph.PREDICATE | Graph.MISSING : 0;
    if (first > 0) {
      graph.add(writer(row, first), t, Graph.WR | mark, null, code(row, first));
    }
    if (last + 1 < writers.get(row).size()) {
      graph.add(t, writer(row, last + 1), Graph.RW | mark, null, code(row, last + 1));
    }
  }

  private void missed(int t, int row, Looked look, @Nullable Integer read) {
    SeatTxn txn = txns.get(t);
    Where where = look.where();
    Wrote own = look.own().get(row);
    if (own != null || read != null) {
      int seat = own != null ? own.seat() : read;
      if (where.has(seat)) {
        report(
            Kind.INTERNAL,
            txn + " had read row " + row + " in seat " + seat + ", not at " + where,
            txn);
      }
      return; // the read itself has its edges
    }
    List<Integer> of = seats.get(row);
    int first = 0;
    int last = of.size() - 1;
    while (first <= last && where.has(of.get(first))) {
      first++;
    }
    while (last > first && where.has(of.get(last))) {
      last--;
    }
    if (first > last) {
      report(Kind.IMPOSSIBLE_READ, txn + " did not find row " + row + " at " + where, txn);
      return;
    }
    boolean told = first > 0 || last < of.size() - 1;
    open += told && first < last ? 1 : 0;
    afterAndBefore(row, first, last, t, true);
  }

  // ------------------------------------------------------------------------------- cycles

  private int cycles() {
    graph.arrange();
    List<int[]> components = graph.components(Graph.ALL);
    int searched = 0;
    for (int[] component : components) {
      if (searched++ == SEARCHES_MAX) {
        break;
      }
      boolean[] members = new boolean[txns.size()];
      for (int v : component) {
        members[v] = true;
      }
      int[] best = null;
      for (int e : graph.within(component, members, Graph.ALL)) {
        int bound = best == null ? Integer.MAX_VALUE : best.length;
        int[] cycle = graph.cycle(e, Graph.ALL, members, bound);
        best = cycle == null ? best : cycle;
        if (best != null && best.length == 2) {
          break;
        }
      }
      if (best != null) {
        report(kind(best), text(best));
      }
    }
    return searched;
  }

  private Kind kind(int[] cycle) {
    int rw = 0;
    boolean wr = false;
    boolean predicate = false;
    for (int e : cycle) {
      rw += (graph.kind(e) & Graph.RW) != 0 ? 1 : 0;
      wr |= (graph.kind(e) & Graph.WR) != 0;
      predicate |= (graph.kind(e) & Graph.RW) != 0 && (graph.kind(e) & Graph.PREDICATE) != 0;
    }
    return switch (rw) {
      case 0 -> wr ? Kind.G1C : Kind.G0;
      case 1 -> Kind.G_SINGLE;
      default -> predicate ? Kind.G2 : Kind.G2_ITEM;
    };
  }

  private String text(int[] cycle) {
    Set<String> steps = new HashSet<>();
    StringBuilder s = new StringBuilder();
    for (int e : cycle) {
      int k = graph.kind(e);
      String row = " row " + (graph.version(e) >>> VERSION_BITS);
      String version = ", version " + (graph.version(e) & (1 << VERSION_BITS) - 1);
      String missing = (k & Graph.MISSING) != 0 ? " by not finding it" : "";
      SeatTxn a = txns.get(graph.from(e));
      SeatTxn b = txns.get(graph.to(e));
      String step =
          (k & Graph.RW) != 0
              ? a + " saw" + row + missing + " before " + b + " wrote it" + version
              : (k & Graph.WR) != 0
                  ? a + " wrote" + row + version + " before " + b + " saw it" + missing
                  : a + " and then " + b + " wrote" + row + version;
      if (steps.add(step)) {
        s.append(s.isEmpty() ? "" : "; ").append(step);
      }
    }
    return s.toString();
  }
}
