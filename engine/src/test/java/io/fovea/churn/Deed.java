package io.fovea.churn;

/** One kind of work: everything that an application may do again and again, by kind. */
enum Deed {
  /** Fifty transfers between accounts, some of which are closed and opened. */
  TRANSFERS(20),
  /** What all accounts hold, by table and by index, in both directions. */
  SUMS(6),
  /** A batch of keys that is read at once. */
  BATCHES(6),
  /** A table is created with its indexes, filled, looked at, and dropped. */
  TABLES(5),
  /** An index is built from the records of a table, used, and dropped. */
  INDEXES(3),
  /** A transaction with a hundred cursors, most of which nobody closes. */
  CURSORS(5),
  /** Values of up to a megabyte are stored, scanned and deleted. */
  LONG_VALUES(3),
  /** Thousands of records in one transaction. */
  WIDE_TRANSACTION(2),
  /** Many virtual threads, each with transactions of its own. */
  VIRTUAL_THREADS(4),
  /** Platform threads that come, run some transactions, and end. */
  PLATFORM_THREADS(4),
  /** Transactions that end in each way but a commit. */
  FAILURES(8),
  /** A checkpoint that somebody asks for. */
  CHECKPOINT(2),
  /** A backup into a directory, opened and looked at. */
  BACKUP(1),
  /** A backup that holds the log for longer than the log is large. */
  SLOW_BACKUP(1),
  /** A snapshot that is read before and after others have written, more than it keeps in memory. */
  SNAPSHOT(3),
  /** Records are written, and deleted by their range. */
  RANGE(3),
  /** A database with a file is created, closed, opened again, looked at, and deleted. */
  DATABASE(3),
  /** A database in memory is opened and closed. */
  MEMORY_DATABASE(3);

  /** How often, compared with the others. */
  final int weight;

  Deed(int weight) {
    this.weight = weight;
  }
}
