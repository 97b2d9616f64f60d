package io.fovea.streams;

import java.util.function.Supplier;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.jspecify.annotations.Nullable;

/**
 * An iterator over windows or sessions that is opened by its first step and returns the contents at
 * that time. Kafka Streams' own stores do the same, and its tests rely on it.
 *
 * <p>Used by one thread at a time; any thread may close it.
 *
 * @param <K> the type of the keys
 */
class DeferredIterator<K> implements KeyValueIterator<K, byte[]> {
  private final AbstractStore store;
  private final Supplier<? extends StoreIterator<K>> opening;
  private @Nullable StoreIterator<K> opened;
  private boolean closed;

  DeferredIterator(AbstractStore store, Supplier<? extends StoreIterator<K>> opening) {
    this.store = store;
    this.opening = opening;
  }

  /** An iterator over the times of one key. */
  static final class OfTimes extends DeferredIterator<Long> implements WindowStoreIterator<byte[]> {
    OfTimes(AbstractStore store, Supplier<? extends StoreIterator<Long>> opening) {
      super(store, opening);
    }
  }

  private synchronized StoreIterator<K> opened() {
    if (closed) {
      throw new InvalidStateStoreException(StoreIterator.closedMessage(store));
    }
    StoreIterator<K> o = opened;
    if (o == null) {
      o = opening.get();
      opened = o;
    }
    return o;
  }

  @Override
  public boolean hasNext() {
    return opened().hasNext();
  }

  @Override
  public KeyValue<K, byte[]> next() {
    return opened().next();
  }

  @Override
  public K peekNextKey() {
    return opened().peekNextKey();
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (opened != null) {
      opened.close();
    }
  }
}
