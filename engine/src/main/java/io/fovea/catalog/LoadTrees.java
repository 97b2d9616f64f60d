package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.BulkLoader;
import io.fovea.btree.TreeDrop;
import io.fovea.encoding.KeyText;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.recovery.LoadedRecord;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The new trees of a table during a load. Records arrive in key order and are merged with the
 * table's records into a new tree. Their entries are sorted and finally written to the trees of the
 * indexes.
 *
 * <pre>
 *   source ─ ascending ─► pending ─► merge ─► table's tree
 *                                      ▲ └──► entries ─► {@link SortedRuns} ─► index's tree
 *                          old tree ───┘
 * </pre>
 *
 * <p>Rows that have expired when the load begins are omitted. An expired row from the source still
 * replaces an existing row before it is omitted. Confined to one thread at a time.
 */
final class LoadTrees implements AutoCloseable {
  /** How many pages of a tree are built before they are written, if the buffer is large. */
  private static final int FLUSH_PAGES = 2048;

  private static final class IndexTree {
    final IndexCore index;
    final BTree tree;
    final BulkLoader loader;
    final SortedRuns entries;
    long records;
    long bytes;

    IndexTree(IndexCore index, BTree tree, BulkLoader loader, SortedRuns entries) {
      this.index = index;
      this.tree = tree;
      this.loader = loader;
      this.entries = entries;
    }
  }

  private final TableCore core;
  private final LoadSettings how;
  private final LogSession log;
  private final LoadCounters counters;
  private final boolean logging;
  private final int flushPages;
  private final List<BTree> trees = new ArrayList<>();
  private final List<IndexTree> indexes = new ArrayList<>();
  private final BTree tree;
  private final BulkLoader loader;
  private final OldRecords old;
  private boolean hasOld;
  private final @Nullable RecordExpiry expiry;

  /** Rows with expiry times up to this one have expired. */
  private final long expiredUpTo;

  /** Holds the last record of the source, which the next one may replace. */
  private Arena arena = Arena.ofShared();

  private MemorySegment pending = MemorySegment.NULL;
  private int pendingKey = -1;
  private int pendingValue;

  private final StatementContext scratch = new StatementContext();
  private final Arena entryArena = Arena.ofShared();
  private MemorySegment entry = MemorySegment.NULL;
  private MemorySegment entryValue = MemorySegment.NULL;

  /** An unpacked row, if rows are of variable length. */
  private MemorySegment unpacked = MemorySegment.NULL;

  long added;
  long replaced;
  long kept;
  long records;
  long omitted;
  private long bytes;

  /**
   * Creates empty trees.
   *
   * @param log a session that has begun; it holds back the redo point until the catalog lists the
   *     trees
   * @param file for sorting entries
   * @param check called regularly; may throw
   */
  LoadTrees(
      Store store,
      TableCore core,
      LoadSettings how,
      LogSession log,
      SortFile file,
      LoadCounters counters,
      long expiredUpTo,
      Runnable check) {
    this.counters = counters;
    this.core = core;
    this.how = how;
    this.log = log;
    this.logging = log.isLogging();
    this.expiry = core.expiry();
    this.expiredUpTo = expiredUpTo;
    this.flushPages = Math.clamp(store.pool().capacity() / 16, 8, FLUSH_PAGES);
    boolean done = false;
    try {
      List<IndexCore> all = core.readable();
      this.tree = make(store, false);
      this.loader = BulkLoader.unlogged(tree, how.fill(), log);
      long memory = how.memoryBytes() / Math.max(1, all.size() + (how.ascending() ? 0 : 1));
      for (IndexCore index : all) {
        BTree made = make(store, index.hints.kind.frames());
        SortedRuns entries = new SortedRuns(memory, file, check);
        BulkLoader entryLoader = BulkLoader.unlogged(made, how.fill(), log);
        indexes.add(new IndexTree(index, made, entryLoader, entries));
        long entryBytes = Math.max(index.entryBytesMax(), entry.byteSize());
        entry = entryArena.allocate(entryBytes, 8);
        long values = core.keyBytesMax + (long) index.hints.bytes();
        entryValue = entryArena.allocate(Math.max(values, entryValue.byteSize()), 8);
      }
      this.old = OldRecords.of(core);
      this.hasOld = old.next();
      done = true;
    } finally {
      if (!done) {
        free();
      }
    }
  }

