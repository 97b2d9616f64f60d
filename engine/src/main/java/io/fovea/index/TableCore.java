package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
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
 * A table of an open database. There is one per name, however often the table is opened; a table of
 * the API is a handle to it with the specification that its user wrote.
 *
 * <p>Safe for use by any thread. {@link #indexes} changes while transactions run ({@link
 * IndexStage}), so a statement reads it once.
 */
public final class TableCore {
  /** Changes when the table is renamed; statements do not read it. */
  public volatile String name;

  public final KeySpec key;
  public final @Nullable Layout layout;

  /** Replaced by a load, at a quiescent point, after all users of the old tree have ended. */
  public volatile BTree tree;

  public final int keyBytesMax;

  public final LegacyRowReader old;

  private final int recordBytes;

  /** The length of a stored row of the newest layout, or -1 if rows have a variable length. */
  public final int storedBytes;

  /** The length of a record that needs no check: {@link #storedBytes}, or -1 if records expire. */
  public int plainBytes;

  /**
   * Null if records do not expire. Changes, like {@link #plainBytes}, only while no transaction is
   * active; the begin of a transaction orders the change before its reads.
   */
  private @Nullable RecordExpiry expiry;

  /**
   * The versions of the table's objects, which only grow; null if the table contains no objects.
   */
  private volatile @Nullable ObjectHistory objects;

  private volatile boolean versionSettling;

  /** The first version whose handles may write objects; rises while older objects are rewritten. */
  private volatile int firstWriter = 1;

  /**
   * By version, whether objects of it may be written in stored form; null if the table contains no
   * objects.
   */
  private volatile boolean @Nullable [] storable;

  /** In order of creation. */
  private volatile IndexCore[] indexes;

  /** Held during a load, an evolution or a drop, and while an index is built or dropped. */
  public final OperationLock changing = new OperationLock("the lock of a table");

  /** {@link State#DROPPING} lasts for the commit of a drop of the table or of a range. */
  private enum State {
    ACTIVE,
    NEW,
    DROPPING,
    DROPPED,
    /** Becomes another version once the transactions that may use it have ended. */
    EVOLVING,
    /** Replaced by the {@code TableCore} of another version. */
    EVOLVED,
    /** The transaction that created it did not commit. */
    NOT_COMMITTED
  }

  private volatile State state = State.ACTIVE;

  /** The transaction that creates the table, and its {@link Tx#epoch}, in state {@code NEW}. */
  private @Nullable Tx maker;

  private long makerEpoch;

  /** Identifies the table in {@link Tx#useTable}; several tables may share a bit. */
  public final long bit;

  /** The version to which the table evolves or has evolved, as text for messages. */
  private volatile String evolving = "";

  /** The table to which its records were migrated, or empty. */
  private volatile String successor = "";

  /** A load merges the records with others, so they must not change. */
  private volatile boolean loading;

  /** A drop is waiting; operations that change the table should stop. */
  private volatile boolean dropPending;

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

  public RowHistory history() {
    return old.history();
  }

  public @Nullable ObjectHistory objects() {
    return objects;
  }

  public void objects(@Nullable ObjectHistory versions) {
    // Before a handle can be opened that writes a version which this adds.
    storable = versions == null ? null : versions.storable(firstWriter);
    objects = versions;
  }

  /**
   * Refuses a change of the table within another one: in the source of a load, the mapper of a
   * migration, or the listener of a rewrite.
   *
   * @param what the change, for the message
   */
  public void requireUnchanging(String what) {
    if (changing.isHeldByCurrentThread()) {
      throw new InvalidUseException(
          "Can't " + what + " within a load, migration or finishEvolution of it.");
    }
  }

  /** Returns whether active transactions may not know the newest version of the objects. */
  public boolean isVersionSettling() {
    return versionSettling;
  }

  /** Called under {@link #changing}, before the version is added and after a grace period. */
  public void versionSettling(boolean settling) {
    versionSettling = settling;
  }

  public int firstWriter() {
    return firstWriter;
  }

  /** Refuses writes by handles of older versions; called under {@link #changing}. */
  public void firstWriter(int version) {
    firstWriter = version;
    objects(objects);
  }

  /**
   * Checks the version of an object in stored form that a user wants to write. Call it in the
   * transaction that writes the object, or within a load.
   *
   * @throws InvalidUseException if it has no version of the table, or one that {@code
   *     finishEvolution} removes or has removed
   */
  public void requireStorable(MemorySegment value, long valueOff, int length) {
    boolean[] versions = storable;
    if (versions != null) {
      int version = length == 0 ? 0 : Byte.toUnsignedInt(Mem.getByte(value, valueOff));
      if (!versions[version]) {
        throw unstorable(version);
      }
    }
  }

