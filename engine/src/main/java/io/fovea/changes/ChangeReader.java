package io.fovea.changes;

import io.fovea.btree.LoggedChains;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.DurableLog;
import io.fovea.wal.DurableRecords;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the changes of commits, starting at a position in the log.
 *
 * <pre>
 *   log        TABLES ... SCHEMA ... │ part of B · A · SCHEMA · end of B · ...        durable
 *              names: ─────────────► │                                                   ▲
 *              position.tables       position.lsn: A, tables, B  ─────────────────► not beyond
 * </pre>
 *
 * <p><b>Exactly once.</b> A commit is delivered at its last record. A position is the end of that
 * record, and commits are delivered in the order of their last records. So no commit after a
 * position was delivered before it. Parts of a large commit, and pages of its long values, may
 * begin before the position: when the commit's last record is reached, they are read again from the
 * start that this record names.
 *
 * <p><b>Only durable commits.</b> A position is never beyond the durable position, so no crash
 * undoes it, and its LSN is never assigned to another record. Records undone by a crash were never
 * delivered.
 *
 * <p><b>Order.</b> Commits are delivered in log order. If two commits write the same key, or the
 * second reads what the first has written, that is also their serial order: the first commit's
 * record is appended before its changes become visible. If the first only reads what the second
 * then overwrites, the order may be reversed.
 *
 * <p>Used by one thread at a time.
 */
public final class ChangeReader implements AutoCloseable {
  /** The number of records read before segments are unpinned briefly. */
  private static final int RECORDS_PER_PIN = 4096;

  private final String name;
  private final UUID id;
  private final LongSupplier keptFrom;
  private final DurableRecords records;

  /** Reads parts of a commit before its last record. */
  private final DurableRecords earlier;

  private final TableNames names = new TableNames();
  private final CommitCursor cursor = new CommitCursor();
  private final LoggedChains chains;

  /** Commits that end at or before this LSN were delivered, or have nothing to deliver. */
  private long from;

  /** Where reading continues; before {@link #from} while only names are tracked. */
  private long here;

  /** The start of the list of tables from which the names come. */
  private long tables;

  /** Whether that list must be read next: at the beginning, and after a failure. */
  private boolean fresh = true;

  /**
   * Creates a reader.
   *
   * @param name the database's name, for messages
   * @param log its log
   * @param keptFrom returns the start of the retained changes; {@link Long#MAX_VALUE} for none
   * @param id the database's id
   * @param pageSize the size of its pages
   * @param at the position to start from
   * @throws ChangesLostException if the log no longer contains the changes after the position
   */
  public ChangeReader(
      String name, DurableLog log, LongSupplier keptFrom, UUID id, int pageSize, ChangePoint at) {
    this.name = name;
    this.id = id;
    this.keptFrom = keptFrom;
    this.from = at.lsn();
    this.here = at.tables();
    this.tables = at.tables();
    this.chains = new LoggedChains(pageSize);
    if (!at.id().equals(id)) {
      throw new ChangesLostException(
          name, "the position belongs to database " + at.id() + ", but this is " + id);
    }
    if (at.lsn() > log.durableLsn()) {
      throw new ChangesLostException(
          name,
          "the position is beyond the end of the log, "
              + log.durableLsn()
              + ": it belongs to a copy of this database that has diverged, or the file was"
              + " replaced by an older one");
    }
    requireKept(at.tables());
    this.records = log.records();
    this.earlier = log.records();
  }

  /**
   * Searches for a position after a list of tables.
   *
   * @param name the database's name, for messages
   * @param records a reader of the log
   * @param lsn where to begin: the start of a record
   * @param id the database
   * @param last whether to find the last list instead of the first
   * @return the position; null if there is no complete list
   * @throws CorruptionException if the log is damaged
   */
  public static @Nullable ChangePoint afterTables(
      String name, DurableRecords records, long lsn, UUID id, boolean last) {
    if (!records.begin(lsn)) {
      throw unseen(name, lsn);
    }
    ChangePoint found = null;
    long begins = 0;
    try {
      while ((found == null || last) && records.next()) {
        if (records.type() == RecordType.TABLES) {
          int how =
              TableNames.listFlags(
                  records.segment(), records.body(), records.bodyLength(), records.start());
          begins = (how & TableNames.FIRST) != 0 ? records.start() : begins;
          if ((how & TableNames.LAST) != 0 && begins > 0) {
            found = new ChangePoint(id, begins, records.recordEnd());
          }
        }
      }
      return found;
    } finally {
      records.end();
    }
  }

