package io.fovea.streams;

import io.fovea.Database;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.error.FoveaException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;

/**
 * The state of one open store: the rows of its table and the writes since.
 *
 * <pre>
 *   put ──► PendingWrites ── commit, spill ──► table, record     one transaction
 *               │                                 │
 *               └──────────── get, rows ──────────┘              pending writes hide the table
 * </pre>
 *
 * <p><b>Commit.</b> Rows, changelog offsets, position and stream time are written by one
 * transaction ({@link TaskCommits}). So neither offset nor position is ever ahead of the rows.
 *
 * <p><b>Spill.</b> Too many pending writes go to the table without a commit. Under exactly-once the
 * same transaction removes the offsets: uncommitted rows are never stored together with an offset.
 * Under at-least-once the offset stays, and the changelog is applied again from there.
 *
 * <p><b>Generation.</b> Even; odd while rows go to the table. A reader that finds the same number
 * before and after reading the table knows that the table did not change meanwhile. A row is
 * pending until it is in the table: {@code pending} is replaced after the transaction, and before
 * the generation becomes even again.
 *
 * <p>Threading: one thread at a time writes, commits and closes. Any thread reads. The monitor
 * guards what a write and a view must see together: pending writes and position. It is held for a
 * few instructions, and no other lock is taken under it.
 */
final class StoreState implements RowSource {
  private static final int PAGE_BYTES_MAX = 256 << 10;

  /** Reads wait for a commit, however long it takes, and never abort one. */
  private static final TxOptions READING =
      TxOptions.forReading().pessimisticAfterAborts(Integer.MAX_VALUE);

  private final Instance instance;
  private final String id;
  private final String name;
  private final byte[] key;
  private final StoreRecord record;
  private final RowTable table;
  private final TaskCommits task;
  private final boolean exactlyOnce;
  private final StoreSensors sensors;
  private final Object monitor = new Object();
  private final Position position;

  private volatile PendingWrites pending = new PendingWrites();
  private volatile int generation;
  private volatile long streamTime;
  private volatile boolean closed;
  private boolean staged;

  /** Rows below it have expired; the next transaction deletes them. */
  private byte @Nullable [] cut;

  private boolean cutChanged;

  /** Growth of the pending bytes that the instance has not counted yet. */
  private long grown;

  /** Open views; changed under the monitor or by the thread that closes a view. */
  private final Set<StoreView> views = ConcurrentHashMap.newKeySet();

  /** The newest version of {@code pending} that a view sees. Guarded by the monitor. */
  private long newestView = PendingWrites.NO_VIEW;

  /** Whether the record has changed. */
  private boolean recordChanged;

  /** Whether writes other than restored ones are pending and not covered by a commit. */
  private boolean uncommitted;

  StoreState(
      Instance instance,
      String id,
      String name,
      byte[] key,
      StoreRecord record,
      Position position,
      RowTable table,
      TaskCommits task,
      boolean exactlyOnce,
      StoreSensors sensors) {
    this.sensors = sensors;
    this.instance = instance;
    this.id = id;
    this.name = name;
    this.key = key;
    this.record = record;
    this.position = position;
    this.table = table;
    this.task = task;
    this.exactlyOnce = exactlyOnce;
    this.streamTime = record.streamTime;
    task.opened();
  }

  String name() {
    return name;
  }

  StoreRecord record() {
    return record;
  }

  Position position() {
    return position;
  }

  @Override
  public long streamTime() {
    return streamTime;
  }

  void setStreamTime(long time) {
    streamTime = time;
  }

  @Override
  public long segmentMillis() {
    return record.segmentMillis;
  }

  // -------------------------------------------------------------------------------------- reading

  @Override
  public byte @Nullable [] get(byte[] k) {
    PendingWrites.Version v = pending.get(k, PendingWrites.NEWEST);
    return v != null ? v.value : stored(table, k);
  }

