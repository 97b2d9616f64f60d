package io.fovea.streams;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.jspecify.annotations.Nullable;

/**
 * What all stores have in common: they are opened, committed, restored and closed in the same way.
 *
 * <p>Threading: Kafka Streams has one thread at a time write, commit and close a store. Any thread
 * reads it.
 */
abstract class AbstractStore implements StateStore {
  private final String name;
  private final StoreKind kind;
  private final String format;
  private @Nullable StateStoreContext context;
  private @Nullable KafkaInternals internals;
  private @Nullable FoveaConfig config;
  private volatile @Nullable StoreState state;

  AbstractStore(String name, StoreKind kind, String format) {
    this.name = name;
    this.kind = kind;
    this.format = format;
  }

  /** How long a segment is, in a store that is created; 0 for no segments. */
  long segmentMillis() {
    return 0;
  }

  /** Writes a record of the changelog. */
  abstract void restore(StoreState to, ConsumerRecord<byte[], byte[]> record);

  /**
   * Answers a query.
   *
   * @return a result of the query's type; {@link Queries#UNKNOWN} if the store does not know it
   */
  abstract @Nullable Object answer(Query<?> query, RowSource from);

  /** The store was opened, and knows what the database says of it. */
  void opened(StoreState opened) {}

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final void init(StateStoreContext in, StateStore root) {
    requireClosedElsewhere(in);
    FoveaConfig c = FoveaConfig.of(in.appConfigs());
    context = in;
    config = c;
    KafkaInternals k = KafkaInternals.of(c.internals());
    internals = k;
    opened(reopen(in));
    if (root != null) {
      in.register(root, k.restoreCallback(this::restoreAll));
    }
  }

  /** A store that two tasks have would write into the table of the one that opened it last. */
  private void requireClosedElsewhere(StateStoreContext in) {
    StateStoreContext was = context;
    if (was != null && stateOrNull() != null && !was.stateDir().equals(in.stateDir())) {
      throw new ProcessorStateException(
          "Store "
              + name
              + " is open in "
              + was.stateDir()
              + ", and the same object is to be opened in "
              + in.stateDir()
              + ". Is a store kept, and given to Kafka Streams twice? A supplier's get() gives a new"
              + " store each time.");
    }
  }

  private StoreState reopen(StateStoreContext in) {
    StoreState opened = Instance.open(in, name, kind, format, segmentMillis());
    state = opened;
    return opened;
  }

  /** Writes records of the changelog; a store that was closed is open then. */
  private void restoreAll(Collection<ConsumerRecord<byte[], byte[]>> records) {
    StateStoreContext in = context;
    StoreState to = stateOrNull();
    if (to == null) {
      to = reopen(Objects.requireNonNull(in));
    }
    to.finishStaged();
    KafkaInternals k = internals();
    boolean positions = config != null && config.positions();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      synchronized (to.monitor()) { // a query sees the row and its position, or none of them
        restore(to, record);
        if (positions) {
          k.addPosition(record, to.position());
        }
      }
      to.relieve();
    }
    to.sensors().restored();
  }

  /** A write has the position of the record that is processed. */
  final void processed(StoreState to) {
    StateStoreContext c = context;
    if (c != null) {
      c.recordMetadata()
          .filter(m -> m.topic() != null)
          .ifPresent(m -> to.position().withComponent(m.topic(), m.partition(), m.offset()));
    }
  }

  /** The state, which is open. */
  final StoreState open() {
    StoreState s = stateOrNull();
    if (s == null) {
      throw new InvalidStateStoreException("Store " + name + " is currently closed");
    }
    return s;
  }

  /**
   * Opens an iterator over the store as it is now.
   *
   * @param of the store's state; null if it is closed
   * @param made makes the iterator of what it reads; of null if the store is closed
   */
  static <K, I extends StoreIterator<K>> I iterate(
      @Nullable StoreState of, Function<@Nullable RowSource, I> made) {
    if (of == null) {
      return made.apply(null);
    }
    StoreView view = of.view(false);
    try {
      I rows = made.apply(view);
      rows.onClose(view::close);
      return rows;
    } catch (RuntimeException | Error e) {
      view.close();
      throw e;
    }
  }

  /** The state; null if the store is closed. */
  final @Nullable StoreState stateOrNull() {
    StoreState s = state;
    return s == null || s.isClosed() ? null : s;
  }

  /**
   * Whether a closed store has no rows, as Kafka Streams' own stores of that kind do; else reading
   * it is an error.
   */
  boolean isEmptyWhenClosed() {
    return false;
  }

  final KafkaInternals internals() {
    KafkaInternals k = internals;
    if (k == null) {
      throw new InvalidStateStoreException("Store " + name + " was not initialized");
    }
    return k;
  }

  final @Nullable StateStoreContext context() {
    return context;
  }

  @Override
  public final void commit(Map<TopicPartition, Long> changelogOffsets) {
    open().commit(changelogOffsets);
  }

  @Override
  public final @Nullable Long committedOffset(TopicPartition partition) {
    return open().committedOffset(partition);
  }

  @Override
  @Deprecated
  public final boolean managesOffsets() {
    return true;
  }

  @Override
  public final void close() {
    StoreState s = state;
    if (s != null) {
      state = null;
      s.close();
    }
  }

  @Override
  public final boolean persistent() {
    return true;
  }

  @Override
  public final boolean isOpen() {
    return stateOrNull() != null;
  }

  @Override
  public final <R> QueryResult<R> query(
      Query<R> query, PositionBound positionBound, QueryConfig config) {
    StateStoreContext c = context;
    int partition = c == null || c.taskId() == null ? 0 : c.taskId().partition();
    return Queries.answer(this, partition, query, positionBound, config);
  }

  @Override
  public final Position getPosition() {
    return open().position();
  }
}