  private void requireKept(long lsn) {
    long kept = keptFrom.getAsLong();
    if (kept == Long.MAX_VALUE) {
      throw new ChangesLostException(
          name,
          "the log retains no changes yet: retention begins with the first "
              + "change made with LogOptions.changeRetentionBytes");
    }
    if (lsn < kept) {
      throw lost(lsn, kept);
    }
  }

  /**
   * Returns why a record cannot be read: it is no longer retained, or its segment was not found
   * because a header is unreadable.
   */
  private FoveaException missing(long lsn) {
    long kept = keptFrom.getAsLong();
    return lsn < kept ? lost(lsn, kept) : unseen(name, lsn);
  }

  private static CorruptionException unseen(String name, long lsn) {
    return new CorruptionException(
        "segments of the log of " + name + " that contain the record at LSN " + lsn, -1, -1, 1, 0);
  }

  private ChangesLostException lost(long lsn, long kept) {
    return new ChangesLostException(
        name,
        "changes are needed from LSN "
            + lsn
            + ", but retained only from LSN "
            + kept
            + ": LogOptions.changeRetentionBytes limits what is retained, "
            + "and nothing is retained if the database is opened without it, "
            + "or the storage is full");
  }

  /**
   * Returns the position after the last commit that {@link #next} has returned, or a later one with
   * nothing to deliver in between.
   */
  public ChangePoint position() {
    return new ChangePoint(id, tables, Math.max(from, here));
  }

  /**
   * Returns the position beyond which the log must be durable for {@link #next} to find anything.
   */
  public long readLsn() {
    return here;
  }

  /**
   * Returns the next commit that has changed tables.
   *
   * @param stop ends the call when true; called from time to time
   * @return the commit; null if no further commit is durable, or the call was stopped
   * @throws ChangesLostException if the log no longer contains it
   * @throws CorruptionException if the log is damaged
   * @throws io.fovea.error.StorageException if the log cannot be read; the next call tries again
   */
  public @Nullable LoggedCommit next(BooleanSupplier stop) {
    while (!stop.getAsBoolean()) {
      if (!records.begin(here)) {
        throw missing(here);
      }
      try {
        for (int n = 0; n < RECORDS_PER_PIN; n++) {
          if (!records.next()) {
            return null;
          }
          requireList();
          List<LoggedChange> changes = record();
          here = records.recordEnd();
          if (!changes.isEmpty() && here > from) {
            return new LoggedCommit(changes, position());
          }
        }
      } finally {
        records.end();
      }
    }
    return null;
  }

  /** Checks that the position begins with a list of tables, as valid positions do. */
  private void requireList() {
    if (fresh && (records.start() != tables || records.type() != RecordType.TABLES)) {
      throw new ChangesLostException(
          name, "there is no list of tables at LSN " + tables + ", to which the position refers");
    }
    fresh = false;
  }

  /** Returns the changes of the current record, unless they were delivered before. */
  private List<LoggedChange> record() {
    MemorySegment s = records.segment();
    long at = records.body();
    int length = records.bodyLength();
    long lsn = records.start();
    switch (records.type()) {
      case RecordType.COMMIT -> {
        return commit(s, at, length, records.recordEnd() > from);
      }
      case RecordType.SCHEMA -> {
        return names.schema(s, at, length, lsn);
      }
      case RecordType.CATALOG -> names.catalog(s, at, length, lsn);
      case RecordType.TABLES -> {
        long list = names.tables(s, at, length, lsn);
        tables = list > 0 ? list : tables;
      }
      case RecordType.VOID,
          RecordType.COMMIT_PART,
          RecordType.STRUCTURE,
          RecordType.CHAIN,
          RecordType.ALLOCATE,
          RecordType.FREE,
          RecordType.CREATE_TREE,
          RecordType.DROPPED,
          RecordType.COUNTS,
          RecordType.LOADED,
          RecordType.MOVED,
          RecordType.TRUNCATED -> {}
      default ->
          throw new CorruptionException(
              "kind of a log record at LSN " + lsn, -1, -1, RecordType.COMMIT, records.type());
    }
    return List.of();
  }

