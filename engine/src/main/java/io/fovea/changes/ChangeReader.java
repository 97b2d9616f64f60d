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
 * Reads what commits have changed, from a position in the log on.
 *
 * <pre>
 *   log        TABLES ... SCHEMA ... │ part of B · A · SCHEMA · end of B · ...        durable
 *              names: ─────────────► │                                                   ▲
 *              position.tables       position.lsn: A, tables, B  ─────────────────► not beyond
 * </pre>
 *
 * <p><b>Nothing twice, nothing left out.</b> A commit is told where its last record is. A position
 * is the end of that record, and commits are told in the order of these. So what comes behind a
 * position is what was not told before it, whatever lies in between. Parts of a large commit, and
 * pages of its long values, may begin before the position: when its last record is met, they are
 * read once more, from where it says that they begin.
 *
 * <p><b>Only what is durable.</b> A position lies at or before the end of what is durable, so no
 * crash takes it back, and its LSN is never given to another record. Records that a crash has taken
 * back have never been told.
 *
 * <p><b>The order</b> is that of the log. Of two commits that write the same key, or of which one
 * reads what the other has written, it is the serial order: the first has its record before anybody
 * sees its changes. Where one has only read what the other then overwrites, it may be the other way
 * round.
 *
 * <p>One thread at a time.
 */
public final class ChangeReader implements AutoCloseable {
  /** What is read at most before segments are let go for a moment. */
  private static final int TURN_RECORDS = 4096;

  private final String name;
  private final UUID id;
  private final LongSupplier keptFrom;
  private final DurableRecords records;

  /** For what lies before. */
  private final DurableRecords earlier;

  private final TableNames names = new TableNames();
  private final CommitCursor cursor = new CommitCursor();
  private final LoggedChains chains;

  /** Commits that end here are told, or have nothing to tell. */
  private long from;

  /** Where reading goes on; before {@link #from} while only names are followed. */
  private long here;

  /** Where the list of tables begins that the names are from. */
  private long tables;

  /** Whether that list is read next: at the beginning, and after a failure. */
  private boolean fresh = true;

