package io.fovea.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.jspecify.annotations.Nullable;

/**
 * A window store, by key and start.
 *
 * <p>A window expires when stream time reaches its start plus the retention, to the millisecond.
 *
 * <p>Threading as {@link AbstractStore}.
 */
class WindowFoveaStore extends SegmentedStore implements WindowStore<Bytes, byte[]> {
  /** Bytes after the key, in a row and in a changelog record. */
  private static final int BEHIND_KEY = 12;

  private final long windowMillis;
  private final boolean duplicates;

  /**
   * The number of the last duplicate. Starts at zero when the store is opened, as the number in the
   * changelog does, so a restored record replaces the row that it was written with.
   */
  private int sequence;

  private WindowFoveaStore(
      String name,
      DslStoreFormat format,
      long retentionMillis,
      long windowMillis,
      boolean duplicates) {
    super(name, StoreKind.WINDOW, format.name(), retentionMillis, segmentMillis(retentionMillis));
    this.windowMillis = windowMillis;
    this.duplicates = duplicates;
  }

  static WindowFoveaStore of(
      String name, DslStoreFormat format, long retention, long window, boolean duplicates) {
    return switch (format) {
      case PLAIN -> new WindowFoveaStore(name, format, retention, window, duplicates);
      case TIMESTAMPED -> new Timestamped(name, retention, window, duplicates);
      case HEADERS -> new WithHeaders(name, retention, window, duplicates);
    };
  }

  /** Values with timestamps. */
  private static final class Timestamped extends WindowFoveaStore implements TimestampedBytesStore {
    Timestamped(String name, long retention, long window, boolean duplicates) {
      super(name, DslStoreFormat.TIMESTAMPED, retention, window, duplicates);
    }
  }

  /** Values with timestamps and headers. */
  private static final class WithHeaders extends WindowFoveaStore
      implements TimestampedBytesStore, HeadersBytesStore {
    WithHeaders(String name, long retention, long window, boolean duplicates) {
      super(name, DslStoreFormat.HEADERS, retention, window, duplicates);
    }
  }

  // -------------------------------------------------------------------------------------- writing

  @Override
  void restore(StoreState to, ConsumerRecord<byte[], byte[]> record) {
    byte[] in = record.key();
    ByteBuffer numbers = ByteBuffer.wrap(in, in.length - BEHIND_KEY, BEHIND_KEY);
    long start = numbers.getLong();
    int number = numbers.getInt();
    observe(to, start);
    if (start >= liveFrom(to)) {
      byte[] key = Arrays.copyOf(in, in.length - BEHIND_KEY);
      to.restore(SegmentKeys.window(segment(to, start), key, start, number), record.value());
    }
  }

  @Override
  public void put(Bytes key, byte @Nullable [] value, long windowStartTimestamp) {
    StoreState to = open();
    Objects.requireNonNull(key, "key cannot be null");
    observe(to, windowStartTimestamp);
    if (windowStartTimestamp < liveFrom(to)) {
      dropLate("Skipping record for expired segment.");
      to.touch(this);
    } else if (value == null && duplicates) {
      to.touch(this); // nothing to delete
    } else {
      if (duplicates) {
        sequence = (sequence + 1) & Integer.MAX_VALUE;
      }
      to.put(row(to, key, windowStartTimestamp), value, this);
    }
  }

  private byte[] row(RowSource state, Bytes key, long start) {
    return SegmentKeys.window(segment(state, start), key.get(), start, sequence);
  }

  // -------------------------------------------------------------------------------------- reading

  @Override
  @Nullable Object answer(Query<?> query, RowSource from) {
    if (query instanceof WindowKeyQuery<?, ?> q) {
      return q.getTimeFrom().isPresent() && q.getTimeTo().isPresent()
          ? fetch(
              from,
              (Bytes) q.getKey(),
              q.getTimeFrom().get().toEpochMilli(),
              q.getTimeTo().get().toEpochMilli(),
              true)
          : Queries.UNKNOWN;
    }
    if (query instanceof WindowRangeQuery<?, ?> q) {
      return q.getTimeFrom().isPresent() && q.getTimeTo().isPresent()
          ? fetch(
              from,
              null,
              null,
              q.getTimeFrom().get().toEpochMilli(),
              q.getTimeTo().get().toEpochMilli(),
              true)
          : Queries.UNKNOWN;
    }
    return Queries.UNKNOWN;
  }

  @Override
  public byte @Nullable [] fetch(Bytes key, long time) {
    Objects.requireNonNull(key, "key cannot be null");
    StoreState from = stateOrNull();
    return from == null || time < 0 || time < liveFrom(from)
        ? null
        : from.get(row(from, key, time));
  }

  @Override
  public WindowStoreIterator<byte[]> fetch(Bytes key, long timeFrom, long timeTo) {
    return times(key, timeFrom, timeTo, true);
  }

  @Override
  public WindowStoreIterator<byte[]> backwardFetch(Bytes key, long timeFrom, long timeTo) {
    return times(key, timeFrom, timeTo, false);
  }

  private WindowStoreIterator<byte[]> times(Bytes key, long from, long to, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    return new DeferredIterator.OfTimes(
        this, () -> iterate(stateOrNull(), state -> fetch(state, key, from, to, forward)));
  }

  private StoreIterator.OfTimes fetch(
      @Nullable RowSource state, Bytes key, long from, long to, boolean forward) {
    Iterator<ByteInterval> intervals =
        state == null
            ? Collections.emptyIterator()
            : ofKey(state, key.get(), Math.max(Math.max(0, from), liveFrom(state)), to, forward);
    return new StoreIterator.OfTimes(
        this,
        RowIterator.of(state, intervals, forward),
        row ->
            SegmentKeys.isOf(key.get(), row, BEHIND_KEY)
                ? SegmentKeys.number(row, BEHIND_KEY)
                : null);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long timeFrom, long timeTo) {
    return windows(keyFrom, keyTo, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long timeFrom, long timeTo) {
    return windows(keyFrom, keyTo, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(long timeFrom, long timeTo) {
    return windows(null, null, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(long timeFrom, long timeTo) {
    return windows(null, null, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
    return windows(null, null, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
    return windows(null, null, 0, Long.MAX_VALUE, false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> windows(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo, long from, long to, boolean forward) {
    boolean inverted = isInverted(keyFrom, keyTo);
    return new DeferredIterator<>(
        this,
        () ->
            iterate(
                inverted ? null : stateOrNull(),
                state -> fetch(state, keyFrom, keyTo, from, to, forward)));
  }

  private StoreIterator<Windowed<Bytes>> fetch(
      @Nullable RowSource state,
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long from,
      long to,
      boolean forward) {
    long first = state == null ? 0 : Math.max(Math.max(0, from), liveFrom(state));
    Iterator<ByteInterval> intervals =
        state == null
            ? Collections.emptyIterator()
            : ofKeys(state, keyFrom, keyTo, first, to, forward);
    return new StoreIterator<>(
        this,
        RowIterator.of(state, intervals, forward),
        row -> {
          long start = SegmentKeys.number(row, BEHIND_KEY);
          Bytes key =
              start < first || start > to ? null : keyBetween(keyFrom, keyTo, row, BEHIND_KEY);
          return key == null ? null : windowed(key, start);
        });
  }

  private Windowed<Bytes> windowed(Bytes key, long start) {
    long end = start + windowMillis;
    return new Windowed<>(key, internals().timeWindow(start, end < 0 ? Long.MAX_VALUE : end));
  }
}
