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
 * Opens, commits, restores and closes stores of all kinds.
 *
 * <p>Threading: one thread at a time writes, commits and closes a store. Any thread reads it.
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

  /** The length of a segment in a new store; 0 for no segments. */
  long segmentMillis() {
    return 0;
  }

  /** Writes a record of the changelog. */
  abstract void restore(StoreState to, ConsumerRecord<byte[], byte[]> record);

  /**
   * Answers a query.
   *
   * @return a result of the query's type; {@link Queries#UNKNOWN} if the query is not supported
   */
  abstract @Nullable Object answer(Query<?> query, RowSource from);

  /** Called after the store was opened. */
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

  /** A store opened by two tasks would write into the table of the task that opened it last. */
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
              + ". A supplier's get() must return a new"
              + " store each time.");
    }
  }

  private StoreState reopen(StateStoreContext in) {
    StoreState opened = Instance.open(in, name, kind, format, segmentMillis());
    state = opened;
    return opened;
  }

  /** Writes records of the changelog; reopens a closed store. */
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
      synchronized (to.monitor()) { // a query sees both row and position, or neither
        restore(to, record);
        if (positions) {
          k.addPosition(record, to.position());
        }
      }
      to.relieve();
    }
    to.sensors().restored();
  }

  /** Adds the position of the record being processed. */
  final void processed(StoreState to) {
    StateStoreContext c = context;
    if (c != null) {
      c.recordMetadata()
          .filter(m -> m.topic() != null)
          .ifPresent(m -> to.position().withComponent(m.topic(), m.partition(), m.offset()));
    }
  }

  /** Returns the state; throws if the store is closed. */
  final StoreState open() {
    StoreState s = stateOrNull();
    if (s == null) {
      throw new InvalidStateStoreException("Store " + name + " is currently closed");
    }
    return s;
  }

  /**
   * Opens an iterator over the current contents.
   *
   * @param of the store's state; null if it is closed
   * @param made creates the iterator over a source; the source is null if the store is closed
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

  /** Returns the state; null if the store is closed. */
  final @Nullable StoreState stateOrNull() {
    StoreState s = state;
    return s == null || s.isClosed() ? null : s;
  }

  /**
   * Whether a closed store reads as empty, as Kafka Streams' own stores of that kind do. Otherwise
   * reading it is an error.
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
