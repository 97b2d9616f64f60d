package io.fovea.config;

/**
 * The protocol that makes concurrent transactions serializable. All protocols exclude phantoms too.
 * They differ in which transactions wait or are aborted, and when.
 *
 * <p>A database uses one protocol while it is open. The file does not depend on it, so another
 * protocol may be chosen at each opening.
 *
 * @since 0.1.0
 */
public enum Protocol {
  /**
   * Optimistic. The commit timestamp is computed from what was read and written, which avoids many
   * aborts. The default. Source: Yu, Pavlo, Sanchez, Devadas: TicToc, SIGMOD 2016.
   */
  TICTOC,
  /**
   * Strict timestamp ordering, in the order in which transactions begin. An operation that comes
   * too late aborts its transaction at once. Written records are locked until the transaction ends.
   * Source: Bernstein, Goodman: Timestamp-based algorithms for concurrency control, VLDB 1980.
   */
  STO,
  /**
   * Multi-version timestamp ordering: like {@link #STO}, but a read that comes too late for the
   * newest version gets an older one. Keeps a bounded number of older versions in memory. Source:
   * Reed: Naming and synchronization in a decentralized computer system, MIT 1978.
   */
  MVTO,
  /**
   * Shared and exclusive locks, held until the transaction ends. A transaction that does not get a
   * lock at once is aborted. Source: Eswaran, Gray, Lorie, Traiger: The notions of consistency and
   * predicate locks, CACM 1976.
   */
  TWO_PHASE_LOCKING,
  /**
   * Optimistic. A transaction is checked against the write sets of those that have committed since
   * it began, one commit at a time. Source: Kung, Robinson: On optimistic methods for concurrency
   * control, ACM TODS 1981.
   */
  OCC,
  /**
   * Optimistic. A commit validates that nothing the transaction read has been overwritten since.
   * Source: Tu, Zheng, Kohler, Liskov, Madden: Speedy transactions in multicore in-memory
   * databases, SOSP 2013.
   */
  SILO
}
