package io.fovea;

import io.fovea.btree.RangeEstimate;
import io.fovea.catalog.LoadFeed;
import io.fovea.error.InvalidUseException;
import io.fovea.index.ByteReads;
import io.fovea.index.ByteStage;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A table whose keys and values are plain byte strings: the stored form of every table except
 * tables of rows.
 */
final class ByteTable extends Table<byte[], byte[]> {
  private final RowTable table;
  private final Database database;
  private final TableCore core;
  private final ByteStage stage;

  ByteTable(RowTable table) {
    this.table = table;
    this.database = table.database();
    this.core = table.core();
    this.stage = new ByteStage(core);
  }

  @Override
  public RowTable table() {
    return table;
  }

  @Override
  int compare(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b);
  }

  @Override
  Coding<byte[], byte[]> coding() {
    return Coding.IDENTITY;
  }

  // ------------------------------------------------------------------------------------- reading

  @Override
  public byte @Nullable [] get(Transaction tx, byte[] key) {
    Tx t = tx.enter(database, core);
    try {
      StatementContext context = tx.statementContext();
      MemorySegment k = stage.key(context, key);
      int n = ByteReads.value(t, context, core, k, key.length);
      if (n < 0) {
        return null;
      }
      return ByteReads.taken(context, n);
    } finally {
      tx.exit();
    }
  }

  @Override
  public long get(Transaction tx, MemorySegment key, MemorySegment out) {
    Objects.requireNonNull(out, "out");
    Tx t = tx.enter(database, core);
    try {
      StatementContext context = tx.statementContext();
      MemorySegment k = stage.key(context, key);
      int n = ByteReads.value(t, context, core, k, (int) key.byteSize());
      if (n >= 0) {
        MemorySegment.copy(context.valueStage(n), 0, out, 0, Math.min(n, out.byteSize()));
      }
      return n;
    } finally {
      tx.exit();
    }
  }

  @Override
  void lockForUpdate(Transaction tx, byte[] key) {
    lockForUpdate(tx, MemorySegment.ofArray(key));
  }

  void lockForUpdate(Transaction tx, MemorySegment key) {
    Tx t = tx.enter(database, core);
    try {
      MemorySegment k = stage.key(tx.statementContext(), key);
      t.lockForUpdate(core.tree, k, 0, (int) key.byteSize());
    } finally {
      tx.exit();
    }
  }

  @Override
  public List<byte @Nullable []> getAll(Transaction tx, Collection<? extends byte[]> keys) {
    byte[][] all = keys.toArray(byte[][]::new);
    byte[] @Nullable [] values = new byte[all.length][];
    for (int from = 0; from < all.length; from += ByteReads.KEYS_MAX) {
      int to = Math.min(all.length, from + ByteReads.KEYS_MAX);
      Tx t = tx.enter(database, core);
      try {
        for (int i = from; i < to; i++) {
          stage.requireKey(Objects.requireNonNull(all[i], "key").length);
        }
        ByteReads.readAll(t, tx.statementContext(), core, all, values, from, to);
      } finally {
        tx.exit();
      }
    }
    return Arrays.asList(values);
  }

  @Override
  public boolean exists(Transaction tx, byte[] key) {
    Tx t = tx.enter(database, core);
    try {
      StatementContext context = tx.statementContext();
      MemorySegment k = stage.key(context, key);
      int n = t.getAlone(core.tree, k, 0, key.length, k, 0, 0);
      return n >= 0 && !RecordExpiry.isHidden(context, t, core, k, 0, key.length);
    } finally {
      tx.exit();
    }
  }

  @Override
  public Estimate estimate(Transaction tx, byte @Nullable [] from, byte @Nullable [] to) {
    return estimate(tx, from, to, false);
  }

  @Override
  public Estimate estimatePrefix(Transaction tx, byte[] prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return estimate(tx, prefix, prefix, true);
  }

  /** Estimates an interval; for a prefix, {@code to} is the prefix. */
  private Estimate estimate(
      Transaction tx, byte @Nullable [] from, byte @Nullable [] to, boolean prefix) {
    tx.enter(database, core);
    try {
      core.requireUsable();
      int loLen = from == null ? 0 : from.length;
      int hiLen = stage.interval(tx.statementContext(), from, to, prefix);
      if (hiLen == ByteStage.EMPTY) {
        return new Estimate(0, 0);
      }
      MemorySegment s = tx.statementContext().keyStage(0);
      RangeEstimate e =
          RangeEstimate.of(core.tree, s, 0, loLen == 0 ? -1 : loLen, true, s, loLen, hiLen, false);
      return new Estimate(e.entries(), e.bytes());
    } finally {
      tx.exit();
    }
  }

  // ------------------------------------------------------------------------------------- writing

  @Override
  public void insert(Transaction tx, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    insert(
        tx,
        MemorySegment.ofArray(Objects.requireNonNull(key, "key")),
        MemorySegment.ofArray(value));
  }

  @Override
  public void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    Tx t = tx.enter(database, core);
    try {
      if (core.maintains(core.indexes())) {
        write(tx, t, key, value, true);
        return;
      }
      MemorySegment k = stage.key(tx.statementContext(), key);
      MemorySegment v = stage.value(tx.statementContext(), value);
      core.requireChangeable();
      core.requireStorable(v, 0, (int) value.byteSize());
      core.insert(t, k, 0, (int) key.byteSize(), v, 0, (int) value.byteSize());
    } finally {
      tx.exit();
    }
  }

  @Override
  public void put(Transaction tx, byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    put(
        tx,
        MemorySegment.ofArray(Objects.requireNonNull(key, "key")),
        MemorySegment.ofArray(value));
  }

  @Override
  public void put(Transaction tx, MemorySegment key, MemorySegment value) {
    Tx t = tx.enter(database, core);
    try {
      if (core.maintains(core.indexes())) {
        write(tx, t, key, value, false);
        return;
      }
      MemorySegment k = stage.key(tx.statementContext(), key);
      MemorySegment v = stage.value(tx.statementContext(), value);
      core.requireChangeable();
      core.requireStorable(v, 0, (int) value.byteSize());
      t.put(core.tree, k, 0, (int) key.byteSize(), v, 0, (int) value.byteSize());
    } finally {
      tx.exit();
    }
  }

  /** Writes a record and its index entries. */
  private void write(Transaction tx, Tx t, MemorySegment key, MemorySegment value, boolean insert) {
    StatementContext context = tx.statementContext();
    stage.requireKey(Objects.requireNonNull(key, "key").byteSize());
    MemorySegment v = stage.value(context, value);
    int length = (int) value.byteSize();
    core.requireChangeable();
    core.requireStorable(v, 0, length);
    stage.write(context, t, core.indexes(), key, v, length, insert);
  }

  @Override
  public boolean delete(Transaction tx, byte[] key) {
    return delete(tx, MemorySegment.ofArray(Objects.requireNonNull(key, "key")));
  }

  @Override
  public boolean delete(Transaction tx, MemorySegment key) {
    Tx t = tx.enter(database, core);
    try {
      if (core.deleteReadsRecord(core.indexes())) {
        stage.requireKey(Objects.requireNonNull(key, "key").byteSize());
        core.requireChangeable();
        return stage.delete(tx.statementContext(), t, core.indexes(), key);
      }
      MemorySegment k = stage.key(tx.statementContext(), key);
      core.requireChangeable();
      return t.delete(core.tree, k, 0, (int) key.byteSize());
    } finally {
      tx.exit();
    }
  }

  @Override
  long deleteRange(Transaction tx, Interval<byte[]> interval, long max) {
    return deleteRange(tx, interval, false, max);
  }

  @Override
  public long deletePrefix(Transaction tx, byte[] prefix) {
    return deleteRange(tx, prefix(prefix), true, Long.MAX_VALUE);
  }

  private static Interval<byte[]> prefix(byte[] prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return new Interval<>(prefix, true, prefix, false);
  }

  private long deleteRange(Transaction tx, Interval<byte[]> interval, boolean prefix, long max) {
    RowCursor.checkMost(max);
    Tx t = tx.enter(database, core);
    try {
      core.requireUsable();
      core.requireChangeable();
      t.requireWritable();
      TxScan scan = open(tx, t, interval, prefix, ScanOrder.ASCENDING);
      return RowCursor.delete(tx, t, core, scan, max);
    } finally {
      tx.exit();
    }
  }

  @Override
  <X extends Exception> void feed(
      LoadFeed.Sink sink, LoadSource<? super TableLoad<byte[], byte[]>, X> source) throws X {
    try (StoredLoad stored = new StoredLoad(core, sink)) {
      source.run(
          new TableLoad<>(
              (key, value) -> {
                Objects.requireNonNull(key, "key");
                Objects.requireNonNull(value, "value");
                stored.add(MemorySegment.ofArray(key), MemorySegment.ofArray(value));
              },
              stored));
    }
  }

  @Override
  public <I> Index<I, byte[], byte[]> index(String name, Class<I> keys) {
    Objects.requireNonNull(keys, "keys");
    Objects.requireNonNull(name, "name");
    if (core.objects() != null) {
      throw new InvalidUseException(
          "Table " + core.displayName() + " holds objects: get its indexes with Table.index.");
    }
    RowIndex index = table.index(name);
    if (keys != Key.class) {
      throw new IllegalArgumentException(
          "The keys of " + index + " are of class Key, not of " + keys.getName() + ".");
    }
    @SuppressWarnings("unchecked") // I is Key
    IndexKeys<I> by = (IndexKeys<I>) new IndexKeys.OfParts(index.core());
    return new Index<>(index, by, () -> Coding.IDENTITY);
  }

  // ------------------------------------------------------------------------------------- scanning

  @Override
  Cursor<byte[], byte[]> open(Transaction tx, Interval<byte[]> interval, ScanOrder order) {
    return open(tx, interval, false, order, Coding.IDENTITY);
  }

  @Override
  public Cursor<byte[], byte[]> scanPrefix(Transaction tx, byte[] prefix, ScanOrder order) {
    return openPrefix(tx, prefix, order, Coding.IDENTITY);
  }

  <K, V> Cursor<K, V> openPrefix(
      Transaction tx, byte[] prefix, ScanOrder order, Coding<K, V> coding) {
    return open(tx, prefix(prefix), true, Objects.requireNonNull(order, "order"), coding);
  }

  /** Opens a scan that decodes keys and values. */
  <K, V> Cursor<K, V> open(
      Transaction tx,
      Interval<byte[]> interval,
      boolean prefix,
      ScanOrder order,
      Coding<K, V> coding) {
    Tx t = tx.enter(database, core);
    try {
      core.requireUsable();
      return new EntryScan<>(tx, table, open(tx, t, interval, prefix, order), coding);
    } finally {
      tx.exit();
    }
  }

  /**
   * Opens the scan of an interval, or returns null if it is empty. A prefix is passed as both ends.
   */
  private @Nullable TxScan open(
      Transaction tx, Tx t, Interval<byte[]> interval, boolean prefix, ScanOrder order) {
    byte[] from = interval.lo();
    int loLen = from == null ? 0 : from.length;
    int hiLen = stage.interval(tx.statementContext(), from, interval.hi(), prefix);
    if (hiLen == ByteStage.EMPTY) {
      return null;
    }
    MemorySegment s = tx.statementContext().keyStage(0);
    return t.scan(
        core.tree,
        s,
        0,
        loLen == 0 ? -1 : loLen,
        interval.loInclusive(),
        s,
        loLen,
        hiLen,
        interval.hiInclusive(),
        order == ScanOrder.DESCENDING);
  }
}
