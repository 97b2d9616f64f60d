package io.fovea;

import io.fovea.btree.TreeCounts;
import io.fovea.catalog.CatalogCallbacks;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.index.EntryMaker;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexHints;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.RecordExpiry;
import io.fovea.index.RowFields;
import io.fovea.index.SlotLocal;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.EntryHints;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index: the records of a table in another order.
 *
 * <p>An index is a handle, valid in every thread while the database is open. Operations throw the
 * same exceptions as those of {@link RowTable}. For a table of objects or byte strings this class
 * only describes the index; {@link Index} reads it.
 *
 * @since 0.1.0
 */
public final class RowIndex extends RowRangeOperations {
  private final RowTable table;
  private final TableCore tableCore;
  private final IndexCore core;
  private final IndexSpec spec;

  RowIndex(RowTable table, IndexCore core, IndexSpec spec) {
    this.table = table;
    this.tableCore = table.core();
    this.core = core;
    this.spec = spec;
  }

  /**
   * Returns the name of the index.
   *
   * @return the name, unique in its table
   */
  public String name() {
    return core.name;
  }

  /**
   * Returns the specification with which the index was opened.
   *
   * @return the specification
   */
  public IndexSpec spec() {
    return spec;
  }

  /**
   * Returns the hints in the entries of the index, as chosen when it was created.
   *
   * @return the hints in the file, which {@link #spec} may omit
   */
  public EntryHints hints() {
    return core.hints.kind;
  }

  IndexCore core() {
    return core;
  }

  /**
   * Returns the indexed table.
   *
   * @return the table
   */
  public RowTable table() {
    return table;
  }

  /**
   * Creates a reusable key of this index, with the declared fields or the parts that its extractor
   * computes.
   *
   * @return a new key without parts
   * @throws InvalidUseException if it is an index of objects, whose keys are objects
   */
  public Key key() {
    if (core.objects != null) {
      requireRows();
    }
    table.database().requireServing();
    return new Key(core.key, core);
  }

  /**
   * Reads the record of an entry. A complete key of a unique index has at most one entry; otherwise
   * the first entry that begins with the key is used.
   *
   * @param tx the transaction
   * @param indexKey a key of this index, or a prefix
   * @param out receives the record; void if there is none
   * @return whether there is such an entry
   * @throws KeyTooLargeException if the key exceeds the maximum length for the index
   */
  public boolean get(Transaction tx, Key indexKey, Row out) {
    Tx t = tx.enter(table.database(), tableCore);
    try {
      require(indexKey);
      if (out.owner() != tableCore) {
        throw new InvalidUseException(
            "The row does not belong to table " + tableCore.displayName() + ".");
      }
      out.invalidate();
      StatementContext context = tx.statementContext();
      int stageBytes = tableCore.keyBytesMax + core.hints.bytes();
      MemorySegment pk = context.keyStage(stageBytes);
      int pkLen;
      int entry;
      if (core.unique && indexKey.isComplete()) {
        if (getVouched(tx, t, context, indexKey, pk, stageBytes, out)) {
          return !isExpired(context, t, out);
        }
        int n =
            t.get(
                core.tree,
                indexKey.segment(),
                indexKey.base(),
                indexKey.length(),
                pk,
                0,
                stageBytes,
                context.entry);
        if (n < 0) {
          return false;
        }
        pkLen = core.keyLength(tableCore, t.page(), n);
        entry = t.lastRead();
      } else {
        RowCursor c =
            RowCursor.open(tx, t, table, core, Range.prefix(indexKey), ScanOrder.ASCENDING);
        try {
          if (!c.advance()) {
            return false;
          }
          pkLen = c.entryValue(pk);
          entry = c.entryHandle();
        } finally {
          c.release();
        }
      }
      return resolve(tx, t, tableCore, core, pk, 0, pkLen, pk, pkLen, entry, out);
    } finally {
      tx.exit();
    }
  }

  /** Returns whether the record found has expired, and if so makes the row void. */
  private boolean isExpired(StatementContext context, Tx t, Row out) {
    RecordExpiry expiry = tableCore.expiry();
    boolean is = expiry != null && expiry.hides(context, t, out.segment(), out.base());
    if (is) {
      out.invalidate();
    }
    return is;
  }