  private List<LoggedChange> commit(MemorySegment s, long at, int length, boolean report) {
    cursor.open(RecordType.COMMIT, s, at, length);
    long commitId = cursor.id();
    List<LoggedChange> changes = new ArrayList<>();
    if (commitId > 0) {
      changes.addAll(names.committed(commitId));
    }
    if (!report) {
      return changes;
    }
    boolean restart = !changes.isEmpty();
    try {
      for (long i = 0; i < cursor.adopted(); i++) {
        chains.collect(cursor.adopted(i));
      }
      long begins = commitId > 0 ? commitId : Long.MAX_VALUE;
      if (commitId > 0 && cursor.next() && cursor.kind() == CommitRecord.FROM) {
        pages(commitId); // it has long values: parts may name their pages
        cursor.open(RecordType.COMMIT, s, at, length);
      }
      if (chains.isWanted()) {
        begins = Math.min(begins, from());
      }
      if (begins < records.start()) {
        earlier(begins, commitId, changes);
      }
      cursor.open(RecordType.COMMIT, s, at, length);
      operations(changes);
      restart = false;
    } finally {
      chains.clear();
      if (restart) {
        restart(); // tables have their new names, but the change was not delivered
      }
    }
    return changes;
  }

  /** Makes the next call read the list of tables again, and continue from there. */
  private void restart() {
    from = Math.max(from, here);
    here = tables;
    fresh = true;
  }

  /** Returns the LSN at which the pages of the current commit begin, according to its record. */
  private long from() {
    while (cursor.next()) {
      if (cursor.kind() == CommitRecord.FROM) {
        return cursor.from();
      }
    }
    throw new CorruptionException(
        "start of a commit with long values, in the log record at LSN " + records.start(),
        -1,
        -1,
        CommitRecord.FROM,
        0);
  }

  /** Reads which pages the parts of a commit publish. */
  private void pages(long commitId) {
    long last = records.start();
    if (!earlier.begin(commitId)) {
      throw missing(commitId);
    }
    try {
      while (earlier.next() && earlier.start() < last) {
        if (earlier.type() == RecordType.COMMIT_PART) {
          cursor.open(
              RecordType.COMMIT_PART, earlier.segment(), earlier.body(), earlier.bodyLength());
          boolean owned = commitId == (cursor.id() == 0 ? earlier.start() : cursor.id());
          if (owned && cursor.next() && cursor.kind() == CommitRecord.ADOPT) {
            for (int i = 0; i < cursor.pages(); i++) {
              chains.collect(cursor.page(i));
            }
          }
        }
      }
    } finally {
      earlier.end();
    }
  }

  /** Reads parts of a commit, and pages of its values, that precede its last record. */
  private void earlier(long begins, long commitId, List<LoggedChange> changes) {
    long last = records.start();
    if (!earlier.begin(begins)) {
      throw missing(begins);
    }
    try {
      while (earlier.next() && earlier.start() < last) {
        MemorySegment s = earlier.segment();
        int type = earlier.type();
        if (type == RecordType.CHAIN && chains.isWanted()) {
          chains.add(s, earlier.body(), earlier.bodyLength(), earlier.start());
        } else if (type == RecordType.COMMIT_PART && commitId > 0) {
          cursor.open(type, s, earlier.body(), earlier.bodyLength());
          if (commitId == (cursor.id() == 0 ? earlier.start() : cursor.id())) {
            operations(changes);
          }
        }
      }
    } finally {
      earlier.end();
    }
  }

  private void operations(List<LoggedChange> changes) {
    while (cursor.next()) {
      String table = names.get(cursor.treeId());
      if (table != null && cursor.kind() <= CommitRecord.CHAIN) {
        changes.add(operation(table));
      }
    }
  }

  private LoggedChange operation(String table) {
    byte[] key = bytes(cursor.keyOffset(), cursor.keyLength());
    byte @Nullable [] value =
        switch (cursor.kind()) {
          case CommitRecord.PUT -> bytes(cursor.valueOffset(), cursor.valueLength());
          case CommitRecord.CHAIN -> chains.value(cursor.first(), cursor.valueLength());
          case CommitRecord.DELETE -> null;
          default ->
              throw new CorruptionException(
                  "kind of an operation that carries a part of a value, in the log before LSN "
                      + records.recordEnd(),
                  -1,
                  -1,
                  CommitRecord.PUT,
                  cursor.kind());
        };
    return new LoggedChange(
        value == null ? LoggedChange.Kind.DELETE : LoggedChange.Kind.PUT,
        cursor.treeId(),
        table,
        key,
        value,
        null);
  }

  private byte[] bytes(long offset, int length) {
    return Mem.bytes(cursor.segment(), offset, length);
  }

  /** Releases the memory. No thread may be reading. */
  @Override
  public void close() {
    try {
      records.close();
    } finally {
      earlier.close();
    }
  }
}