  private InvalidUseException unstorable(int version) {
    ObjectHistory known = objects;
    return new InvalidUseException(
        version == 0 || known == null || version > known.version()
            ? "The value is not an object of table "
                + displayName()
                + ": its version is "
                + version
                + ", and table "
                + displayName()
                + " has no such version."
            : "Can't write an object of version "
                + version
                + " in stored form: finishEvolution has rewritten the objects of older classes of"
                + " table "
                + displayName()
                + ", or is doing so. Read the object again, or write it with a handle of the newest"
                + " class.");
  }

  public @Nullable RecordExpiry expiry() {
    return expiry;
  }

  /**
   * Sets how records expire. Call it before the table is used, or while no transaction is active.
   */
  public void expire(@Nullable RecordExpiry by) {
    expiry = by;
    plainBytes = by == null ? storedBytes : -1;
  }

  /** Returns whether a write has to maintain indexes, check expiry or pack the record. */
  public boolean maintains(IndexCore[] all) {
    return all.length > 0 || plainBytes < 0;
  }

  /** Inserts a record in stored form. The caller maintains the indexes. */
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

  /** Returns whether a delete has to read the record. */
  public boolean deleteReadsRecord(IndexCore[] all) {
    return all.length > 0 || expiry != null;
  }

  public @Nullable PackedRows packed() {
    return old.packed;
  }

  /** Returns whether all changed fields of a record of variable length can be written in place. */
  public boolean patches(RecordBuffer record) {
    PackedRows packed = old.packed;
    return packed != null
        && record.form() == LegacyRowReader.UNPACKED
        && record.nextChanged(packed.firstOrdinal()) < 0;
  }

  /**
   * Returns whether a record whose length is not {@link #plainBytes}, and of which {@code bytes}
   * were read, is hidden.
   */
  public boolean hides(
      StatementContext context,
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
        ? by.hides(context, t, record, recordOff)
        : RecordExpiry.isHidden(context, t, this, key, keyOff, keyLen);
  }

  /** Returns whether an object or a byte string, read in full, is hidden. */
  public boolean hides(
      StatementContext context, Tx t, MemorySegment value, long valueOff, int length) {
    RecordExpiry by = expiry;
    return by != null && by.hides(context, t, value, valueOff, length);
  }

  /** Returns whether a record of which only the length was read is visible. */
  public boolean shows(
      StatementContext context, Tx t, MemorySegment key, long keyOff, int keyLen, int length) {
    return length == plainBytes || !hides(context, t, key, keyOff, keyLen, length, key, keyOff, 0);
  }

  /** Returns the indexes that statements maintain, at any stage. */
  public IndexCore[] indexes() {
    return indexes;
  }

  /** Returns the indexes that queries can use. */
  public List<IndexCore> readable() {
    return Arrays.stream(indexes).filter(i -> i.stage == IndexStage.READABLE).toList();
  }

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

  public synchronized void replace(IndexCore one, IndexCore by) {
    IndexCore[] all = indexes.clone();
    for (int i = 0; i < all.length; i++) {
      all[i] = all[i] == one ? by : all[i];
    }
    indexes = all;
  }

  /** Removes the index that has the given tree. Later statements do not see it. */
  public synchronized void remove(BTree of) {
    indexes = Arrays.stream(indexes).filter(i -> i.tree != of).toArray(IndexCore[]::new);
  }

  public boolean isDropPending() {
    return dropPending;
  }

  public void setDropPending(boolean is) {
    dropPending = is;
  }

  public String displayName() {
    return NameText.of(name);
  }

  public int recordBytes() {
    return recordBytes;
  }

