package io.fovea.streams;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.ResultOrder;
import org.apache.kafka.streams.query.VersionedKeyQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.VersionedBytesStore;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;
import org.jspecify.annotations.Nullable;

/**
 * A store that keeps versions of values for some time.
 *
 * <pre>
 *   latest     key                       -> from i8 | value          the value that is valid now
 *   replaced   segment of to | key, from -> to i8 | value            was valid from, up to
 *   deleted    segment of at | key, at   -> at i8                    from = to: a deletion
 * </pre>
 *
 * <p>A deletion that ends a version has no row: the end of that version represents it. So the
 * <i>bounds</i> of a key, at which its value changes, are the beginnings and ends of its rows. A
 * value that arrives late is valid up to the next bound. Rows that end after a time are never in a
 * segment below that time's, so a search begins there and ends with the first row found.
 *
 * <p>A version expires when stream time reaches its end plus the retention, to the millisecond. The
 * latest version stays.
 *
 * <p>Threading as {@link AbstractStore}.
 */
final class VersionedFoveaStore extends SegmentedStore implements VersionedBytesStore {
  private static final int TIME = 8;
  private static final String NOT_SUPPORTED =
      "A versioned store supports only lookups by key, with or without a time.";

  VersionedFoveaStore(String name, long historyRetentionMillis) {
    super(
        name,
        StoreKind.VERSIONED,
        "VERSIONED",
        historyRetentionMillis,
        segmentMillisOf(historyRetentionMillis));
  }

  @Override
  void opened(StoreState opened) {
    super.opened(opened);
    if (!internals().givesRecords()) {
      throw new ProcessorStateException(
          "Versioned store "
              + name()
              + " can't be restored: this version of Kafka Streams does not pass the timestamps of"
              + " changelog records.");
    }
  }

  /** The segment length that Kafka Streams uses for the same store. */
  static long segmentMillisOf(long historyRetentionMillis) {
    if (historyRetentionMillis <= 60_000) {
      return Math.max(historyRetentionMillis / 3, 2_000);
    } else if (historyRetentionMillis <= 300_000) {
      return Math.max(historyRetentionMillis / 5, 20_000);
    } else if (historyRetentionMillis <= 3_600_000) {
      return Math.max(historyRetentionMillis / 12, 60_000);
    } else {
      return Math.max(historyRetentionMillis / 24, 300_000);
    }
  }

  /**
   * A version.
   *
   * @param from the time from which it is valid
   * @param to the time up to which it is valid; {@link Long#MAX_VALUE} for the latest; {@code from}
   *     for a deletion
   * @param value null for a deletion
   */
  record Version(long from, long to, byte @Nullable [] value) {
    boolean contains(long time) {
      return from <= time && time < to;
    }

    VersionedRecord<byte[]> asRecord() {
      byte[] v = Objects.requireNonNull(value);
      return to == Long.MAX_VALUE
          ? new VersionedRecord<>(v, from)
          : new VersionedRecord<>(v, from, to);
    }

    /** Returns timestamp and value in the format of a timestamped store. */
    byte[] asBytes() {
      byte[] v = Objects.requireNonNull(value);
      return ByteBuffer.allocate(TIME + v.length).putLong(from).put(v).array();
    }

    private static Version ofLatest(byte[] row) {
      return new Version(
          ByteBuffer.wrap(row).getLong(),
          Long.MAX_VALUE,
          Arrays.copyOfRange(row, TIME, row.length));
    }

    private static Version ofReplaced(RowIterator rows) {
      long from = SegmentKeys.number(rows.key(), TIME);
      byte[] row = rows.value();
      long to = ByteBuffer.wrap(row).getLong();
      return new Version(from, to, from == to ? null : Arrays.copyOfRange(row, TIME, row.length));
    }
  }

  // -------------------------------------------------------------------------------------- writing

  @Override
  public long put(Bytes key, byte @Nullable [] value, long timestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    StoreState to = open();
    if (timestamp < to.streamTime() - retentionMillis()) {
      dropLate("Skipping record for expired put.");
      to.touch(this);
      return VersionedKeyValueStore.PUT_RETURN_CODE_NOT_PUT;
    }
    observe(to, timestamp);
    return new Put(to, key.get(), this).put(value, timestamp);
  }

  @Override
  public byte @Nullable [] delete(Bytes key, long timestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    StoreState to = open();
    if (timestamp < to.streamTime() - retentionMillis()) {
      dropLate("Skipping record for expired delete.");
      return null;
    }
    byte[] old = get(key, timestamp);
    put(key, null, timestamp);
    return old;
  }

