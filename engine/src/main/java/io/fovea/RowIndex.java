package io.fovea;

import io.fovea.btree.TreeCounts;
import io.fovea.catalog.CatalogCallbacks;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.TransactionAbortedException;
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
 * <p>A handle, good in every thread for as long as the database is open. Operations throw the
 * exceptions of those of a {@link RowTable}. Of a table of objects or byte strings it only tells
 * what the index is: {@link Index} reads it.
 *
 * @since 0.1.0
 */
public final class RowIndex extends OrderedRows {
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
   * The index's name.
   *
   * @return the name, unique in its table
   */
  public String name() {
    return core.name;
  }

  /**
   * The specification that the index was opened with.
   *
   * @return the specification
   */
  public IndexSpec spec() {
    return spec;
  }

  /**
   * The hints in the entries of the index, as chosen when it was created.
   *
   * @return the hints in the file, which {@link #spec} need not name
   */
  public EntryHints hints() {
    return core.hints.kind;
  }

  IndexCore core() {
    return core;
  }

  /**
   * The table whose records it orders.
   *
   * @return the table
   */
  public RowTable table() {
    return table;
  }

  /**
   * Makes a key of this index: the fields that it is declared by, or the parts that its extractor
   * computes. To be set and used again and again.
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
   * Reads the record of an entry: of a complete key in a unique index the only one, otherwise the
   * first that begins with the key.
   *
   * @param tx the transaction
   * @param indexKey a key of this index, or a prefix
   * @param out where the record goes; void if there is none
   * @return whether there is such an entry
   * @throws KeyTooLargeException if no key of that length can be in the index
   */
  public boolean get(Transaction tx, Key indexKey, Row out) {
    Tx t = tx.enter(table.database(), tableCore);
    try {
      require(indexKey);
      if (out.owner() != tableCore) {
        throw new InvalidUseException(
            "The row belongs to another table than " + tableCore.shown() + ".");
      }
      out.invalidate();
      StatementContext statementContext = tx.statementContext();
      int stageBytes = tableCore.keyBytesMax + core.hints.bytes();
      MemorySegment pk = statementContext.keyStage(stageBytes);
      int pkLen;
      int entry;
      if (core.unique && indexKey.isComplete()) {
        if (getVouched(tx, t, statementContext, indexKey, pk, stageBytes, out)) {
          return !isExpired(statementContext, t, out);
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
                statementContext.entry);
        if (n < 0) {
          return false;
        }
        pkLen = core.hints.keyLength(n);
        if (pkLen < 0 || pkLen > tableCore.keyBytesMax) {
          throw wrongKey(tableCore, core, t.page(), pkLen);
        }
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
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /** Whether a record that was found has expired; then the row is void. */
  private boolean isExpired(StatementContext statementContext, Tx t, Row out) {
    RecordExpiry expiry = tableCore.expiry();
    boolean is = expiry != null && expiry.hides(statementContext, t, out.segment(), out.base());
    if (is) {
      out.invalidate();
    }
    return is;
  }

  /**
   * Reads the record without the entry: looks where the entry points, and lets the record vouch for
   * it.
   *
   * <p><b>Why that is enough.</b> What is read is that the record has the key that is looked for.
   * As long as that is so the unique index has this entry and no other for it, since no transaction
   * changes one without the other. So wherever the read of the record is valid in the order of
   * transactions, the answer is right, whatever became of the entry, whose read need not be
   * tracked, locked or validated. A record that is gone, or has another key by now, proves nothing:
   * then the entry is read.
   *
   * @return false if that did not help; then the entry, or its gap, may be at {@link
   *     StatementContext#entry}
   */
  private boolean getVouched(
      Transaction tx,
      Tx t,
      StatementContext statementContext,
      Key indexKey,
      MemorySegment pk,
      int stageBytes,
      Row out) {
    if (core.isExtracted()) {
      statementContext.entry.clear();
      return false; // its author's code would have to run
    }
    MemorySegment wanted = indexKey.segment();
    long wantedOff = indexKey.base();
    int wantedLen = indexKey.length();
    int n =
        t.peek(core.tree, wanted, wantedOff, wantedLen, pk, 0, stageBytes, statementContext.entry);
    int pkLen = core.hints.keyLength(n);
    if (n < 0 || pkLen < 0 || pkLen > tableCore.keyBytesMax) {
      return false;
    }
    int size =
        core.hints.get(
            statementContext,
            t,
            tableCore,
            core,
            pk,
            0,
            pkLen,
            pk,
            pkLen,
            IndexHints.PEEKED,
            out.buffer());
    int form = LegacyRowReader.AS_IT_IS;
    if (size != tableCore.storedBytes) {
      if (size < 0 || !tableCore.old.knows(size)) {
        return false;
      }
      form =
          LegacyRowReader.settle(
              statementContext, t, tableCore, pk, 0, pkLen, size, out.segment(), out.base());
    }
    MemorySegment entry = statementContext.entries(core.entryBytesMax());
    int len =
        core.build(statementContext, pk, 0, pkLen, out.segment(), out.base(), out.size(), entry, 0);
    if (len != wantedLen || !Mem.equal(entry, 0, len, wanted, wantedOff, len)) {
      return false;
    }
    out.read(tx, pk, 0, pkLen, t.lastRead(), out.size(), form);
    return true;
  }

  /** An entry's value is no primary key with a hint behind it. */
  static CorruptionException wrongKey(TableCore table, IndexCore index, long page, int length) {
    return table.damaged(
        "length of a primary key in index " + index.shown() + " of table " + table.shown(),
        page,
        table.keyBytesMax,
        length);
  }

  /**
   * Reads the record that an entry names.
   *
   * @param hint where the entry's hint is
   * @param entry the handle of the entry's read, or negative
   * @return false if it has expired
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
            out.buffer());
    if (n != table.storedBytes && !(n >= 0 && table.old.knows(n))) {
      t.requireReadsValid();
      if (n < 0 && t.wrote(table.tree, pk, pkOff, pkLen)) {
        throw new InvalidUseException(
            "The transaction has deleted the record that the cursor stands on.");
      }
      throw table.damaged(
          "record that an entry of index " + index.shown() + " names, its size",
          t.page(),
          out.size(),
          n);
    }
    return out.read(tx, t, table, pk, pkOff, pkLen, n, out.size());
  }

  /**
   * Opens a scan in the order of the index.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @param order in which direction
   * @return a cursor before the first entry; its rows are the records, its {@link RowCursor#key}
   *     the primary key; to be closed, and closed with the transaction at last
   */
  @Override
  public RowCursor scan(Transaction tx, Range range, ScanOrder order) {
    Objects.requireNonNull(range, "range");
    Objects.requireNonNull(order, "order");
    requireRows();
    Tx t = tx.enter(table.database(), tableCore);
    try {
      requireThere();
      return RowCursor.open(tx, t, table, core, range, order);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Estimates how many entries are in a range, and how large they are: as {@link
   * RowTable#estimate}.
   *
   * @param tx the transaction
   * @param range which entries, by keys of this index
   * @return the estimate
   * @throws InvalidUseException if a key of the range is another index's, or a table's
   */
  public Estimate estimate(Transaction tx, Range range) {
    Objects.requireNonNull(range, "range");
    requireRows();
    tx.enter(table.database(), tableCore);
    try {
      requireThere();
      return RowCursor.estimate(tx.statementContext(), table.core(), core, range);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * How many entries the index has: as {@link RowTable#count}. An extracted index may have fewer
   * than its table has records.
   *
   * @return the number of entries
   * @throws InvalidUseException if the index or its table was dropped; inside the body of a
   *     transaction, if they have to be counted first
   */
  public long count() {
    return counts().records();
  }

  /**
   * How many bytes its entries have, as they are stored: as {@link RowTable#dataBytes}.
   *
   * @return bytes
   */
  public long dataBytes() {
    return counts().bytes();
  }

  private TreeCounts counts() {
    requireThere();
    return table.database().counts(core.tree);
  }

  private void requireRows() {
    if (tableCore.layout == null) {
      throw new InvalidUseException(
          "Index "
              + core.shown()
              + (core.objects != null
                  ? " is one of objects: ask Table.index for it."
                  : " is one of byte strings: ask RowTable.bytes().index for it."));
    }
  }

  private void require(Key key) {
    requireThere();
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

  private void requireThere() {
    tableCore.requireThere();
    if (tableCore.index(core.name) != core) {
      throw new InvalidUseException(
          "Index "
              + core.shown()
              + " was dropped, or its table was opened again: ask it for the index.");
    }
  }

  @Override
  public String toString() {
    return spec + " of table " + tableCore.shown();
  }

  /** What the schema needs of the rooms above it. */
  static final class SchemaHost implements CatalogCallbacks {
    private final Database database;

    SchemaHost(Database database) {
      this.database = database;
    }

    @Override
    public void transact(Piece piece) {
      // No limit: a verification may keep transactions out for as long as it takes.
      database.runPipelined(
          TxOptions.defaults().timeout(Duration.ZERO),
          tx -> {
            Tx t = tx.enter(database);
            try {
              piece.run(tx.statementContext(), t, tx.attempt());
            } catch (TransactionAbortedException e) {
              throw tx.doom(e);
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

  /** Has a user's extractor make entries, with a key and a row for each slot. */
  static final class Extracted implements EntryMaker {
    private final String index;
    private final IndexSpec.Extractor extractor;
    private final KeySpec tableKey;
    private final Layout tableLayout;
    private final KeySpec key;
    private final SlotLocal<Extraction> extractions = new SlotLocal<>();

    /**
     * Entries of an index.
     *
     * @param tableKey the key of the table, as the extractor's author wrote it
     * @param tableLayout the layout of the table, likewise
     * @param key what the extractor makes
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
        StatementContext statementContext,
        MemorySegment pk,
        long pkOff,
        int pkLen,
        MemorySegment record,
        long recordOff,
        int recordLen,
        MemorySegment out,
        long outOff) {
      Extraction e = extractions.get(statementContext);
      if (e == null) {
        e = new Extraction(tableKey, tableLayout, key);
        extractions.set(statementContext, e);
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

    /** Takes what an extractor of an index has made. */
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

    /** What an extractor is called with, one set per slot. */
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
   * Has a user's extractor make entries of byte strings, with a key for each slot. The extractor
   * gets copies, which it may keep, and which can't change while it reads them.
   */
  static final class ExtractedFromBytes implements EntryMaker {
    private final String index;
    private final IndexSpec.ByteExtractor extractor;
    private final KeySpec key;
    private final SlotLocal<Key> entries = new SlotLocal<>();

    /**
     * Entries of an index.
     *
     * @param key what the extractor makes
     */
    ExtractedFromBytes(String index, IndexSpec.ByteExtractor extractor, KeySpec key) {
      this.index = index;
      this.extractor = extractor;
      this.key = key;
    }

    @Override
    public int make(
        StatementContext statementContext,
        MemorySegment pk,
        long pkOff,
        int pkLen,
        MemorySegment record,
        long recordOff,
        int recordLen,
        MemorySegment out,
        long outOff) {
      Key entry = entries.get(statementContext);
      if (entry == null) {
        entry = new Key(key, this);
        entries.set(statementContext, entry);
      }
      entry.clear();
      byte[] k = EntryScan.copy(pk, pkOff, pkLen);
      byte[] v = EntryScan.copy(record, recordOff, recordLen);
      return extractor.extract(k, v, entry) ? Extracted.take(index, entry, out, outOff) : -1;
    }
  }
}
