package io.fovea.checker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides whether a small history is serializable by trying all orders of its transactions: slow,
 * simple, and independent of {@link Checker}.
 */
final class SerialOracle {
  private final List<Txn> txns;

  private SerialOracle(List<Txn> txns) {
    this.txns = txns;
  }

  /** Considers the committed transactions, beginning with empty tables. */
  static boolean isSerializable(History history) {
    List<Txn> ok = new ArrayList<>();
    for (Txn t : history.txns()) {
      if (t.outcome == Txn.Outcome.OK) {
        ok.add(t);
      }
    }
    return new SerialOracle(ok).anyOrder(new HashMap<>(), new boolean[ok.size()], 0);
  }

  private boolean anyOrder(Map<Long, State> before, boolean[] used, int done) {
    if (done == txns.size()) {
      return true;
    }
    for (int i = 0; i < used.length; i++) {
      if (used[i]) {
        continue;
      }
      Map<Long, State> state = new HashMap<>(before);
      if (apply(txns.get(i), state)) {
        used[i] = true;
        if (anyOrder(state, used, done + 1)) {
          return true;
        }
        used[i] = false;
      }
    }
    return false;
  }

  private static boolean apply(Txn t, Map<Long, State> state) {
    for (Op op : t.ops) {
      if (!fits(op, state)) {
        return false;
      }
    }
    return true;
  }

  private static boolean fits(Op op, Map<Long, State> state) {
    switch (op) {
      case Op.Read r -> {
        return state.getOrDefault(r.key(), State.ABSENT).equals(r.state());
      }
      case Op.Append a -> {
        State now = state.getOrDefault(a.key(), State.ABSENT);
        long e = a.after().last();
        State after = now.present() ? now.append(e) : State.of(a.after().life(), e);
        state.put(a.key(), after);
        return after.equals(a.after());
      }
      case Op.Delete d -> {
        return d.before().equals(state.remove(d.key()));
      }
      case Op.Scan s -> {
        Map<Long, State> there = new TreeMap<>();
        state.forEach(
            (k, v) -> {
              if (k >= s.low() && k <= s.high()) {
                there.put(k, v);
              }
            });
        return there.equals(s.found());
      }
      case Op.Timed r -> {
        // without times: an expired list may be present or not
        State now = state.getOrDefault(r.key(), State.ABSENT);
        return !r.state().present() || now.equals(r.state());
      }
      case Op.Ends e -> {
        return true;
      }
      case Op.Lookup l -> {
        State now = state.get(l.key());
        boolean there = now != null && Keys.group(now.last()) == l.group();
        return l.state().equals(there ? now : State.ABSENT);
      }
      case Op.GroupScan s -> {
        Map<Long, State> there = new TreeMap<>();
        state.forEach(
            (k, v) -> {
              if (!Keys.isGrave(k)
                  && Keys.generation(k) == s.generation()
                  && Keys.group(v.last()) == s.group()) {
                there.put(k, v);
              }
            });
        return there.equals(s.found());
      }
    }
  }
}
