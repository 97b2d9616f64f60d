package io.fovea.checker;

import java.util.ArrayList;
import java.util.List;

/** One attempt at a transaction. Written by the thread that runs it, read when that has ended. */
final class Txn {
  /** What is known of its end. */
  enum Outcome {
    /** It has committed. */
    OK,
    /** It has not, and never will. */
    FAIL,
    /** Nobody told: a crash came in between. */
    INFO
  }

  final long id;
  final int process;
  final List<Op> ops = new ArrayList<>(6);
  long invoked;
  long completed;
  Outcome outcome = Outcome.INFO;
  boolean readOnly;

  /**
   * Whether it follows a crash: all that was acknowledged before it began must be there for it.
   * Else nothing is asked about the order in time, for that is not promised.
   */
  boolean barrier;

  Txn(long id, int process) {
    this.id = id;
    this.process = process;
  }

  /** The same with another outcome; the operations are shared. */
  Txn as(Outcome other) {
    Txn t = new Txn(id, process);
    t.ops.addAll(ops);
    t.invoked = invoked;
    t.completed = completed;
    t.readOnly = readOnly;
    t.barrier = barrier;
    t.outcome = other;
    return t;
  }

  @Override
  public String toString() {
    return "T" + id + " " + outcome + " " + ops;
  }
}