  /** Reads a row of the table, from the database or a snapshot. */
  static byte @Nullable [] stored(RowTable in, byte[] k) {
    return in.database().<byte @Nullable [], RuntimeException>call(READING, tx -> in.get(tx, k));
  }

  @Override
  public PendingWrites pending() {
    return pending;
  }

  @Override
  public long number() {
    return PendingWrites.NEWEST;
  }

  @Override
  public int generation() {
    return generation;
  }

  @Override
  public Page page(ByteInterval interval, boolean forward, int most) {
    return page(table, interval, forward, most);
  }

  /** Reads rows of the table, from the database or a snapshot. */
  static Page page(RowTable in, ByteInterval interval, boolean forward, int most) {
    return in.database()
        .call(
            READING,
            tx -> {
              List<Map.Entry<byte[], byte[]>> rows = new ArrayList<>();
              int[] bytes = {0};
              in.scan(
                  tx,
                  interval,
                  forward,
                  (k, v) -> {
                    rows.add(Map.entry(k, v));
                    bytes[0] += k.length + v.length;
                    return rows.size() < most && bytes[0] < PAGE_BYTES_MAX;
                  });
              return new Page(rows, rows.size() == most || bytes[0] >= PAGE_BYTES_MAX);
            });
  }

  // ---------------------------------------------------------------------------------------- views

  /**
   * Opens a view of the current contents.
   *
   * @param withPosition whether to copy the position, which a query returns
   */
  StoreView view(boolean withPosition) {
    synchronized (monitor) {
      StoreView view =
          new StoreView(this, pending, streamTime, withPosition ? position.copy() : null);
      newestView = view.number();
      views.add(view);
      return view;
    }
  }

  void closed(StoreView view) {
    views.remove(view);
  }

  /** Preserves the table for the open views, before rows go to it. */
  void keepViews() {
    for (StoreView view : views) {
      view.keep(instance::snapshot);
    }
  }

  Database database() {
    return instance.database();
  }

  RowTable table() {
    return table;
  }

