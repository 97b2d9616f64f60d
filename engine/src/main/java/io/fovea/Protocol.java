package io.fovea;

/**
 * What makes concurrent transactions serializable. All of them do, phantoms included; they differ
 * in which transactions wait or are aborted, and when.
 *
 * <p>It holds for a database from its opening to its close: two protocols never share a database
 * that is open. The file does not depend on it, so it can be another one each time.
 *
 * @since 0.1.0
 */
public enum Protocol {
  /**
   * Optimistic; the commit timestamp follows from what was read and written, so that many conflicts
   * are no conflicts. The default. Source: Yu, Pavlo, Sanchez, Devadas: TicToc, SIGMOD 2016.
   */
  TICTOC,
  /**
   * Strict timestamp ordering: the order is that of the begins, and who comes too late for it is
   * aborted at once. Locks what it writes until its end. Source: Bernstein, Goodman:
   * Timestamp-based algorithms for concurrency control, VLDB 1980.
   */
  STO,
  /**
   * Multi-version timestamp ordering: as {@link #STO}, but who comes too late to read what is there
   * reads what was there before. Keeps a bounded number of older versions in memory. Source: Reed:
   * Naming and synchronization in a decentralized computer system, MIT 1978.
   */
  MVTO,
  /**
   * Shared and exclusive locks until the end; who does not get one at once is aborted. Source:
   * Eswaran, Gray, Lorie, Traiger: The notions of consistency and predicate locks, CACM 1976.
   */
  TWO_PHASE_LOCKING,
  /**
   * Optimistic; a commit is checked against the write sets of those that committed since it began,
   * one commit at a time. Source: Kung, Robinson: On optimistic methods for concurrency control,
   * ACM TODS 1981.
   */
  OCC,
  /**
   * Optimistic; at its commit a transaction checks that nothing that it read was written since.
   * Source: Tu, Zheng, Kohler, Liskov, Madden: Speedy transactions in multicore in-memory
   * databases, SOSP 2013.
   */
  SILO
}
