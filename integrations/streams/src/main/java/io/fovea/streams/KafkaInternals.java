package io.fovea.streams;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.kstream.Window;
import org.apache.kafka.streams.processor.BatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All uses of non-public classes of Kafka Streams, through method handles.
 *
 * <p>Each missing class has its own fallback, which is logged once:
 *
 * <table>
 * <caption>internals and fallbacks</caption>
 * <tr><td>{@code RecordBatchingStateRestoreCallback}</td><td>the public callback of batches: no
 * offsets, no timestamps, no headers</td></tr>
 * <tr><td>{@code ChangelogRecordDeserializationHelper}</td><td>positions are not
 * restored</td></tr>
 * <tr><td>{@code TaskMetrics.droppedRecordsSensor}</td><td>dropped records are not
 * counted</td></tr>
 * <tr><td>{@code TimeWindow}, {@code SessionWindow}</td><td>a plain {@code Window}</td></tr>
 * </table>
 *
 * <p>Immutable and thread-safe.
 */
final class KafkaInternals {
  private static final String PROCESSOR = "org.apache.kafka.streams.processor.internals.";
  private static final String WINDOWS = "org.apache.kafka.streams.kstream.internals.";

  private static final Logger LOG = LoggerFactory.getLogger(KafkaInternals.class);

  /** Missing internals that were logged, once per process. */
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

  private final ClassLoader loader;
  private final @Nullable Class<?> batching;
  private final @Nullable MethodHandle addPosition;
  private final @Nullable MethodHandle droppedRecords;
  private final @Nullable MethodHandle timeWindow;
  private final @Nullable MethodHandle sessionWindow;

  private KafkaInternals(boolean used, ClassLoader loader) {
    this.loader = loader;
    batching = used ? type(PROCESSOR + "RecordBatchingStateRestoreCallback") : null;
    addPosition =
        used
            ? method(
                PROCESSOR + "ChangelogRecordDeserializationHelper",
                "applyChecksAndUpdatePosition",
                void.class,
                ConsumerRecord.class,
                boolean.class,
                Position.class)
            : null;
    droppedRecords = used ? droppedRecordsSensor() : null;
    timeWindow = used ? window(WINDOWS + "TimeWindow") : null;
    sessionWindow = used ? window(WINDOWS + "SessionWindow") : null;
    if (used) {
      warnOfMissing(
          batching,
          "RecordBatchingStateRestoreCallback",
          "positions are not restored, and versioned stores can't be");
      warnOfMissing(
          addPosition, "ChangelogRecordDeserializationHelper", "positions are not restored");
      warnOfMissing(
          droppedRecords, "TaskMetrics.droppedRecordsSensor", "dropped records are not counted");
      warnOfMissing(timeWindow, "TimeWindow", "windows are of another class");
      warnOfMissing(sessionWindow, "SessionWindow", "windows of sessions are of another class");
    }
  }

  private static void warnOfMissing(@Nullable Object found, String name, String so) {
    if (found == null && WARNED.add(name)) {
      LOG.warn(
          "Kafka Streams {} has no internal {} that Fovea's stores know: {}.",
          KafkaVersion.version(),
          name,
          so);
    }
  }

  /** Finds the available internals; none if they are not to be used. */
  static KafkaInternals of(boolean used) {
    return of(used, StreamsMetrics.class.getClassLoader());
  }

  /** For tests: finds internals with a class loader. */
  static KafkaInternals of(boolean used, ClassLoader loader) {
    return new KafkaInternals(used, loader);
  }

  private @Nullable MethodHandle droppedRecordsSensor() {
    Class<?> metrics = type(PROCESSOR + "metrics.StreamsMetricsImpl");
    return metrics == null
        ? null
        : method(
            PROCESSOR + "metrics.TaskMetrics",
            "droppedRecordsSensor",
            Sensor.class,
            String.class,
            String.class,
            metrics);
  }