  long approximateCount() {
    return table.count() + pending.size();
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Writes or deletes a row.
   *
   * @param by knows the position of the record being processed
   */
  void put(byte[] k, byte @Nullable [] value, AbstractStore by) {
    finishStaged();
    write(k, value, by);
    relieve();
  }

  /** Commits what was staged, before anything else is written. Must not hold the monitor. */
  void finishStaged() {
    if (staged) {
      task.finish();
    }
  }

  /** Writes a row of the changelog; the caller {@linkplain #relieve relieves}. */
  void restore(byte[] k, byte @Nullable [] value) {
    write(k, value, null);
  }

  /** Records the position of a processed record that writes no row. */
  void touch(AbstractStore by) {
    finishStaged();
    synchronized (monitor) {
      by.processed(this);
    }
    recordChanged = true;
  }

  /** Marks rows below the key as expired. */
  void cutBelow(byte[] k) {
    if (cut == null || Arrays.compareUnsigned(k, cut) > 0) {
      cut = k;
      cutChanged = true;
    }
  }

  private void write(byte[] k, byte @Nullable [] value, @Nullable AbstractStore by) {
    synchronized (monitor) {
      grown += pending.put(k, value, views.isEmpty() ? PendingWrites.NO_VIEW : newestView);
      if (by != null) {
        by.processed(this);
      }
    }
    uncommitted |= by != null;
  }

  /** Spills if the pending writes exceed their share. Must not hold the monitor. */
  void relieve() {
    long g = grown;
    grown = 0;
    if (instance.hasToSpill(g, pending.bytes())) {
      spill();
    }
  }

  Object monitor() {
    return monitor;
  }

  private void spill() {
    boolean takesOffsets = exactlyOnce && uncommitted && !record.offsets.isEmpty();
    if (takesOffsets) {
      record.offsets.clear();
    }
    keepViews();
    beginWriting();
    try {
      TableWrites.run(instance, List.of(this), takesOffsets);
      written();
      sensors.spilled();
    } catch (FoveaException e) {
      throw new ProcessorStateException("Store " + name + " can't write its pending rows.", e);
    } finally {
      endWriting();
    }
  }

  void commit(Map<TopicPartition, Long> offsets) {
    if (offsets.isEmpty()) {
      recordChanged |= !record.offsets.isEmpty();
      record.offsets.clear();
    } else {
      offsets.forEach(
          (partition, offset) -> {
            Long old =
                offset == null
                    ? record.offsets.remove(partition)
                    : record.offsets.put(partition, offset);
            recordChanged |= offset == null ? old != null : !offset.equals(old);
          });
    }
    uncommitted = false;
    try {
      task.stage(this);
    } catch (FoveaException e) {
      throw new ProcessorStateException("Store " + name + " can't be committed.", e);
    }
  }

  @Nullable Long committedOffset(TopicPartition partition) {
    return record.offsets.get(partition);
  }

  void setStaged(boolean is) {
    staged = is;
  }

  boolean isChanged() {
    return recordChanged || !pending.isEmpty();
  }

  @SuppressWarnings("NonAtomicOperationOnVolatileField") // only one thread at a time writes
  void beginWriting() {
    instance.commitBegins();
    generation++;
  }

  @SuppressWarnings("NonAtomicOperationOnVolatileField") // only one thread at a time writes
  void endWriting() {
    generation++;
    instance.commitEnds();
  }

  /** Returns the unexpired pending rows, sorted. Must not run in a transaction. */
  List<PendingWrites.Cell> rows() {
    byte[] below = cut;
    List<PendingWrites.Cell> rows = pending.sorted();
    if (rows.stream().anyMatch(row -> table.isLong(row.key))) {
      table.prepareLong();
    }
    if (below == null) {
      return rows;
    }
    int from = 0;
    while (from < rows.size() && Arrays.compareUnsigned(rows.get(from).key, below) < 0) {
      from++;
    }
    return rows.subList(from, rows.size());
  }

  /** Deletes expired rows. */
  void writeCut(Transaction tx) {
    byte[] below = cut;
    if (below != null && cutChanged) {
      table.deleteBelow(tx, below);
    }
  }

  /** Reads the old versions of some rows into memory, many pages at a time. */
  void bringIn(List<PendingWrites.Cell> rows) {
    List<byte[]> keys = new ArrayList<>(rows.size());
    rows.forEach(row -> keys.add(row.key));
    database().run(READING, tx -> table.bringIn(tx, keys));
  }

  /** For tests: whether commits find pages missing from memory. */
  boolean pagesAreMissing() {
    return instance.isMissing();
  }

  void writeRows(Transaction tx, List<PendingWrites.Cell> rows) {
    for (PendingWrites.Cell row : rows) {
      byte[] value = row.newest.value;
      if (value == null) {
        table.delete(tx, row.key);
      } else {
        table.put(tx, row.key, value);
      }
    }
  }

  /** Writes offsets, position and stream time. */
  void writeRecord(Transaction tx) {
    record.streamTime = streamTime;
    instance.stores().put(tx, key, record.encode(position));
  }

  /** Drops the pending writes after they were written to the table. */
  void written() {
    long bytes = pending.bytes();
    synchronized (monitor) {
      pending = new PendingWrites();
      newestView = PendingWrites.NO_VIEW;
    }
    recordChanged = false;
    cutChanged = false;
    uncommitted = false;
    instance.spilled(bytes - grown);
    grown = 0;
  }

  StoreSensors sensors() {
    return sensors;
  }

  boolean isClosed() {
    return closed;
  }

  /** Closes the store. Uncommitted pending writes are discarded, as Kafka Streams requires. */
  void close() {
    if (closed) {
      return;
    }
    try {
      task.closed(this);
    } finally {
      closed = true;
      List.copyOf(views).forEach(StoreView::close);
      instance.spilled(pending.bytes() - grown);
      sensors.close();
      instance.close(id, this);
    }
  }
}
