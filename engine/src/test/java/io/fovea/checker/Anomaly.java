package io.fovea.checker;

import java.util.List;

/** Something that no serializable history contains, with the transactions involved. */
record Anomaly(Kind kind, String text, List<Long> txns) {
  /** Kinds of anomalies, after Adya and Elle. */
  enum Kind {
    /** A transaction did not see its own write. */
    INTERNAL,
    /** A read has an element that no transaction appended, or the same element twice. */
    IMPOSSIBLE_READ,
    /** A read of an aborted transaction's write. */
    G1A,
    /** A read of a version that its writer overwrote in the same transaction. */
    G1B,
    /** Two transactions wrote the same next version of a key. */
    LOST_UPDATE,
    /** Reads of one key that no order of versions explains. */
    INCOMPATIBLE_ORDER,
    /** A cycle of ww edges. */
    G0,
    /** A cycle of ww and wr edges. */
    G1C,
    /** A cycle with one rw edge. */
    G_SINGLE,
    /** A cycle with several rw edges, all for reads of single keys. */
    G2_ITEM,
    /** A cycle with several rw edges, at least one for a read of an interval or a group. */
    G2,
    /**
     * A transaction has committed, or returned a result, although no single state contains all that
     * it saw: a free value that was reported as taken, or a permanent row that was missing.
     */
    CONTRADICTION,
    /** A write that was acknowledged before a crash is missing after it. */
    LOST_COMMIT
  }

  @Override
  public String toString() {
    return kind + ": " + text;
  }
}
