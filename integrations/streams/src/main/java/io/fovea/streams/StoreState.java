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
 * The state of one open store: the rows of its table, and what was written since.
 *
 * <pre>
 *   put ──► PendingWrites ── commit, spill ──► table, record     one transaction
 *               │                                 │
 *               └──────────── get, rows ──────────┘              what is pending hides the table
 * </pre>
 *
 * <p><b>Commit.</b> Rows, changelog offsets, position and stream time are in one transaction
 * ({@link TaskCommits}). So the offset is never ahead of the rows, nor the position of them.
 *
 * <p><b>Spill.</b> What is pending goes to the table without a commit when there is too much of it.
 * With exactly once the same transaction takes the offsets away: rows that may not be committed
 * never stand beside an offset. With at least once the offset stays: the changelog from there on is
 * applied again.
 *
 * <p><b>Generation.</b> Even; odd while rows go to the table. Who has read the table and finds the
 * number that was there before knows that the table did not change meanwhile. A row is pending
 * until it is in the table: {@code pending} is replaced after the transaction, and before the
 * generation is even again.
 *
 * <p>Threading: one thread at a time writes, commits and closes. Any thread reads. The monitor is
 * for what a write and a view must see together: pending writes and position. It is held for a few
 * instructions, and no other lock is taken in it.
 */
final class StoreState implements RowSource {
  private static final int PAGE_BYTES_MAX = 256 << 10;

  /** A reader waits for a commit, however long that takes, and never makes one begin anew. */
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

  /** Rows below it have expired, and the next transaction cuts them off. */
  private byte @Nullable [] cut;

  private boolean cutChanged;

  /** By how much what is pending has grown, and the instance does not know yet. */
  private long grown;

  /** Those that are open; changed under the monitor or by who closes. */
  private final Set<StoreView> views = ConcurrentHashMap.newKeySet();

  /** What the newest view sees of {@code pending}. Guarded by the monitor. */
  private long newestView = PendingWrites.NO_VIEW;

  /** Whether the record has changed. */
  private boolean recordChanged;

  /** Whether something is pending that no commit has covered, but for what was restored. */
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

  /** A row of the table, here or in a snapshot. */
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

  /** Rows of the table, here or in a snapshot. */
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
   * Opens a view of the store as it is now.
   *
   * @param withPosition whether it has the position, which a query returns
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

  /** Before rows go to the table: the views that are open keep it as it is. */
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

  /** About how many rows there are. */
  long approximateCount() {
    return table.count() + pending.size();
  }

  // -------------------------------------------------------------------------------------- writing

  /**
   * Writes a row, or deletes it.
   *
   * @param by knows the position of the record that is processed
   */
  void put(byte[] k, byte @Nullable [] value, AbstractStore by) {
    finishStaged();
    write(k, value, by);
    relieve();
  }

  /** Before anything is written: what was staged for a commit goes first. Not under the monitor. */
  void finishStaged() {
    if (staged) {
      task.finish();
    }
  }

  /** Writes a row that comes from the changelog; the caller {@linkplain #relieve relieves}. */
  void restore(byte[] k, byte @Nullable [] value) {
    write(k, value, null);
  }

  /** A record was processed that writes no row: the position is another one. */
  void touch(AbstractStore by) {
    finishStaged();
    synchronized (monitor) {
      by.processed(this);
    }
    recordChanged = true;
  }

  /** Rows with keys below this one have expired. */
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

  /** Writes what is pending to the table if there is too much of it. Not under the monitor. */
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
      throw new ProcessorStateException("Store " + name + " can't write what is pending.", e);
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

  /** Rows are going to the table. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // one thread at a time writes
  void beginWriting() {
    instance.commitBegins();
    generation++;
  }

  /** Rows have gone there, or the transaction has failed. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField") // one thread at a time writes
  void endWriting() {
    generation++;
    instance.commitEnds();
  }

  /** What is pending and has not expired, sorted. Not in a transaction. */
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

  /** Deletes what has expired. */
  void writeCut(Transaction tx) {
    byte[] below = cut;
    if (below != null && cutChanged) {
      table.deleteBelow(tx, below);
    }
  }

  /** Reads what the table has of some rows, many pages at a time. */
  void bringIn(List<PendingWrites.Cell> rows) {
    List<byte[]> keys = new ArrayList<>(rows.size());
    rows.forEach(row -> keys.add(row.key));
    database().run(READING, tx -> table.bringIn(tx, keys));
  }

  /** Whether commits find that pages are not in memory; for tests. */
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

  /** Offsets, position and stream time. */
  void writeRecord(Transaction tx) {
    record.streamTime = streamTime;
    instance.stores().put(tx, key, record.encode(position));
  }

  /** All has been committed. */
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

  /** Closes the store. What is pending and not committed is lost, as it has to be. */
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
