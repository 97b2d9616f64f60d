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
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.jspecify.annotations.Nullable;

/**
 * A session store, by key, end and start.
 *
 * <p>A session expires when stream time reaches its end plus the retention, to the millisecond.
 *
 * <p>Threading as {@link AbstractStore}.
 */
class SessionFoveaStore extends SegmentedStore implements SessionStore<Bytes, byte[]> {
  /** Bytes after the key, in a row and in a changelog record. */
  private static final int BEHIND_KEY = 16;

  private static final int START = 8;

  private SessionFoveaStore(String name, DslStoreFormat format, long retentionMillis) {
    super(name, StoreKind.SESSION, format.name(), retentionMillis, segmentMillis(retentionMillis));
  }

  static SessionFoveaStore of(String name, DslStoreFormat format, long retentionMillis) {
    return format == DslStoreFormat.HEADERS
        ? new WithHeaders(name, retentionMillis)
        : new SessionFoveaStore(name, DslStoreFormat.PLAIN, retentionMillis);
  }

  /** Values with headers. */
  private static final class WithHeaders extends SessionFoveaStore implements HeadersBytesStore {
    WithHeaders(String name, long retentionMillis) {
      super(name, DslStoreFormat.HEADERS, retentionMillis);
    }
  }

  // -------------------------------------------------------------------------------------- writing

  @Override
  void restore(StoreState to, ConsumerRecord<byte[], byte[]> record) {
    byte[] in = record.key();
    ByteBuffer numbers = ByteBuffer.wrap(in, in.length - BEHIND_KEY, BEHIND_KEY);
    long end = numbers.getLong();
    long start = numbers.getLong();
    observe(to, end);
    if (end >= liveFrom(to)) {
      byte[] key = Arrays.copyOf(in, in.length - BEHIND_KEY);
      to.restore(SegmentKeys.session(segment(to, end), key, end, start), record.value());
    }
  }

  @Override
  public void put(Windowed<Bytes> sessionKey, byte @Nullable [] aggregate) {
    StoreState to = open();
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    long end = sessionKey.window().end();
    observe(to, end);
    if (end < liveFrom(to)) {
      dropLate("Skipping record for expired segment.");
      to.touch(this);
    } else {
      to.put(row(to, sessionKey.key(), end, sessionKey.window().start()), aggregate, this);
    }
  }

  @Override
  public void remove(Windowed<Bytes> sessionKey) {
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    StoreState to = open();
    long end = sessionKey.window().end();
    if (end >= liveFrom(to)) {
      to.put(row(to, sessionKey.key(), end, sessionKey.window().start()), null, this);
    }
  }

  private static byte[] row(StoreState state, Bytes key, long end, long start) {
    return SegmentKeys.session(segment(state, end), key.get(), end, start);
  }

  // -------------------------------------------------------------------------------------- reading

  @Override
  @Nullable Object answer(Query<?> query, RowSource from) {
    return query instanceof WindowRangeQuery<?, ?> q && q.getKey().isPresent()
        ? findSessions(from, (Bytes) q.getKey().get(), 0, Long.MAX_VALUE, true)
        : Queries.UNKNOWN;
  }

  @Override
  public byte @Nullable [] fetchSession(Bytes key, long sessionStartTime, long sessionEndTime) {
    Objects.requireNonNull(key, "key cannot be null");
    StoreState from = stateOrNull();
    return from == null || sessionEndTime < 0 || sessionEndTime < liveFrom(from)
        ? null
        : from.get(row(from, key, sessionEndTime, sessionStartTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes key) {
    return sessionsOf(key, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes key) {
    return sessionsOf(key, 0, Long.MAX_VALUE, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo) {
    return findSessions(keyFrom, keyTo, 0, Long.MAX_VALUE, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      @Nullable Bytes keyFrom, @Nullable Bytes keyTo) {
    return findSessions(keyFrom, keyTo, 0, Long.MAX_VALUE, Long.MAX_VALUE, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      long earliestSessionEndTime, long latestSessionEndTime) {
    return findSessions(
        null, null, earliestSessionEndTime, latestSessionEndTime, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return sessionsOf(key, earliestSessionEndTime, latestSessionStartTime, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return sessionsOf(key, earliestSessionEndTime, latestSessionStartTime, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestSessionEndTime,
      long latestSessionStartTime) {
    return findSessions(
        keyFrom, keyTo, earliestSessionEndTime, Long.MAX_VALUE, latestSessionStartTime, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestSessionEndTime,
      long latestSessionStartTime) {
    return findSessions(
        keyFrom, keyTo, earliestSessionEndTime, Long.MAX_VALUE, latestSessionStartTime, false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> sessionsOf(
      Bytes key, long earliestEnd, long latestStart, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    return new DeferredIterator<>(
        this,
        () ->
            iterate(
                stateOrNull(),
                state -> findSessions(state, key, earliestEnd, latestStart, forward)));
  }

  private StoreIterator<Windowed<Bytes>> findSessions(
      @Nullable RowSource state, Bytes key, long earliestEnd, long latestStart, boolean forward) {
    Iterator<ByteInterval> intervals =
        state == null
            ? Collections.emptyIterator()
            : ofKey(state, key.get(), first(state, earliestEnd), Long.MAX_VALUE - 1, forward);
    return sessions(state, intervals, key, key, 0, Long.MAX_VALUE, latestStart, forward);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestEnd,
      long latestEnd,
      long latestStart,
      boolean forward) {
    boolean inverted = isInverted(keyFrom, keyTo);
    return new DeferredIterator<>(
        this,
        () ->
            iterate(
                inverted ? null : stateOrNull(),
                state -> {
                  long first = state == null ? 0 : first(state, earliestEnd);
                  Iterator<ByteInterval> intervals =
                      state == null
                          ? Collections.emptyIterator()
                          : ofKeys(state, keyFrom, keyTo, first, latestEnd, forward);
                  return sessions(
                      state, intervals, keyFrom, keyTo, first, latestEnd, latestStart, forward);
                }));
  }

  private long first(RowSource state, long earliestEnd) {
    return Math.max(Math.max(0, earliestEnd), liveFrom(state));
  }

  private StoreIterator<Windowed<Bytes>> sessions(
      @Nullable RowSource state,
      Iterator<ByteInterval> intervals,
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long earliestEnd,
      long latestEnd,
      long latestStart,
      boolean forward) {
    return new StoreIterator<>(
        this,
        RowIterator.of(state, intervals, forward),
        row -> {
          long end = SegmentKeys.number(row, BEHIND_KEY);
          long start = SegmentKeys.number(row, START);
          Bytes key =
              end < earliestEnd || end > latestEnd || start > latestStart
                  ? null
                  : keyBetween(keyFrom, keyTo, row, BEHIND_KEY);
          return key == null ? null : new Windowed<>(key, internals().sessionWindow(start, end));
        });
  }
}