  @Override
  void restore(StoreState to, ConsumerRecord<byte[], byte[]> record) {
    if (record.timestamp() >= to.streamTime() - retentionMillis()) {
      observe(to, record.timestamp());
      new Put(to, record.key(), null).put(record.value(), record.timestamp());
    }
  }

  /** One write: finds the versions around its time and updates them. */
  private static final class Put {
    private final StoreState state;
    private final byte[] key;
    private final @Nullable VersionedFoveaStore by;

    Put(StoreState state, byte[] key, @Nullable VersionedFoveaStore by) {
      this.state = state;
      this.key = key;
      this.by = by;
    }

    /**
     * Returns the time up to which the value is valid, as {@link VersionedKeyValueStore#put}
     * specifies.
     */
    long put(byte @Nullable [] value, long time) {
      Version latest = latest(state, key);
      if (latest != null && time >= latest.from()) {
        if (time > latest.from()) {
          write(latest.from(), time, latest.value());
        } else if (value == null) {
          write(time, time, null);
        }
        writeLatest(value, time);
        return VersionedKeyValueStore.PUT_RETURN_CODE_VALID_TO_UNDEFINED;
      }
      RowIterator rows = from(state, key, time);
      Version at = rows.next() ? Version.ofReplaced(rows) : null;
      if (at != null && at.from() == time && at.to() == time) {
        if (value == null) {
          at = rows.next() ? Version.ofReplaced(rows) : null;
          return at == null ? end(latest) : at.from();
        }
        write(SegmentKeys.version(segment(state, time), key, time), null);
        at = rows.next() ? Version.ofReplaced(rows) : null;
      }
      if (at != null && at.contains(time)) {
        return split(at, value, time, latest, rows);
      }
      long end = at != null ? at.from() : latest != null ? latest.from() : Long.MAX_VALUE;
      if (value == null) {
        write(time, time, null);
      } else if (end == Long.MAX_VALUE) {
        writeLatest(value, time);
      } else {
        write(time, end, value);
      }
      return end == Long.MAX_VALUE ? end(null) : end;
    }

    private static long end(@Nullable Version next) {
      return next == null ? VersionedKeyValueStore.PUT_RETURN_CODE_VALID_TO_UNDEFINED : next.from();
    }

    /** Ends a version earlier, where a new one begins. */
    private long split(
        Version at,
        byte @Nullable [] value,
        long time,
        @Nullable Version latest,
        RowIterator rows) {
      Version next = rows.next() ? Version.ofReplaced(rows) : latest;
      write(SegmentKeys.version(segment(state, at.to()), key, at.from()), null);
      if (time > at.from()) {
        write(at.from(), time, at.value());
      }
      if (value != null) {
        write(time, at.to(), value);
      } else {
        if (time == at.from()) {
          write(time, time, null);
        }
        if (next == null || next.from() != at.to()) {
          write(at.to(), at.to(), null); // its end was a bound, and remains one
        }
      }
      return at.to();
    }

    private void write(long from, long to, byte @Nullable [] value) {
      byte[] row = new byte[TIME + (value == null ? 0 : value.length)];
      ByteBuffer b = ByteBuffer.wrap(row).putLong(to);
      if (value != null) {
        b.put(value);
      }
      write(SegmentKeys.version(segment(state, to), key, from), row);
    }

    private void writeLatest(byte @Nullable [] value, long time) {
      write(
          SegmentKeys.latest(key),
          value == null
              ? null
              : ByteBuffer.allocate(TIME + value.length).putLong(time).put(value).array());
    }

    private void write(byte[] row, byte @Nullable [] value) {
      if (by == null) {
        state.restore(row, value);
      } else {
        state.put(row, value, by);
      }
    }
  }

  // -------------------------------------------------------------------------------------- reading

  private static @Nullable Version latest(RowSource state, byte[] key) {
    byte[] row = state.get(SegmentKeys.latest(key));
    return row == null ? null : Version.ofLatest(row);
  }

  /** Iterates over replaced versions from the one valid at a time, or the next one. */
  private static RowIterator from(RowSource state, byte[] key, long time) {
    long first = segment(state, time);
    ByteInterval before =
        new ByteInterval(
            SegmentKeys.prefix(first, key), ByteInterval.behind(version(first, key, time)));
    RowIterator back = RowIterator.of(state, List.of(before).iterator(), false);
    byte @Nullable [] start = null;
    if (back.next()) {
      Version v = Version.ofReplaced(back);
      start = v.to() > time || v.from() == time ? back.key() : ByteInterval.behind(back.key());
    }
    byte @Nullable [] begin = start;
    return RowIterator.of(
        state,
        segments(
            state,
            time,
            state.streamTime(),
            true,
            s ->
                s == first && begin != null
                    ? new ByteInterval(begin, ByteInterval.above(SegmentKeys.prefix(s, key)))
                    : ByteInterval.ofPrefix(SegmentKeys.prefix(s, key))),
        true);
  }

