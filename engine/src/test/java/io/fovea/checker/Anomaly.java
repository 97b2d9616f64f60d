package io.fovea.checker;

import java.util.List;

/**
 * Something that can't be in a serializable history.
 *
 * @param kind which kind
 * @param text what happened, in words
 * @param txns who took part
 */
record Anomaly(Kind kind, String text, List<Long> txns) {
  /** After Adya, and what Elle adds to that. */
  enum Kind {
    /** A transaction did not see its own write. */
    INTERNAL,
    /** An element that nobody has appended, or one that is twice in a list. */
    IMPOSSIBLE_READ,
    /** What an aborted transaction has written was read. */
    G1A,
    /** What its writer went on to change was read. */
    G1B,
    /** Two transactions made the same next version of a key. */
    LOST_UPDATE,
    /** Reads of one key that no order of versions explains. */
    INCOMPATIBLE_ORDER,
    /** A cycle of writes. */
    G0,
    /** A cycle of writes and of reads of what was written. */
    G1C,
    /** A cycle with one read of what was overwritten. */
    G_SINGLE,
    /** A cycle with more of those, all of them reads of single keys. */
    G2_ITEM,
    /** A cycle with more of those, one of them a read of an interval or a group. */
    G2,
    /**
     * A transaction has committed, or told its user, though what it found can't have been at one
     * time: a value that it saw free and was told is taken, a row that is always there and was not.
     */
    CONTRADICTION,
    /** What was acknowledged before a crash is not there after it. */
    LOST_COMMIT
  }

  @Override
  public String toString() {
    return kind + ": " + text;
  }
}
