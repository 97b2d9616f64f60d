package io.fovea.streams;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.LongFunction;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store whose rows expire by stream time.
 *
 * <p>Readers see no expired row, to the millisecond. Rows are deleted later, by segment: a commit
 * deletes the segments that have expired completely.
 *
 * <p>Threading as {@link AbstractStore}.
 */
abstract class SegmentedStore extends AbstractStore {
  private static final Logger LOG = LoggerFactory.getLogger(SegmentedStore.class);
  private static final long LOG_INTERVAL_MILLIS = 60_000;

  private final long retentionMillis;
  private final long segmentMillis;
  private @Nullable Sensor dropped;
  private long loggedMillis = Long.MIN_VALUE;

  SegmentedStore(
      String name, StoreKind kind, String format, long retentionMillis, long segmentMillis) {
    super(name, kind, format);
    this.retentionMillis = retentionMillis;
    this.segmentMillis = segmentMillis;
  }

  /** The segment length that Kafka Streams uses for the same store. */
  static long segmentMillis(long retentionMillis) {
    return Math.max(retentionMillis / 2, 60_000);
  }

  @Override
  final long segmentMillis() {
    return segmentMillis;
  }

  @Override
  void opened(StoreState opened) {
    StateStoreContext c = context();
    dropped = c == null ? null : internals().droppedRecords(c);
  }

  @Override
  final boolean isEmptyWhenClosed() {
    return true;
  }

  final long retentionMillis() {
    return retentionMillis;
  }

  /** The smallest time that is not expired. */
  final long liveFrom(RowSource state) {
    return state.streamTime() - retentionMillis + 1;
  }

  /**
   * The segment of a time in the table, which may have been created with another segment length.
   */
  static long segment(RowSource state, long time) {
    return time / state.segmentMillis();
  }

  /** Advances stream time; rows that expire by it are deleted by the next commit. */
  final void observe(StoreState state, long time) {
    if (time > state.streamTime()) {
      state.setStreamTime(time);
      long first = segment(state, Math.max(0, liveFrom(state)));
      if (first > 0) {
        state.cutBelow(SegmentKeys.segment(first));
      }
    }
  }

  /** Counts a record that came too late, and logs it at most once a minute. */
  final void dropLate(String message) {
    Sensor d = dropped;
    long now = System.currentTimeMillis();
    if (d != null) {
      d.record(1.0, now);
    }
    if (now >= loggedMillis + LOG_INTERVAL_MILLIS || loggedMillis == Long.MIN_VALUE) {
      loggedMillis = now;
      LOG.warn(message);
    }
  }

  /** Returns whether a key range is inverted, and logs it. */
  static boolean isInverted(@Nullable Bytes from, @Nullable Bytes to) {
    boolean is = from != null && to != null && from.compareTo(to) > 0;
    if (is) {
      LOG.warn(StoreIterator.INVERTED_RANGE);
    }
    return is;
  }

  /** Returns the key of a row if it is within the range; otherwise null. */
  static @Nullable Bytes keyBetween(
      @Nullable Bytes from, @Nullable Bytes to, byte[] row, int behind) {
    Bytes key = Bytes.wrap(SegmentKeys.key(row, behind));
    return (from == null || key.compareTo(from) >= 0) && (to == null || key.compareTo(to) <= 0)
        ? key
        : null;
  }

  /** The intervals of one key, one per segment; they include rows of other keys. */
  static Iterator<ByteInterval> ofKey(
      RowSource state, byte[] key, long from, long to, boolean forward) {
    long last = Math.min(to, state.streamTime());
    return new Segments(state, from, last, forward, s -> SegmentKeys.times(s, key, from, last));
  }

  /** The intervals of a key range, one per segment; they include rows of other keys. */
  static Iterator<ByteInterval> ofKeys(
      RowSource state,
      @Nullable Bytes keyFrom,
      @Nullable Bytes keyTo,
      long from,
      long to,
      boolean forward) {
    long last = Math.min(to, state.streamTime());
    byte @Nullable [] lower = keyFrom == null ? null : keyFrom.get();
    byte @Nullable [] upper = keyTo == null ? null : keyTo.get();
    return new Segments(state, from, last, forward, s -> SegmentKeys.keys(s, lower, upper, last));
  }

  /** An interval of each segment of a time range. */
  static Iterator<ByteInterval> segments(
      RowSource state, long from, long to, boolean forward, LongFunction<ByteInterval> interval) {
    return new Segments(state, from, to, forward, interval);
  }

  /**
   * The segments of a time range, in order. Two or three if the store was created with its current
   * retention. If there are many, those without rows are skipped.
   */
  private static final class Segments implements Iterator<ByteInterval> {
    private static final int FEW = 8;

    private final RowSource state;
    private final boolean forward;
    private final LongFunction<ByteInterval> interval;
    private final long first;
    private final long last;
    private final boolean many;
    private long next;

    Segments(
        RowSource state, long from, long to, boolean forward, LongFunction<ByteInterval> interval) {
      this.state = state;
      this.forward = forward;
      this.interval = interval;
      this.first = segment(state, Math.max(0, from));
      this.last = from <= to ? segment(state, to) : -1;
      this.many = last - first >= FEW;
      this.next = forward ? first : last;
    }

    @Override
    public boolean hasNext() {
      if (many && next >= first && next <= last) {
        pass();
      }
      return next >= first && next <= last;
    }

    private void pass() {
      ByteInterval rest =
          forward
              ? new ByteInterval(SegmentKeys.segment(next), null)
              : new ByteInterval(null, SegmentKeys.segment(next + 1));
      RowIterator rows = RowIterator.of(state, List.of(rest).iterator(), forward);
      next = rows.next() ? SegmentKeys.segment(rows.key()) : last + 1;
    }

    @Override
    public ByteInterval next() {
      if (next < first || next > last) {
        throw new NoSuchElementException();
      }
      ByteInterval in = interval.apply(next);
      next += forward ? 1 : -1;
      return in;
    }
  }
}
