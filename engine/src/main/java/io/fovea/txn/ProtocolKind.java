package io.fovea.txn;

/**
 * What makes transactions serializable. {@link ConcurrencyControl} says what each of them decides.
 */
public enum ProtocolKind {
  /** Optimistic, with a commit timestamp that follows from what was read and written. */
  TICTOC,
  /** Strict timestamp ordering: the order is that of the begins. */
  STO,
  /** Multi-version timestamp ordering: the same, but who comes too late to read sees the past. */
  MVTO,
  /** Two-phase locking; a transaction that does not get a lock at once aborts. */
  TWO_PHASE_LOCKING,
  /** Optimistic with serial validation, after Kung and Robinson. */
  OCC,
  /** Optimistic, every read validated against now, as in Silo. */
  SILO
}
