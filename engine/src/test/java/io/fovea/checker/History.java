package io.fovea.checker;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The transactions of one database, in the order of their begins. */
final class History {
  private final List<Txn> txns = new ArrayList<>();

  History() {}

  History(List<Txn> txns) {
    addAll(txns);
  }

  void addAll(List<Txn> more) {
    txns.addAll(more);
    txns.sort(Comparator.comparingLong(t -> t.invoked));
  }

  List<Txn> txns() {
    return txns;
  }

  /** Returns the history without acknowledgements, for a crash that may have undone them. */
  History unpromised() {
    return new History(
        txns.stream().map(t -> t.outcome == Txn.Outcome.OK ? t.as(Txn.Outcome.INFO) : t).toList());
  }
}