  /**
   * Reads the record through the location in the entry, without a tracked read of the entry.
   *
   * <p><b>Why that is correct.</b> The tracked read establishes that the record has the key. As
   * long as the record has the key, the unique index contains this entry and no other for the
   * record, since every transaction changes both together. So the answer is right wherever the read
   * of the record is valid in the serialization order, and the entry need not be tracked, locked or
   * validated. If the record is gone or has another key, nothing is established, and the caller
   * reads the entry.
   *
   * @return false if the caller has to read the entry; the entry or its gap may be at {@link
   *     StatementContext#entry}
   */
  private boolean getVouched(
      Transaction tx,
      Tx t,
      StatementContext context,
      Key indexKey,
      MemorySegment pk,
      int stageBytes,
      Row out) {
    if (core.isExtracted()) {
      context.entry.clear();
      return false; // an extractor would have to run user code
    }
    MemorySegment wanted = indexKey.segment();
    long wantedOff = indexKey.base();
    int wantedLen = indexKey.length();
    int n = t.peek(core.tree, wanted, wantedOff, wantedLen, pk, 0, stageBytes, context.entry);
    int pkLen = core.hints.keyLength(n);
    if (n < 0 || pkLen < 0 || pkLen > tableCore.keyBytesMax) {
      return false;
    }
    int size =
        core.hints.get(
            context,
            t,
            tableCore,
            core,
            pk,
            0,
            pkLen,
            pk,
            pkLen,
            IndexHints.PEEKED,
            out.segment(),
            out.base(),
            out.size());
    int form = LegacyRowReader.AS_IT_IS;
    if (size != tableCore.storedBytes) {
      if (size < 0 || !tableCore.old.knows(size)) {
        return false;
      }
      form =
          LegacyRowReader.settle(
              context, t, tableCore, pk, 0, pkLen, size, out.segment(), out.base(), out.size());
    }
    MemorySegment entry = context.entries(core.entryBytesMax());
    int len = core.build(context, pk, 0, pkLen, out.segment(), out.base(), out.size(), entry, 0);
    if (len != wantedLen || !Mem.equal(entry, 0, len, wanted, wantedOff, len)) {
      return false;
    }
    out.read(tx, pk, 0, pkLen, t.lastRead(), out.size(), form);
    return true;
  }

  /**
   * Reads the record of an entry.
   *
   * @param hint the location of the entry's hint
   * @param entry the handle of the entry's read, or negative
   * @return false if the record has expired
   */
  static boolean resolve(
      Transaction tx,
      Tx t,
      TableCore table,
      IndexCore index,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment hint,
      long hintOff,
      int entry,
      Row out) {
    int n =
        index.hints.get(
            tx.statementContext(),
            t,
            table,
            index,
            pk,
            pkOff,
            pkLen,
            hint,
            hintOff,
            entry,
            out.segment(),
            out.base(),
            out.size());
    if (n != table.storedBytes && !(n >= 0 && table.old.knows(n))) {
      t.requireReadsValid();
      if (n < 0 && t.wrote(table.tree, pk, pkOff, pkLen)) {
        throw new InvalidUseException("The transaction has deleted the record under the cursor.");
      }
      throw table.damaged(
          "record that an entry of index " + index.displayName() + " names, its size",
          t.page(),
          out.size(),
          n);
    }
    return out.read(tx, t, table, pk, pkOff, pkLen, n, out.size());
  }

  /**
   * Opens a scan in index order.
   *
   * @param tx the transaction
   * @param range the entries to scan, by keys of this index
   * @param order the direction
   * @return a cursor before the first entry; its rows are the records, and its {@link
   *     RowCursor#key} is the primary key. It is closed with the transaction at the latest
   */
  @Override
  public RowCursor scan(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    requireRows();
    Tx t = tx.enter(table.database(), tableCore);
    try {
      requireUsable();
      return RowCursor.open(tx, t, table, core, range, order);
    } finally {
      tx.exit();
    }
  }

  /**
   * Estimates the number and size of the entries in a range, as {@link RowTable#estimate} does.
   *
   * @param tx the transaction
   * @param range the entries, by keys of this index
   * @return the estimate
   * @throws InvalidUseException if a key of the range belongs to another index or a table
   */
  public Estimate estimate(Transaction tx, Range range) {
    Objects.requireNonNull(range, "range");
    requireRows();
    tx.enter(table.database(), tableCore);
    try {
      requireUsable();
      return RowCursor.estimate(tx.statementContext(), table.core(), core, range);
    } finally {
      tx.exit();
    }
  }

  /**
   * Returns the number of entries, as {@link RowTable#count} does. An extracted index may have
   * fewer entries than its table has records.
   *
   * @return the number of entries
   * @throws InvalidUseException if the index or its table was dropped, or if the entries have to be
   *     counted first and the calling thread has a transaction
   */
  public long count() {
    return counts().records();
  }

  /**
   * Returns the total length of the entries as stored, as {@link RowTable#dataBytes} does.
   *
   * @return the length in bytes
   */
  public long dataBytes() {
    return counts().bytes();
  }

  private TreeCounts counts() {
    requireUsable();
    return table.database().counts(core.tree);
  }

  private void requireRows() {
    if (tableCore.layout == null) {
      throw new InvalidUseException(
          "Index "
              + core.displayName()
              + (core.objects != null
                  ? " is an index of objects: get it with Table.index."
                  : " is an index of byte strings: get it with RowTable.bytes().index."));
    }
  }

  private void require(Key key) {
    requireUsable();
    requireOwn(key, core);
    if (key.length() > core.tree.maxKeySize()) {
      throw core.keyTooLong(key.length());
    }
  }

  static void requireOwn(Key key, IndexCore core) {
    if (key.owner() != core) {
      throw new InvalidUseException(
          "The key belongs to another index or to a table: it is one of " + key.spec() + ".");
    }
  }

