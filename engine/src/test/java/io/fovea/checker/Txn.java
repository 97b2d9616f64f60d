package io.fovea.checker;

import java.util.ArrayList;
import java.util.List;

/** One attempt at a transaction. Written by its thread, read after that has ended. */
final class Txn {
  /** The outcome, as far as it is known. */
  enum Outcome {
    /** Committed. */
    OK,
    /** Not committed, and never will be. */
    FAIL,
    /** Unknown, because of a crash. */
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
   * Whether it follows a crash: then it must see all that was acknowledged before it began.
   * Otherwise real-time order is not required, since it is not guaranteed.
   */
  boolean barrier;

  Txn(long id, int process) {
    this.id = id;
    this.process = process;
  }

  /** Returns a copy with another outcome; the operations are shared. */
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
