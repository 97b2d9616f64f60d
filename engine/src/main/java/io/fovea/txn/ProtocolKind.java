package io.fovea.txn;

/** What makes transactions serializable. {@link Control} says what each of them decides. */
public enum ProtocolKind {
  /** Optimistic, with a commit timestamp that follows from what was read and written. */
  TICTOC,
  /** Strict timestamp ordering: the order is that of the begins. */
  STO,
  /** Two-phase locking; who does not get a lock at once aborts. */
  TWO_PHASE_LOCKING,
  /** Optimistic with serial validation, after Kung and Robinson. */
  OCC,
  /** Optimistic, every read validated against now, as in Silo. */
  SILO
}