  private static byte[] version(long segment, byte[] key, long from) {
    return SegmentKeys.version(segment, key, from);
  }

  @Override
  @Nullable Object answer(Query<?> query, RowSource from) {
    if (query instanceof VersionedKeyQuery<?, ?> q) {
      byte[] key = ((Bytes) q.key()).get();
      Version v =
          q.asOfTimestamp().isPresent()
              ? find(from, key, q.asOfTimestamp().get().toEpochMilli())
              : latest(from, key);
      return v == null ? null : v.asRecord();
    }
    if (query instanceof MultiVersionedKeyQuery<?, ?> q) {
      return new Versions(
          findAll(
                  from,
                  ((Bytes) q.key()).get(),
                  q.fromTime().map(Instant::toEpochMilli).orElse(0L),
                  q.toTime().map(Instant::toEpochMilli).orElse(Long.MAX_VALUE),
                  q.resultOrder() == ResultOrder.ASCENDING)
              .iterator());
    }
    return Queries.UNKNOWN;
  }

  /** Versions read in advance. Not thread-safe. */
  private static final class Versions implements VersionedRecordIterator<byte[]> {
    private final Iterator<VersionedRecord<byte[]>> read;
    private boolean closed;

    Versions(Iterator<VersionedRecord<byte[]>> read) {
      this.read = read;
    }

    @Override
    public boolean hasNext() {
      if (closed) {
        throw new IllegalStateException("The iterator of versions was closed.");
      }
      return read.hasNext();
    }

    @Override
    public VersionedRecord<byte[]> next() {
      return read.next();
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  @Override
  public byte @Nullable [] get(Bytes key) {
    Objects.requireNonNull(key, "key cannot be null");
    return open().get(SegmentKeys.latest(key.get())); // in the format of a timestamped store
  }

  @Override
  public byte @Nullable [] get(Bytes key, long asOfTimestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    Version v = find(open(), key.get(), asOfTimestamp);
    return v == null ? null : v.asBytes();
  }

  /** Returns the version that was valid at a time. */
  private @Nullable Version find(RowSource state, byte[] key, long time) {
    Version latest = latest(state, key);
    if (latest != null && latest.from() <= time) {
      return latest;
    }
    if (time < 0 || time < state.streamTime() - retentionMillis()) {
      return null;
    }
    RowIterator rows = from(state, key, time);
    while (rows.next()) {
      Version v = Version.ofReplaced(rows);
      if (v.contains(time)) {
        return v;
      }
      if (v.from() > time) {
        return null;
      }
    }
    return null;
  }

  /** Returns the versions valid at any time in the closed range, oldest first. */
  private List<VersionedRecord<byte[]>> findAll(
      RowSource state, byte[] key, long from, long to, boolean ascending) {
    List<VersionedRecord<byte[]>> versions = new ArrayList<>();
    if (to >= state.streamTime() - retentionMillis()) {
      Iterator<ByteInterval> intervals =
          segments(
              state,
              Math.max(0, Math.max(from, liveFrom(state))),
              state.streamTime(),
              true,
              s -> ByteInterval.ofPrefix(SegmentKeys.prefix(s, key)));
      RowIterator rows = RowIterator.of(state, intervals, true);
      while (rows.next()) {
        Version v = Version.ofReplaced(rows);
        if (v.from() > to) {
          break;
        }
        if (v.value() != null && v.to() > from && v.to() >= liveFrom(state)) {
          versions.add(v.asRecord());
        }
      }
    }
    Version latest = latest(state, key);
    if (latest != null && latest.from() <= to) {
      versions.add(latest.asRecord());
    }
    if (!ascending) {
      Collections.reverse(versions);
    }
    return versions;
  }

  // ---------------------------------------------------------------------------------- unsupported

  @Override
  public void put(Bytes key, byte @Nullable [] value) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public byte @Nullable [] putIfAbsent(Bytes key, byte @Nullable [] value) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public byte @Nullable [] delete(Bytes key) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(@Nullable Bytes from, @Nullable Bytes to) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(@Nullable Bytes from, @Nullable Bytes to) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }

  @Override
  public long approximateNumEntries() {
    throw new UnsupportedOperationException(NOT_SUPPORTED);
  }
}