  private @Nullable MethodHandle window(String name) {
    Class<?> window = type(name);
    if (window == null) {
      return null;
    }
    try {
      return MethodHandles.publicLookup()
          .findConstructor(window, MethodType.methodType(void.class, long.class, long.class))
          .asType(MethodType.methodType(Window.class, long.class, long.class));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  private @Nullable Class<?> type(String name) {
    try {
      return Class.forName(name, true, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      return null;
    }
  }

  private @Nullable MethodHandle method(
      String type, String name, Class<?> result, Class<?>... arguments) {
    Class<?> in = type(type);
    if (in == null) {
      return null;
    }
    try {
      return MethodHandles.publicLookup()
          .findStatic(in, name, MethodType.methodType(result, arguments));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  /** Returns whether records are restored with offset, timestamp and headers. */
  boolean givesRecords() {
    return batching != null;
  }

  /** Creates the callback that passes changelog records to a store. */
  StateRestoreCallback restoreCallback(Consumer<Collection<ConsumerRecord<byte[], byte[]>>> to) {
    BatchingStateRestoreCallback plain = records -> to.accept(records(records));
    if (batching == null) {
      return plain;
    }
    return (StateRestoreCallback)
        Proxy.newProxyInstance(
            batching.getClassLoader(),
            new Class<?>[] {batching},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "restoreBatch" -> {
                    to.accept(asRecords(arguments[0]));
                    yield null;
                  }
                  case "restoreAll" -> {
                    plain.restoreAll(asPairs(arguments[0]));
                    yield null;
                  }
                  case "restore" -> {
                    plain.restoreAll(
                        List.of(KeyValue.pair((byte[]) arguments[0], (byte[]) arguments[1])));
                    yield null;
                  }
                  case "equals" -> proxy == arguments[0];
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "toString" -> "restores a Fovea store";
                  default -> throw new UnsupportedOperationException(method.toString());
                });
  }

  @SuppressWarnings("unchecked") // as the interface declares it
  private static Collection<ConsumerRecord<byte[], byte[]>> asRecords(Object argument) {
    return (Collection<ConsumerRecord<byte[], byte[]>>) argument;
  }

  @SuppressWarnings("unchecked") // as the interface declares it
  private static Collection<KeyValue<byte[], byte[]>> asPairs(Object argument) {
    return (Collection<KeyValue<byte[], byte[]>>) argument;
  }

  private static Collection<ConsumerRecord<byte[], byte[]>> records(
      Collection<KeyValue<byte[], byte[]>> pairs) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>(pairs.size());
    pairs.forEach(p -> records.add(new ConsumerRecord<>("", 0, 0, p.key, p.value)));
    return records;
  }

  /** Adds the position that a changelog record carries. */
  void addPosition(ConsumerRecord<byte[], byte[]> record, Position to) {
    if (addPosition != null) {
      try {
        addPosition.invokeExact(record, true, to);
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable t) {
        throw unexpected(t);
      }
    }
  }

  /** Returns the sensor of a task's dropped records; null if unavailable. */
  @Nullable Sensor droppedRecords(StateStoreContext context) {
    if (droppedRecords == null) {
      return null;
    }
    try {
      return (Sensor)
          droppedRecords.invoke(
              Thread.currentThread().getName(), context.taskId().toString(), context.metrics());
    } catch (ClassCastException e) {
      return null; // another implementation of metrics, as in tests
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Creates a window that excludes its end. */
  Window timeWindow(long start, long end) {
    return made(timeWindow, start, end);
  }

  /** Creates a window that includes its end. */
  Window sessionWindow(long start, long end) {
    return made(sessionWindow, start, end);
  }

  private static Window made(@Nullable MethodHandle how, long start, long end) {
    if (how == null) {
      return new PlainWindow(start, end);
    }
    try {
      return (Window) how.invokeExact(start, end);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A window, if Kafka Streams' own class is missing. */
  private static final class PlainWindow extends Window {
    PlainWindow(long start, long end) {
      super(start, end);
    }

    @Override
    public boolean overlap(Window other) {
      return start() <= other.end() && other.start() <= end();
    }
  }

  private static IllegalStateException unexpected(Throwable t) {
    return new IllegalStateException("Kafka Streams threw an undeclared exception.", t);
  }
}