  private BTree make(Store store, boolean endInFrames) {
    BTree made = BTree.create(store.pool(), store.nextTreeId(), endInFrames, log);
    boolean listed = false;
    try {
      trees.add(made);
      listed = true;
      return made;
    } finally {
      if (!listed) {
        TreeDrop.freeRoot(made, log); // no other reference exists
      }
    }
  }

  /** Returns the table's tree, followed by the trees of its readable indexes in order. */
  List<BTree> trees() {
    return trees;
  }

  /** Returns the number of pages of all trees, excluding the roots. */
  long pages() {
    long n = loader.pages();
    for (IndexTree i : indexes) {
      n += i.loader.pages();
    }
    return n;
  }

  // --------------------------------------------------------------------------------------- source

  /** Receives a record from the source; keys must not descend. */
  void source(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    if (pendingKey >= 0) {
      int c = Mem.compare(pending, 0, pendingKey, key, off, len);
      if (c > 0) {
        throw new InvalidUseException(
            "The rows of the load of table "
                + core.displayName()
                + " are not in key order, contrary to its options: "
                + keyText(key, off, len)
                + " comes after "
                + keyText(pending, 0, pendingKey)
                + ".");
      }
      if (c == 0) {
        switch (how.duplicates()) {
          case FAIL -> throw duplicate(key, off, len, "appears twice in the load of");
          case KEEP -> {
            kept++;
            return;
          }
          case REPLACE -> {
            replaced++;
            pendingKey = -1;
          }
        }
      } else {
        mergePending();
      }
    }
    long bytes = (long) len + vLen;
    if (bytes > pending.byteSize()) {
      arena.close();
      arena = Arena.ofShared();
      pending = arena.allocate(Math.max(bytes, 2 * pending.byteSize()), 8);
    }
    Mem.copy(key, off, pending, 0, len);
    Mem.copy(value, vOff, pending, len, vLen);
    pendingKey = len;
    pendingValue = vLen;
  }

  private String keyText(MemorySegment key, long off, int len) {
    return KeyText.of(core.key, key, off, len);
  }

  private DuplicateKeyException duplicate(MemorySegment key, long off, int len, String is) {
    return DuplicateKeyException.ofLoad(
        core.name, Mem.bytes(key, off, len), keyText(key, off, len), is);
  }

  /** Writes the table's records with smaller keys, then the pending record. */
  private void mergePending() {
    int key = pendingKey;
    while (hasOld) {
      int c = Mem.compare(old.key(), 0, old.keyLength(), pending, 0, key);
      if (c > 0) {
        break;
      }
      if (c == 0 && isExpired(old.valueLength(), old.value(), old.valueOffset())) {
        putOld(); // omits the pending record
        break;
      }
      if (c == 0) {
        switch (how.duplicates()) {
          case FAIL -> throw duplicate(pending, 0, key, "is already in");
          case KEEP -> {
            kept++;
            pendingKey = -1;
            putOld();
            return;
          }
          case REPLACE -> {
            replaced++;
            added--; // a replacement is not counted as added
            hasOld = old.next();
          }
        }
        break;
      }
      putOld();
    }
    pendingKey = -1;
    added++;
    put(pending, 0, key, pending, key, pendingValue);
  }

  private void putOld() {
    old.upgradeStored(core);
    put(old.key(), 0, old.keyLength(), old.value(), old.valueOffset(), old.valueLength());
    hasOld = old.next();
  }

  private boolean isExpired(int length, MemorySegment record, long off) {
    return expiry != null && expiry.isExpired(expiredUpTo, scratch, core, length, record, off);
  }

  private void put(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    if (isExpired(vLen, value, vOff)) {
      omitted++;
      return;
    }
    loader.add(key, off, len, value, vOff, vLen);
    records++;
    bytes += (long) len + vLen;
    if (!indexes.isEmpty()) {
      entries(key, off, len, value, vOff, vLen);
    }
    flush(loader);
  }

