package io.fovea.changes;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.recovery.SchemaRecord;
import io.fovea.recovery.TablesLog;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The trees that are tables, at the position of a log reader.
 *
 * <p>It starts from a list (TABLES) and follows catalog changes. A commit to any other tree is
 * ignored: the tree is an index, or a dropped table. In the latter case the commit precedes the
 * drop in the serial order but follows it in the log, so no transaction can see it.
 *
 * <p>Used by one thread.
 */
final class TableNames {
  static final int FIRST = 1;
  static final int LAST = 2;

  /** The new state of a tree. */
  private record TableEvent(int treeId, String name, int kind) {}

  private final CommitCursor cursor = new CommitCursor();
  private final SchemaRecord schema = new SchemaRecord();
  private Map<Integer, String> names = new HashMap<>();

  // While a list is read: the list, and its start.
  private @Nullable Map<Integer, String> list;
  private long listLsn;

  /**
   * Changes of transactions whose commit has not been reached yet, by the starts of their records.
   */
  private final Map<Long, List<TableEvent>> pending = new HashMap<>();

  /** Returns the name of a table; null if the tree is not a table. */
  @Nullable String get(int treeId) {
    return names.get(treeId);
  }

  /** Returns whether a TABLES record begins or ends a list: {@link #FIRST}, {@link #LAST}. */
  static int listFlags(MemorySegment s, long at, int length, long lsn) {
    if (length < TablesLog.HEADER) {
      throw new CorruptionException(
          "length of the log record at LSN " + lsn, -1, -1, TablesLog.HEADER, length);
    }
    return Mem.getInt(s, at + 4);
  }

  /**
   * Reads a TABLES record.
   *
   * @return the start of the list if it is now complete; otherwise 0
   */
  long tables(MemorySegment s, long at, int length, long lsn) {
    int listFlags = listFlags(s, at, length, lsn);
    Map<Integer, String> some = list;
    if ((listFlags & FIRST) != 0) {
      some = new HashMap<>();
      listLsn = lsn;
    }
    if (some == null) {
      return 0; // the beginning of the list was not read
    }
    list = some;
    cursor.openOps(s, at + TablesLog.HEADER, at + length, Mem.getInt(s, at) & 0xFFFF_FFFFL);
    for (TableEvent f : readEvents()) {
      some.put(f.treeId, f.name);
    }
    if ((listFlags & LAST) == 0) {
      return 0;
    }
    names = some;
    list = null;
    pending.clear(); // no catalog change is in progress while a list is written
    return listLsn;
  }

  /** Reads a CATALOG record. */
  void catalog(MemorySegment s, long at, int length, long lsn) {
    pending.put(lsn, read(s, at, length, lsn));
  }

  /** Reads a SCHEMA record; returns the changes of tables. */
  List<LoggedChange> schema(MemorySegment s, long at, int length, long lsn) {
    return apply(read(s, at, length, lsn));
  }

  /** Applies the CATALOG record of a commit that has been reached, if it has one. */
  List<LoggedChange> committed(long id) {
    List<TableEvent> events = pending.remove(id);
    return events == null ? List.of() : apply(events);
  }

  private List<TableEvent> read(MemorySegment s, long at, int length, long lsn) {
    schema.open(s, at, length, lsn);
    cursor.openOps(s, schema.opsBegin(), schema.opsEnd(), schema.ops());
    return readEvents();
  }

  private List<TableEvent> readEvents() {
    List<TableEvent> events = new ArrayList<>();
    while (cursor.next()) {
      if (cursor.kind() == CommitRecord.TABLE) {
        byte[] name = Mem.bytes(cursor.segment(), cursor.keyOffset(), cursor.keyLength());
        events.add(
            new TableEvent(
                cursor.treeId(),
                new String(name, StandardCharsets.UTF_8),
                cursor.tableEventKind()));
      }
    }
    return events;
  }

  /**
   * Orders changes of tables: drops, then renames, then new tables, so that a name is free before
   * it is used again. Only tables that exchange their names in a cycle cannot be ordered like this.
   */
  private List<LoggedChange> apply(List<TableEvent> events) {
    Set<String> loaded = new HashSet<>();
    List<LoggedChange> gone = new ArrayList<>();
    List<LoggedChange> renamed = new ArrayList<>();
    List<LoggedChange> made = new ArrayList<>();
    for (TableEvent f : events) {
      if (f.kind == CommitRecord.LOADED) {
        loaded.add(f.name);
        made.add(new LoggedChange(LoggedChange.Kind.LOADED, f.treeId, f.name));
      }
    }
    for (TableEvent f : events) {
      String before = f.kind == CommitRecord.DROPPED ? names.remove(f.treeId) : names.get(f.treeId);
      if (f.kind != CommitRecord.DROPPED) {
        names.put(f.treeId, f.name);
      }
      if (f.kind == CommitRecord.DROPPED && before != null && !loaded.contains(before)) {
        gone.add(new LoggedChange(LoggedChange.Kind.DROPPED, f.treeId, before));
      } else if (f.kind == CommitRecord.IS && before == null) {
        made.add(new LoggedChange(LoggedChange.Kind.CREATED, f.treeId, f.name));
      } else if (f.kind == CommitRecord.IS && before != null && !before.equals(f.name)) {
        renamed.add(
            new LoggedChange(LoggedChange.Kind.RENAMED, f.treeId, before, null, null, f.name));
      }
    }
    addInOrder(renamed, gone);
    gone.addAll(made);
    return gone;
  }

  private static void addInOrder(List<LoggedChange> renamed, List<LoggedChange> out) {
    List<LoggedChange> rest = new ArrayList<>(renamed);
    while (!rest.isEmpty()) {
      Set<String> taken = new HashSet<>();
      rest.forEach(c -> taken.add(c.table()));
      LoggedChange next =
          rest.stream().filter(c -> !taken.contains(c.renamed())).findFirst().orElse(rest.get(0));
      out.add(next);
      rest.remove(next);
    }
  }
}
