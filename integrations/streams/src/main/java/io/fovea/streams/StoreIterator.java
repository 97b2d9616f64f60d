package io.fovea.streams;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.jspecify.annotations.Nullable;

/**
 * An iterator over the contents of a store at its creation ({@link StoreView}). Releases the view
 * at its end.
 *
 * <p>Used by one thread at a time; may be closed late, twice, or by another thread.
 *
 * @param <K> the type of the keys
 */
class StoreIterator<K> implements KeyValueIterator<K, byte[]> {
  /** The message of Kafka Streams' own stores, which its tests expect. */
  static final String INVERTED_RANGE =
      "Returning empty iterator for fetch with invalid key range: from > to. "
          + "This may be due to range arguments set in the wrong order, "
          + "or serdes that don't preserve ordering when lexicographically comparing the serialized"
          + " bytes. "
          + "Note that the built-in numerical serdes do not follow this for negative numbers";

  private static final int AHEAD_ROWS = 256;
  private static final int AHEAD_BYTES = 1 << 20;

  private final AbstractStore store;
  private final RowIterator rows;
  private final Function<byte[], @Nullable K> decode;
  private final Deque<KeyValue<K, byte[]>> ready = new ArrayDeque<>(2);
  private boolean ended;
  private volatile boolean closed;
  private volatile @Nullable Runnable onClose;

  /**
   * Creates an iterator.
   *
   * @param decode converts a key of the table; null for rows to be skipped
   */
  StoreIterator(AbstractStore store, RowIterator rows, Function<byte[], @Nullable K> decode) {
    this.store = store;
    this.rows = rows;
    this.decode = decode;
  }

  /** An iterator over the times of one key. */
  static final class OfTimes extends StoreIterator<Long> implements WindowStoreIterator<byte[]> {
    OfTimes(AbstractStore store, RowIterator rows, Function<byte[], @Nullable Long> decode) {
      super(store, rows, decode);
    }
  }

  /** Creates an iterator over plain keys. */
  static StoreIterator<Bytes> ofKeys(
      AbstractStore store,
      @Nullable RowSource state,
      List<ByteInterval> intervals,
      boolean forward) {
    return new StoreIterator<>(
        store,
        RowIterator.of(state, intervals.iterator(), forward),
        key -> Bytes.wrap(ByteKeys.decode(key)));
  }

  @Override
  public boolean hasNext() {
    if (closed) {
      throw new InvalidStateStoreException(closedMessage(store));
    }
    if (store.isEmptyWhenClosed() && !store.isOpen()) {
      return false;
    }
    return !ready.isEmpty() || readOne();
  }

  static String closedMessage(AbstractStore store) {
    return "The iterator over store " + store.name() + " was closed.";
  }

  private boolean readOne() {
    store.open();
    while (!ended && rows.next()) {
      K key = decode.apply(rows.key());
      if (key != null) {
        ready.add(KeyValue.pair(key, rows.value()));
        return true;
      }
    }
    ended = true;
    release();
    return false;
  }

  /** Reads a limited number of rows ahead; returns whether these are all. */
  final boolean readAhead() {
    long bytes = 0;
    for (int n = 0; n < AHEAD_ROWS && bytes < AHEAD_BYTES; n++) {
      if (!readOne()) {
        return true;
      }
      bytes += rows.value().length;
    }
    return false;
  }

  /** Sets the action to run when the iterator ends or is closed. */
  final void onClose(Runnable action) {
    onClose = action;
  }

  private void release() {
    Runnable action = onClose;
    if (action != null) {
      onClose = null;
      action.run();
    }
  }

  @Override
  public KeyValue<K, byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return ready.remove();
  }

  @Override
  public K peekNextKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return ready.element().key;
  }

  @Override
  public void close() {
    closed = true;
    release();
  }
}
