package io.fovea.streams;

import java.util.List;
import java.util.NoSuchElementException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.jspecify.annotations.Nullable;

/**
 * Rows of a key-value store as Kafka Streams wants them.
 *
 * <p>One thread at a time; it may be closed late, twice, and by another thread.
 */
final class RowsAsEntries implements KeyValueIterator<Bytes, byte[]> {
  private final AbstractStore store;
  private final RowIterator rows;
  private @Nullable KeyValue<Bytes, byte[]> next;
  private volatile boolean closed;

  private RowsAsEntries(AbstractStore store, RowIterator rows) {
    this.store = store;
    this.rows = rows;
  }

  static KeyValueIterator<Bytes, byte[]> of(
      AbstractStore store, StoreState state, List<ByteInterval> intervals, boolean forward) {
    return new RowsAsEntries(store, state.rows(intervals.iterator(), forward));
  }

  @Override
  public boolean hasNext() {
    if (closed) {
      throw new InvalidStateStoreException(
          "Iterator of store " + store.name() + " has been closed");
    }
    if (next != null) {
      return true;
    }
    store.open();
    if (!rows.next()) {
      return false;
    }
    next = KeyValue.pair(Bytes.wrap(ByteKeys.decode(rows.key())), rows.value());
    return true;
  }

  @Override
  public KeyValue<Bytes, byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    KeyValue<Bytes, byte[]> n = next;
    next = null;
    return n;
  }

  @Override
  public Bytes peekNextKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return next.key;
  }

  @Override
  public void close() {
    closed = true;
  }
}