  private void requireUsable() {
    tableCore.requireUsable();
    if (tableCore.index(core.name) != core) {
      throw new InvalidUseException(
          "Index "
              + core.displayName()
              + " was dropped, or its table was opened again: get the index from the new handle.");
    }
  }

  @Override
  public String toString() {
    return spec + " of table " + tableCore.displayName();
  }

  /** The callbacks of the schema into the API. */
  static final class SchemaHost implements CatalogCallbacks {
    private final Database database;

    SchemaHost(Database database) {
      this.database = database;
    }

    @Override
    public void transact(long timeoutNanos, Piece piece) {
      // Usually no limit: a verification may block transactions for as long as it takes.
      database.runPipelined(
          TxOptions.defaults().timeout(Duration.ofNanos(timeoutNanos)),
          tx -> {
            Tx t = tx.enter(database);
            try {
              piece.run(tx.statementContext(), t, tx.attempt());
            } finally {
              tx.exit();
            }
          });
    }

    @Override
    public @Nullable EntryMaker maker(TableSpec table, IndexSpec index) {
      IndexSpec.Extractor extractor = index.extractor();
      IndexSpec.ByteExtractor ofBytes = index.byteExtractor();
      KeySpec key = index.extractedKey();
      if (key != null && ofBytes != null) {
        return new ExtractedFromBytes(index.name(), ofBytes, key);
      }
      return extractor == null || key == null
          ? null
          : new Extracted(index.name(), extractor, table.key(), table.layout(), key);
    }
  }

  /** Builds entries with a user's extractor, with one key and row per context. */
  static final class Extracted implements EntryMaker {
    private final String index;
    private final IndexSpec.Extractor extractor;
    private final KeySpec tableKey;
    private final Layout tableLayout;
    private final KeySpec key;
    private final SlotLocal<Extraction> extractions = new SlotLocal<>();

    /**
     * Creates the entries of an index.
     *
     * @param tableKey the key of the table, as the extractor's author wrote it
     * @param tableLayout the layout of the table, likewise
     * @param key the key that the extractor computes
     */
    Extracted(
        String index,
        IndexSpec.Extractor extractor,
        KeySpec tableKey,
        Layout tableLayout,
        KeySpec key) {
      this.index = index;
      this.extractor = extractor;
      this.tableKey = tableKey;
      this.tableLayout = tableLayout;
      this.key = key;
    }

    @Override
    public int make(
        StatementContext context,
        MemorySegment pk,
        long pkOff,
        int pkLen,
        MemorySegment record,
        long recordOff,
        int recordLen,
        MemorySegment out,
        long outOff) {
      Extraction e = extractions.get(context);
      if (e == null) {
        e = new Extraction(tableKey, tableLayout, key);
        extractions.set(context, e);
      }
      e.primaryKey.load(pk, pkOff, pkLen);
      Mem.copy(record, recordOff, e.row.segment(), e.row.base(), e.row.size());
      e.row.filled();
      e.entry.clear();
      if (!extractor.extract(e.primaryKey, e.row, e.entry)) {
        return -1;
      }
      return take(index, e.entry, out, outOff);
    }

    /** Takes the key that an extractor has set. */
    static int take(String index, Key entry, MemorySegment out, long outOff) {
      if (!entry.isComplete()) {
        throw new InvalidUseException(
            "The extractor of index "
                + index
                + " did not set all parts of the key: "
                + entry
                + ".");
      }
      int len = entry.length();
      Mem.copy(entry.segment(), entry.base(), out, outOff, len);
      return len;
    }

    /** The arguments of an extractor, one set per context. */
    private static final class Extraction {
      final Key primaryKey;
      final Row row;
      final Key entry;

      Extraction(KeySpec tableKey, Layout layout, KeySpec key) {
        primaryKey = new Key(tableKey, this);
        row = new Row(layout, new RowFields(layout), layout.size(), this, 0);
        entry = new Key(key, this);
      }
    }
  }

  /**
   * Builds entries of byte strings with a user's extractor, with one key per context. The extractor
   * receives copies, which it may keep and which can't change while it reads them.
   */
  static final class ExtractedFromBytes implements EntryMaker {
    private final String index;
    private final IndexSpec.ByteExtractor extractor;
    private final KeySpec key;
    private final SlotLocal<Key> entries = new SlotLocal<>();

    /**
     * Creates the entries of an index.
     *
     * @param key the key that the extractor computes
     */
    ExtractedFromBytes(String index, IndexSpec.ByteExtractor extractor, KeySpec key) {
      this.index = index;
      this.extractor = extractor;
      this.key = key;
    }

    @Override
    public int make(
        StatementContext context,
        MemorySegment pk,
        long pkOff,
        int pkLen,
        MemorySegment record,
        long recordOff,
        int recordLen,
        MemorySegment out,
        long outOff) {
      Key entry = entries.get(context);
      if (entry == null) {
        entry = new Key(key, this);
        entries.set(context, entry);
      }
      entry.clear();
      byte[] k = Mem.bytes(pk, pkOff, pkLen);
      byte[] v = Mem.bytes(record, recordOff, recordLen);
      return extractor.extract(k, v, entry) ? Extracted.take(index, entry, out, outOff) : -1;
    }
  }
}
