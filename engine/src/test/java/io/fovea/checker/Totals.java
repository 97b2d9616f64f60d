package io.fovea.checker;

/** The sum of the reports of several rounds. */
final class Totals {
  private long rounds;
  private long committed;
  private long unknown;
  private long edges;
  private long versions;
  private long open;
  private long cycles;

  void add(Checker.Report r) {
    rounds++;
    committed += r.committed();
    unknown += r.unknown();
    edges += r.edges();
    versions += r.versions();
    open += r.open();
    cycles += r.cycles();
  }

  @Override
  public String toString() {
    return rounds
        + " histories, "
        + committed
        + " transactions committed, "
        + unknown
        + " with unknown outcome, "
        + versions
        + " versions, "
        + edges
        + " edges, "
        + open
        + " ambiguous reads, "
        + cycles
        + " components of more than one transaction, no anomaly";
  }
}