  /** Adds the entries of a record, from its unpacked row. */
  private void entries(
      MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    MemorySegment record = value;
    long at = vOff;
    if (core.packed() != null) {
      if (unpacked.byteSize() == 0) {
        unpacked = entryArena.allocate(core.recordBytes(), 8);
      }
      if (core.old.upgrade(vLen, value, vOff, unpacked, 0) == LegacyRowReader.UNKNOWN) {
        throw core.wrongSize(-1, vLen);
      }
      record = unpacked;
      at = 0;
    }
    for (int i = 0; i < indexes.size(); i++) {
      entry(indexes.get(i), key, off, len, record, at, vLen);
    }
  }

  private void entry(
      IndexTree to,
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen) {
    IndexCore index = to.index;
    int n =
        IndexMaintenance.entry(scratch, core, index, key, off, len, value, vOff, vLen, entry, 0);
    if (n < 0) {
      return;
    }
    if (n > to.tree.maxKeySize()) {
      throw index.keyTooLong(n);
    }
    // A zero hint is ignored; the first lookup replaces it.
    Mem.copy(key, off, entryValue, 0, len);
    Mem.zero(entryValue, len, index.hints.bytes());
    to.entries.add(entry, 0, n, entryValue, 0, len + index.hints.bytes());
  }

  private void flush(BulkLoader of) {
    if (logging && of.unwritten() >= flushPages) {
      counters.flush(of);
    }
  }

  /**
   * Writes up to {@code max} of the table's records after the source's last key; returns false at
   * the end.
   */
  boolean writeRest(int most) {
    if (pendingKey >= 0) {
      mergePending();
    }
    for (int i = 0; i < most && hasOld; i++) {
      putOld();
    }
    return hasOld;
  }

  // -------------------------------------------------------------------------------------- indexes

  long entries() {
    long n = 0;
    for (IndexTree i : indexes) {
      n += i.entries.records();
    }
    return n;
  }

  int indexes() {
    return indexes.size();
  }

  SortedRuns.Merged sorted(int i) {
    return indexes.get(i).entries.merged();
  }

  /** Adds up to {@code max} entries to an index; returns false at the end. */
  boolean addEntries(int i, SortedRuns.Merged from, int max) {
    IndexTree to = indexes.get(i);
    for (int n = 0; n < max; n++) {
      if (!from.next()) {
        to.entries.close();
        return false;
      }
      MemorySegment s = from.segment();
      int length = from.keyLength();
      // Entries of non-unique indexes contain the primary key, so they never collide.
      if (to.loader.endsWith(s, from.keyOffset(), length)) {
        throw IndexMaintenance.duplicate(core, to.index, s, from.keyOffset(), length, false);
      }
      to.loader.add(s, from.keyOffset(), length, s, from.valueOffset(), from.valueLength());
      to.records++;
      to.bytes += (long) length + from.valueLength();
      flush(to.loader);
    }
    return true;
  }

  // ------------------------------------------------------------------------------------- the end

  void finish() {
    loader.finish();
    tree.counts().base(records, bytes);
    for (IndexTree i : indexes) {
      i.loader.finish();
      i.tree.counts().base(i.records, i.bytes);
    }
  }

  /** Logs the counts, before the record that makes these the trees of the table. */
  void logCounts() {
    if (logging) {
      LoadedRecord.append(log, tree.treeId(), records, bytes);
      for (IndexTree i : indexes) {
        LoadedRecord.append(log, i.tree.treeId(), i.records, i.bytes);
      }
    }
  }

  /** Writes all pages except the roots, which are logged. */
  void flushAll() {
    counters.flush(loader);
    for (IndexTree i : indexes) {
      counters.flush(i.loader);
    }
  }

  void logAll() {
    loader.logPages();
    for (IndexTree i : indexes) {
      i.loader.logPages();
    }
  }

  /** Frees all pages of unpublished trees. May be repeated after a failure. */
  void free() {
    if (loader != null) {
      loader.freePages();
    }
    for (IndexTree i : indexes) {
      i.loader.freePages();
    }
    while (!trees.isEmpty()) {
      BTree last = trees.get(trees.size() - 1);
      last.freeUnfreedPages(log);
      TreeDrop.freeRoot(last, log);
      trees.remove(trees.size() - 1);
    }
  }

  @Override
  public void close() {
    for (IndexTree i : indexes) {
      i.entries.close();
    }
    old.close();
    arena.close();
    entryArena.close();
  }
}
