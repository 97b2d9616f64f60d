package io.fovea.streams;

import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.Sensor.RecordingLevel;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of a store, in addition to those of Kafka Streams.
 *
 * <pre>
 *   stream-fovea-metrics   fovea-id = task.store
 *     commit-rate, commit-total      transactions that committed the store
 *     spill-rate, spill-total        transactions that wrote it ahead of a commit
 *     restore-rate, restore-total    batches of changelog records that were applied
 * </pre>
 *
 * <p>Thread-safe.
 */
final class StoreSensors implements AutoCloseable {
  private static final StoreSensors NONE = new StoreSensors();

  private final @Nullable StreamsMetrics metrics;
  private final @Nullable Sensor commits;
  private final @Nullable Sensor spills;
  private final @Nullable Sensor restored;

  private StoreSensors() {
    metrics = null;
    commits = null;
    spills = null;
    restored = null;
  }

  private StoreSensors(StreamsMetrics metrics, String entity) {
    this.metrics = metrics;
    this.commits = sensor(metrics, entity, "commit");
    this.spills = sensor(metrics, entity, "spill");
    this.restored = sensor(metrics, entity, "restore");
  }

  static StoreSensors of(StateStoreContext context, String store) {
    StreamsMetrics metrics = context.metrics();
    return metrics == null ? NONE : new StoreSensors(metrics, context.taskId() + "." + store);
  }

  private static Sensor sensor(StreamsMetrics metrics, String entity, String operation) {
    return metrics.addRateTotalSensor("fovea", entity, operation, RecordingLevel.INFO);
  }

  void committed() {
    record(commits);
  }

  void spilled() {
    record(spills);
  }

  void restored() {
    record(restored);
  }

  private static void record(@Nullable Sensor sensor) {
    if (sensor != null) {
      sensor.record();
    }
  }

  @Override
  public void close() {
    StreamsMetrics m = metrics;
    if (m != null) {
      remove(m, commits);
      remove(m, spills);
      remove(m, restored);
    }
  }

  private static void remove(StreamsMetrics metrics, @Nullable Sensor sensor) {
    if (sensor != null) {
      metrics.removeSensor(sensor);
    }
  }
}
