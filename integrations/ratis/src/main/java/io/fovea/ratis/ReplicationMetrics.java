package io.fovea.ratis;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * Publishes the meters of a peer in a Micrometer registry. Micrometer is an optional dependency.
 *
 * <pre>
 *   fovea.replication.submits     timer    successful commands: count and time until the result
 *   fovea.replication.failures    counter  commands that were refused or got no answer
 *   fovea.replication.tries       counter  repeated attempts of requests
 *   fovea.replication.applied     counter  entries applied here
 *   fovea.replication.retries     counter  applied entries whose request had been applied before
 *   fovea.replication.copies      counter  copies of the database that were installed
 *   fovea.replication.copied      counter  bytes of such copies
 *   fovea.replication.index       gauge    kind=applied|committed: position in the log
 *   fovea.replication.leader      gauge    1 while this peer leads, otherwise 0
 *   fovea.replication.health      gauge    1 while it is up, 0.5 without a leader, otherwise 0
 * </pre>
 *
 * <p>Every meter has the tag {@code peer}, the peer's name. Alert on {@code health} below 1, and on
 * a growing difference between committed and applied index. After the peer is closed the meters
 * keep their last values.
 *
 * <p>Thread-safe.
 *
 * @since 0.1.0
 */
public final class ReplicationMetrics implements MeterBinder {
  private final ReplicatedDatabase peer;
  private final Tags tags;

  /**
   * Creates the meters of a peer.
   *
   * @param peer the peer
   */
  public ReplicationMetrics(ReplicatedDatabase peer) {
    this(peer, Tags.empty());
  }

  /**
   * Creates the meters of a peer.
   *
   * @param peer the peer
   * @param tags further tags for all meters
   */
  public ReplicationMetrics(ReplicatedDatabase peer, Iterable<Tag> tags) {
    this.peer = Objects.requireNonNull(peer, "peer");
    this.tags = Tags.of(tags).and("peer", peer.id());
  }

  /**
   * Registers the meters.
   *
   * @param registry the registry
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    FunctionTimer.builder(
            "fovea.replication.submits",
            peer,
            p -> p.stats().acknowledged(),
            p -> p.stats().submitNanos(),
            TimeUnit.NANOSECONDS)
        .description("Successful commands")
        .tags(tags)
        .register(registry);
    counter(registry, "failures", "Failed commands", ReplicationStats::failed);
    counter(registry, "tries", "Repeated attempts of requests", ReplicationStats::tries);
    counter(registry, "applied", "Entries of the log applied", ReplicationStats::applied);
    counter(
        registry,
        "retries",
        "Entries that had been applied before",
        ReplicationStats::retriesFound);
    counter(registry, "copies", "Copies of the database installed", ReplicationStats::copiesTaken);
    counter(registry, "copied", "Bytes of such copies received", ReplicationStats::copyBytes);
    String index = "Position of this peer in the log";
    gauge(registry, "index", index, p -> p.stats().appliedIndex(), "kind", "applied");
    gauge(registry, "index", index, p -> p.stats().committedIndex(), "kind", "committed");
    gauge(registry, "leader", "1 while it leads", p -> p.membership().isLeader() ? 1 : 0);
    gauge(
        registry,
        "health",
        "1 while it is up",
        p ->
            switch (p.health().state()) {
              case UP -> 1;
              case NO_LEADER -> 0.5;
              case DOWN -> 0;
            });
  }

  private void counter(
      MeterRegistry registry, String name, String what, ToLongFunction<ReplicationStats> value) {
    FunctionCounter.builder("fovea.replication." + name, peer, p -> value.applyAsLong(p.stats()))
        .description(what)
        .tags(tags)
        .register(registry);
  }

  private void gauge(
      MeterRegistry registry,
      String name,
      String what,
      ToDoubleFunction<ReplicatedDatabase> value,
      String... more) {
    Gauge.builder("fovea.replication." + name, peer, value)
        .description(what)
        .tags(tags.and(more))
        .register(registry);
  }
}