  public KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("table " + displayName(), bytes, keyBytesMax);
  }

  public CorruptionException wrongSize(long page, int bytes) {
    return damaged("size of a record of table " + displayName(), page, recordBytes(), bytes);
  }

  public CorruptionException longKey(long page, int maxBytes, int bytes) {
    return damaged("length of a key of table " + displayName(), page, maxBytes, bytes);
  }

  /**
   * Returns the exception for an impossible value in a page of the table or of one of its indexes.
   */
  public CorruptionException damaged(String what, long page, long expected, long found) {
    long offset = page < 0 ? -1 : page * tree.pool().pageSize();
    return new CorruptionException(what, page, offset, expected, found);
  }

  // --------------------------------------------------------------------------------------- state

  /**
   * Registers the use of the table by a statement.
   *
   * <p>Order: the transaction first records the use, then reads the state. A transaction that drops
   * the table first sets the state, then asks the others, starting at a point in the commit order,
   * for their uses ({@link io.fovea.txn.CommitGate}). So every transaction that still found the
   * table and is decided after that point is asked.
   *
   * @return whether the statement may use the table; if not, {@link #refusal} returns the reason
   */
  public boolean use(Tx t) {
    return !t.useTable(bit) & state == State.ACTIVE || state == State.NEW && isMadeBy(t);
  }

  private boolean isMadeBy(Tx t) {
    return maker == t && makerEpoch == t.epoch();
  }

  /**
   * Returns the exception for a statement that may not use the table. Null if it may: the recorded
   * use was of another table with the same bit, which this transaction has dropped.
   *
   * @param owned whether the transaction has dropped this table
   */
  public @Nullable RuntimeException refusal(Tx t, boolean owned) {
    if (owned) {
      return new InvalidUseException(
          "Table " + displayName() + " was dropped by this transaction.");
    }
    return switch (state) {
      case ACTIVE -> null;
      case DROPPING ->
          t.abort(
              AbortCause.CATALOG,
              "another thread is dropping or migrating table "
                  + displayName()
                  + " or deleting a range of it");
      case NEW ->
          new InvalidUseException(
              "Table "
                  + displayName()
                  + " can be used once the transaction that creates it has committed.");
      case DROPPED, NOT_COMMITTED, EVOLVING, EVOLVED -> unusable();
    };
  }

  private InvalidUseException unusable() {
    if (state == State.EVOLVING || state == State.EVOLVED) {
      return new InvalidUseException(
          "Table "
              + displayName()
              + " is now open as "
              + evolving
              + ", and this is a handle of version "
              + history().version()
              + ". Use the handle that Database.table returned for the new specification.");
    }
    if (!successor.isEmpty()) {
      return new InvalidUseException(
          "Table "
              + displayName()
              + " was migrated to table "
              + NameText.of(successor)
              + ". Use the handle that Database.table returns for the new specification.");
    }
    return new InvalidUseException(
        "Table "
            + displayName()
            + (state == State.NOT_COMMITTED
                ? " does not exist: the transaction that created it did not commit."
                : " was dropped."));
  }

  /** Reserves the table for the transaction that creates it, until that transaction commits. */
  public void madeBy(Tx t) {
    maker = t;
    makerEpoch = t.epoch();
    state = State.NEW;
  }

  public boolean isNew() {
    return state == State.NEW;
  }

  /** Refuses all statements until {@link #made}: a migration fills the table. */
  public void prepare() {
    state = State.NEW;
  }

  /** Publishes the table, after the commit of the transaction that created it. */
  public void made() {
    state = State.ACTIVE;
    maker = null;
  }

  /** Invalidates the table after its creating transaction has ended without a commit. */
  public void markRolledBack() {
    state = State.NOT_COMMITTED;
    maker = null;
  }

  /** Begins or ends the commit of a transaction that drops the table or removes a range of it. */
  public void setCommittingDrop(boolean is) {
    state = is ? State.DROPPING : State.ACTIVE;
  }

  public void drop() {
    state = State.DROPPED;
  }

  /** Drops the table after its records were migrated to another one. */
  public void drop(String migratedTo) {
    successor = migratedTo;
    state = State.DROPPED;
  }

  /**
   * Refuses all further statements. Active transactions may have used the table before ({@link
   * io.fovea.txn.GracePeriod}).
   *
   * @param to the target, for example {@code version 2}
   */
  public void evolve(String to) {
    evolving = to;
    state = State.EVOLVING;
  }

  public void cancelEvolution() {
    state = State.ACTIVE;
  }

  /** Ends an evolution: another {@code TableCore} now has the tree. */
  public void evolved() {
    state = State.EVOLVED;
  }

  /** Returns whether statements are refused, except those of the creating transaction. */
  public boolean isRefused() {
    return state == State.EVOLVING || isDropped();
  }

  public boolean isEvolved() {
    return state == State.EVOLVED;
  }

  public void requireUsable() {
    if (isDropped()) {
      throw unusable();
    }
  }

  /**
   * Returns whether the table is gone: dropped, never committed, or replaced by another version.
   */
  public boolean isDropped() {
    State s = state;
    return s == State.DROPPED || s == State.NOT_COMMITTED || s == State.EVOLVED;
  }

  /** Begins or ends a load, during which records must not change. */
  public void loading(boolean is) {
    loading = is;
  }

  public boolean isLoading() {
    return loading;
  }

  public void requireChangeable() {
    if (loading) {
      throw new InvalidUseException(
          "Table "
              + displayName()
              + " is being loaded. Until the load ends, its records can only be read.");
    }
  }
}
