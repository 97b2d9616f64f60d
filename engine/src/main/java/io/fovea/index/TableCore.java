package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.OperationLock;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A table as the database knows it: one per name, however often it was opened. A table of the API
 * is a handle to it that remembers the specification that its user wrote.
 *
 * <p>Any thread. {@link #indexes} changes beside transactions, as {@link IndexStage} says; a
 * statement reads it once.
 */
public final class TableCore {
  /** Changes when the table is renamed, and never on the way of a statement. */
  public volatile String name;

  public final KeySpec key;
  public final @Nullable Layout layout;

  /** Another one after a load, at a moment between commits: what has read this one has ended. */
  public volatile BTree tree;

  public final int keyBytesMax;

  /** Rows of other layouts than this one. */
  public final LegacyRowReader old;

  private final int recordBytes;

  /**
   * The bytes of a row in the tree that memory has as it is: those of the newest layout; -1 where
   * there are none, since rows have a variable length.
   */
  public final int storedBytes;

  /**
   * The size of a record that is delivered without another look: {@link #storedBytes}, or one that
   * none has, where rows expire. So a read that compares the size anyway pays nothing for it.
   */
  public int plainBytes;

  /**
   * How records expire; null where they don't. Like {@link #plainBytes} it changes while no
   * transaction is active, and beginning one orders what it sees.
   */
  private @Nullable RecordExpiry expiry;

  /** The versions of a table of objects; null for another one. It only gets longer. */
  private volatile @Nullable ObjectHistory objects;

  /** In the order of their creation. */
  private volatile IndexCore[] indexes;

  /** Held while the table is loaded, evolves or is dropped, and while an index is built or goes. */
  public final OperationLock changing = new OperationLock("the lock of a table");

  /**
   * What statements may do with it. {@link State#GOING} lasts as long as the commit of a
   * transaction that drops it, or takes a range out of it.
   */
  private enum State {
    THERE,
    /** Only the transaction that makes it uses it. */
    NEW,
    GOING,
    DROPPED,
    /** It becomes one of another version, when transactions have ended that may have used it. */
    EVOLVING,
    /** It has become one of another version: another object. */
    EVOLVED,
    /** The transaction that has made it did not commit. */
    NEVER
  }

  private volatile State state = State.THERE;

  /** Of one that is new: the transaction that makes it, and {@link Tx#epoch} of that. */
  private @Nullable Tx maker;

  private long makerEpoch;

  /** Says which tables a transaction has used, by {@link Tx#use}; several may share it. */
  public final long bit;

  /** What it evolves to, or has evolved to, in words. */
  private volatile String evolving = "";

  /** Its records are read, to be merged with others: nobody changes them. */
  private volatile boolean loading;

  /** Somebody waits to drop it: what changes it gives up. */
  private volatile boolean leaving;

  /**
   * Makes one.
   *
   * @param history of its rows; of a table of byte strings that of no fields
   */
  public TableCore(
      String name,
      KeySpec key,
      @Nullable Layout layout,
      RowHistory history,
      BTree tree,
      IndexCore[] indexes) {
    this.name = name;
    this.key = key;
    this.layout = layout;
    this.tree = tree;
    this.keyBytesMax = Math.min(key.maxBytes(), tree.maxKeySize());
    this.indexes = indexes;
    this.bit = 1L << (tree.treeId() & 63);
    this.recordBytes = history.length();
    this.old = new LegacyRowReader(history, layout == null ? Layout.define().build() : layout);
    this.storedBytes = old.packed == null ? recordBytes : -1;
    this.plainBytes = storedBytes;
  }

  /** The versions of its rows. */
  public RowHistory history() {
    return old.history();
  }

  /** The versions of its objects; null where it holds none. */
  public @Nullable ObjectHistory objects() {
    return objects;
  }

  /** Says which versions its objects have. */
  public void objects(@Nullable ObjectHistory versions) {
    objects = versions;
  }

  /** How records expire; null where they don't. */
  public @Nullable RecordExpiry expiry() {
    return expiry;
  }

  /** Lets records expire, or not. Before the table is used, or while no transaction is active. */
  public void expire(@Nullable RecordExpiry by) {
    expiry = by;
    plainBytes = by == null ? storedBytes : -1;
  }

  /**
   * Whether a statement that writes a record does more than that: looks at indexes, or whether one
   * has expired, or packs the record.
   *
   * @param all what {@link #indexes()} said
   */
  public boolean maintains(IndexCore[] all) {
    return all.length > 0 || plainBytes < 0;
  }

  /**
   * Adds a record to its tree, as it is stored; its indexes are the caller's.
   *
   * @throws DuplicateKeyException if the key is there
   */
  public void insert(
      Tx t,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment stored,
      long storedOff,
      int bytes) {
    try {
      t.insert(tree, key, keyOff, keyLen, stored, storedOff, bytes);
    } catch (DuplicateKeyException e) {
      throw DuplicateKeyException.ofInsert(name, e.key()); // the tree does not know its table
    }
  }

  /** Whether a statement that removes a record looks at it. */
  public boolean looks(IndexCore[] all) {
    return all.length > 0 || expiry != null;
  }

  /** How rows of variable length are made; null where they have one length. */
  public @Nullable PackedRows packed() {
    return old.packed;
  }

  /** Whether all that has changed of a record of variable length can be written in its place. */
  public boolean patches(RecordBuffer record) {
    PackedRows packed = old.packed;
    return packed != null
        && record.form() == LegacyRowReader.UNPACKED
        && record.nextChanged(packed.firstOrdinal()) < 0;
  }

  /**
   * Whether a transaction does not see a record that was read and has not {@link #plainBytes}.
   *
   * @param length its length
   * @param record what was read of it
   * @param bytes how many bytes that are
   */
  public boolean hides(
      StatementContext statementContext,
      Tx t,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int length,
      MemorySegment record,
      long recordOff,
      int bytes) {
    RecordExpiry by = expiry;
    if (by == null) {
      return false;
    }
    boolean inPlace = layout != null && old.isInPlace(length, by.end());
    return inPlace && bytes >= by.end()
        ? by.hides(statementContext, t, record, recordOff)
        : RecordExpiry.isHidden(statementContext, t, this, key, keyOff, keyLen);
  }

  /** Whether a transaction does not see an object or a byte string that was read as a whole. */
  public boolean hides(
      StatementContext statementContext, Tx t, MemorySegment value, long valueOff, int length) {
    RecordExpiry by = expiry;
    return by != null && by.hides(statementContext, t, value, valueOff, length);
  }

  /** Whether a transaction sees a record of which only the length was read. */
  public boolean shows(
      StatementContext statementContext,
      Tx t,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int length) {
    return length == plainBytes
        || !hides(statementContext, t, key, keyOff, keyLen, length, key, keyOff, 0);
  }

  /** Those that statements which change records keep up to date, whatever their stage. */
  public IndexCore[] indexes() {
    return indexes;
  }

  /** Those that are used. */
  public List<IndexCore> readable() {
    return Arrays.stream(indexes).filter(i -> i.stage == IndexStage.READABLE).toList();
  }

  /** One that is used. */
  public @Nullable IndexCore index(String indexName) {
    for (IndexCore i : indexes) {
      if (i.stage == IndexStage.READABLE && i.name.equals(indexName)) {
        return i;
      }
    }
    return null;
  }

  public synchronized void add(IndexCore index) {
    IndexCore[] longer = Arrays.copyOf(indexes, indexes.length + 1);
    longer[indexes.length] = index;
    indexes = longer;
  }

  /** Puts another object in the place of one; does nothing where that is not there. */
  public synchronized void replace(IndexCore one, IndexCore by) {
    IndexCore[] all = indexes.clone();
    for (int i = 0; i < all.length; i++) {
      all[i] = all[i] == one ? by : all[i];
    }
    indexes = all;
  }

  /** Statements know nothing of the index with this tree from now on. */
  public synchronized void remove(BTree of) {
    indexes = Arrays.stream(indexes).filter(i -> i.tree != of).toArray(IndexCore[]::new);
  }

  public boolean isLeaving() {
    return leaving;
  }

  public void leaving(boolean is) {
    leaving = is;
  }

  /** The name in a message. */
  public String shown() {
    return NameText.of(name);
  }

  /** The bytes of a record of the newest layout in memory; in the tree it has no more. */
  public int recordBytes() {
    return recordBytes;
  }

  public KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("table " + shown(), bytes, keyBytesMax);
  }

  public CorruptionException wrongSize(long page, int bytes) {
    return damaged("size of a record of table " + shown(), page, recordBytes(), bytes);
  }

  public CorruptionException longKey(long page, int maxBytes, int bytes) {
    return damaged("length of a key of table " + shown(), page, maxBytes, bytes);
  }

  /** What is found in a page that can't be so: of the table, or of an index of it. */
  public CorruptionException damaged(String what, long page, long expected, long found) {
    long offset = page < 0 ? -1 : page * tree.pool().pageSize();
    return new CorruptionException(what, page, offset, expected, found);
  }

  // --------------------------------------------------------------------------------------- there?

  /**
   * A statement of a transaction uses the table.
   *
   * <p>Order: the transaction remembers the table first, and looks at the state then. A transaction
   * that drops the table does it the other way round: the state, then the moment from which on
   * others are asked what they remember ({@link io.fovea.txn.CommitGate}). So who finds the table
   * there is asked, if it decides behind that moment.
   *
   * @return whether it may; {@link #refusal} says why not
   */
  public boolean use(Tx t) {
    return !t.use(bit) & state == State.THERE || state == State.NEW && isMadeBy(t);
  }

  private boolean isMadeBy(Tx t) {
    return maker == t && makerEpoch == t.epoch();
  }

  /**
   * What is told to a statement that may not use it; null where it may, for it was another table
   * that this transaction has dropped.
   *
   * @param mine whether the transaction has dropped this one
   */
  public @Nullable RuntimeException refusal(Tx t, boolean mine) {
    if (mine) {
      return new InvalidUseException("Table " + shown() + " was dropped by this transaction.");
    }
    return switch (state) {
      case THERE -> null;
      case GOING ->
          t.abort(
              AbortCause.CATALOG,
              "table " + shown() + " is being dropped, or loses a range, by another transaction");
      case NEW ->
          new InvalidUseException(
              "Table " + shown() + " is there when the transaction that creates it has committed.");
      case DROPPED, NEVER, EVOLVING, EVOLVED -> gone();
    };
  }

  private InvalidUseException gone() {
    if (state == State.EVOLVING || state == State.EVOLVED) {
      return new InvalidUseException(
          "Table "
              + shown()
              + " is opened as "
              + evolving
              + " now, and this is a handle of version "
              + history().version()
              + ": use the one that Database.table has returned for the new specification.");
    }
    return new InvalidUseException(
        "Table "
            + shown()
            + (state == State.NEVER
                ? " was never there: the transaction that created it did not commit."
                : " was dropped."));
  }

  /** A transaction makes it, and nobody else uses it before that has committed. */
  public void madeBy(Tx t) {
    maker = t;
    makerEpoch = t.epoch();
    state = State.NEW;
  }

  /** Whether only the transaction that makes it uses it. */
  public boolean isNew() {
    return state == State.NEW;
  }

  /** The transaction that made it has committed. */
  public void made() {
    state = State.THERE;
    maker = null;
  }

  /** The transaction that made it has ended, and it is no table. */
  public void markRolledBack() {
    state = State.NEVER;
    maker = null;
  }

  /** A transaction that drops it, or takes a range out of it, commits; or has done, or failed. */
  public void going(boolean is) {
    state = is ? State.GOING : State.THERE;
  }

  public void drop() {
    state = State.DROPPED;
  }

  /**
   * Statements are refused from now on. Those of transactions that are active now may have come
   * before ({@link io.fovea.txn.GracePeriod}).
   *
   * @param to what it evolves to, as in {@code version 2}
   */
  public void evolve(String to) {
    evolving = to;
    state = State.EVOLVING;
  }

  /** It stays what it was. */
  public void stay() {
    state = State.THERE;
  }

  /** Another one has its tree. */
  public void evolved() {
    state = State.EVOLVED;
  }

  /** Whether no statement may use it, but that of a transaction that makes it. */
  public boolean isRefused() {
    return state == State.EVOLVING || isDropped();
  }

  /** Whether another one has its tree. */
  public boolean isEvolved() {
    return state == State.EVOLVED;
  }

  public void requireThere() {
    if (isDropped()) {
      throw gone();
    }
  }

  /**
   * Whether it is no table of the database any more: it was dropped, or another one has its tree.
   */
  public boolean isDropped() {
    State s = state;
    return s == State.DROPPED || s == State.NEVER || s == State.EVOLVED;
  }

  /** Begins and ends to refuse changes of records. */
  public void loading(boolean is) {
    loading = is;
  }

  /** Whether records may not be changed now, for that. */
  public boolean isLoading() {
    return loading;
  }

  /** Throws where records may not be changed now. */
  public void requireChangeable() {
    if (loading) {
      throw new InvalidUseException(
          "Table "
              + shown()
              + " is being loaded: its records can be read, and changed when the load has ended.");
    }
  }
}