  /**
   * A reader.
   *
   * @param name the database's, for messages
   * @param log its log
   * @param keptFrom from where on there are changes; the largest number for nowhere
   * @param id the database's
   * @param pageSize the size of its pages
   * @param at where to begin
   * @throws ChangesLostException if the log does not have what comes behind it
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
          name, "the position is one of database " + at.id() + ", and this is " + id);
    }
    if (at.lsn() > log.durableLsn()) {
      throw new ChangesLostException(
          name,
          "the position is beyond the end of the log, "
              + log.durableLsn()
              + ": it is of a copy of this database that went on by itself, or its file was put"
              + " back");
    }
    requireKept(at.tables());
    this.records = log.records();
    this.earlier = log.records();
  }

  /**
   * Looks for a position behind a list of tables.
   *
   * @param name the database's, for messages
   * @param records of the log
   * @param lsn where to begin, which is the start of a record
   * @param id of the database
   * @param last whether the last list is wanted, and not the first
   * @return the position; null where there is no whole list
   * @throws CorruptionException if the log is damaged
   */
  public static @Nullable ChangePoint behindTables(
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
              TableNames.how(
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
          "the log has no changes yet that can be followed: it has them from the first change"
              + " on that is made with LogOptions.changeRetentionBytes");
    }
    if (lsn < kept) {
      throw lost(lsn, kept);
    }
  }

  /**
   * Why a record can't be read: nobody keeps it any more; or it is kept, and the segment that has
   * it was not seen, of which a header can't be read.
   */
  private FoveaException missing(long lsn) {
    long kept = keptFrom.getAsLong();
    return lsn < kept ? lost(lsn, kept) : unseen(name, lsn);
  }

  private static CorruptionException unseen(String name, long lsn) {
    return new CorruptionException(
        "segments of the log of " + name + " that have the record at LSN " + lsn, -1, -1, 1, 0);
  }

  private ChangesLostException lost(long lsn, long kept) {
    return new ChangesLostException(
        name,
        "the log is needed from LSN "
            + lsn
            + " on, and has changes from LSN "
            + kept
            + " on: LogOptions.changeRetentionBytes says how much is kept, and none are where the database"
            + " was opened without it, or the storage was full");
  }

  /** Where it is: behind the last commit that {@link #next} has returned, or farther. */
  public ChangePoint position() {
    return new ChangePoint(id, tables, Math.max(from, here));
  }

  /** Behind which position the log must be durable for {@link #next} to find anything. */
  public long readLsn() {
    return here;
  }

  /**
   * The next commit that has changed tables.
   *
   * @param stop whether to read no further, asked now and then
   * @return null if no more is durable, or it was stopped
   * @throws ChangesLostException if the log does not have it any more
   * @throws CorruptionException if the log is damaged
   * @throws io.fovea.error.StorageException if it can't be read; the next call tries again
   */
  public @Nullable LoggedCommit next(BooleanSupplier stop) {
    while (!stop.getAsBoolean()) {
      if (!records.begin(here)) {
        throw missing(here);
      }
      try {
        for (int n = 0; n < TURN_RECORDS; n++) {
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

  /** A position that was told begins with a list; others are none. */
  private void requireList() {
    if (fresh && (records.start() != tables || records.type() != RecordType.TABLES)) {
      throw new ChangesLostException(
          name, "there is no list of tables at LSN " + tables + ", where the position says one is");
    }
    fresh = false;
  }

  /** What the record that is read tells, unless it was told before. */
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

  private List<LoggedChange> commit(MemorySegment s, long at, int length, boolean tell) {
    cursor.open(RecordType.COMMIT, s, at, length);
    long commitId = cursor.id();
    List<LoggedChange> changes = new ArrayList<>();
    if (commitId > 0) {
      changes.addAll(names.committed(commitId));
    }
    if (!tell) {
      return changes;
    }
    boolean anew = !changes.isEmpty();
    try {
      for (long i = 0; i < cursor.adopted(); i++) {
        chains.want(cursor.adopted(i));
      }
      long begins = commitId > 0 ? commitId : Long.MAX_VALUE;
      if (commitId > 0 && cursor.next() && cursor.kind() == CommitRecord.FROM) {
        pages(commitId); // it has long values: parts may say of which pages
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
      anew = false;
    } finally {
      chains.clear();
      if (anew) {
        beginAnew(); // tables have their new names, which nobody was told
      }
    }
    return changes;
  }

  /** The next call reads the list of tables again, and from there to where this one was. */
  private void beginAnew() {
    from = Math.max(from, here);
    here = tables;
    fresh = true;
  }

  /** Where the commit that the cursor stands before says that its pages begin. */
  private long from() {
    while (cursor.next()) {
      if (cursor.kind() == CommitRecord.FROM) {
        return cursor.from();
      }
    }
    throw new CorruptionException(
        "where a commit with long values begins, in the log record at LSN " + records.start(),
        -1,
        -1,
        CommitRecord.FROM,
        0);
  }

  /** Reads which pages parts of a commit publish. */
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
          boolean mine = commitId == (cursor.id() == 0 ? earlier.start() : cursor.id());
          if (mine && cursor.next() && cursor.kind() == CommitRecord.ADOPT) {
            for (int i = 0; i < cursor.pages(); i++) {
              chains.want(cursor.page(i));
            }
          }
        }
      }
    } finally {
      earlier.end();
    }
  }

  /** Reads parts of a commit, and pages of its values, that lie before its last record. */
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
                  "operation of a commit, which has a part of a value, in the log before LSN "
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
    byte[] bytes = new byte[length];
    Mem.getBytes(cursor.segment(), offset, bytes, 0, length);
    return bytes;
  }

  /** Gives its memory back. Nobody reads any more. */
  @Override
  public void close() {
    try {
      records.close();
    } finally {
      earlier.close();
    }
  }
}
