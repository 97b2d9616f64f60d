package io.fovea.churn;

/** The kinds of work, which cover what an application does repeatedly. */
enum Activity {
  /** Fifty transfers between accounts, some of which are closed and opened. */
  TRANSFERS(20),
  /** The sum of all accounts, by table and by index, in both directions. */
  SUMS(6),
  /** A batch of keys, read at once. */
  BATCHES(6),
  /** A table with indexes is created, filled, read, and dropped. */
  TABLES(5),
  /** An index over existing records is built, used, and dropped. */
  INDEXES(3),
  /** A transaction with a hundred cursors, most of which are never closed. */
  CURSORS(5),
  /** Values of up to a megabyte are stored, scanned and deleted. */
  LONG_VALUES(3),
  /** Thousands of records in one transaction. */
  WIDE_TRANSACTION(2),
  /** Many virtual threads, each with its own transactions. */
  VIRTUAL_THREADS(4),
  /** Short-lived platform threads with some transactions. */
  PLATFORM_THREADS(4),
  /** Transactions that end in each way except a commit. */
  FAILURES(8),
  /** An explicit checkpoint. */
  CHECKPOINT(2),
  /** A backup into a directory, opened and read. */
  BACKUP(1),
  /** A backup that retains more log than its limit. */
  SLOW_BACKUP(1),
  /** A snapshot, read before and after more writes than it keeps in memory. */
  SNAPSHOT(3),
  /** Records are written, and deleted by their range. */
  RANGE(3),
  /** A database with a file is created, closed, reopened, read, and deleted. */
  DATABASE(3),
  /** A database in memory is opened and closed. */
  MEMORY_DATABASE(3);

  /** The relative frequency. */
  final int weight;

  Activity(int weight) {
    this.weight = weight;
  }
}
