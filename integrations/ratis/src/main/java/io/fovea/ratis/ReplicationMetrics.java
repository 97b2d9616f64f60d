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
 * Binds the meters of a peer to a Micrometer registry, which is an optional dependency.
 *
 * <pre>
 *   fovea.replication.submits     timer    commands with a receipt: count and time
 *   fovea.replication.failures    counter  commands that were refused, or that nobody answered
 *   fovea.replication.tries       counter  tries of requests after the first ones
 *   fovea.replication.applied     counter  entries that were applied here
 *   fovea.replication.retries     counter  those among them that had been applied before
 *   fovea.replication.copies      counter  copies of the database that were taken in
 *   fovea.replication.copied      counter  bytes of such copies
 *   fovea.replication.index       gauge    kind=applied|committed: where in the log
 *   fovea.replication.leader      gauge    1 while this peer leads, else 0
 *   fovea.replication.health      gauge    1 while it is up, 0.5 without a leader, else 0
 * </pre>
 *
 * <p>Every meter has the tag {@code peer}, its name. Alerts: {@code health} below 1, and committed
 * minus applied that grows. After the peer is closed the meters stand still.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class ReplicationMetrics implements MeterBinder {
  private final ReplicatedDatabase peer;
  private final Tags tags;

  /**
   * Meters of a peer.
   *
   * @param peer whose
   */
  public ReplicationMetrics(ReplicatedDatabase peer) {
    this(peer, Tags.empty());
  }

  /**
   * Meters of a peer.
   *
   * @param peer whose
   * @param tags further tags for all of them
   */
  public ReplicationMetrics(ReplicatedDatabase peer, Iterable<Tag> tags) {
    this.peer = Objects.requireNonNull(peer, "peer");
    this.tags = Tags.of(tags).and("peer", peer.id());
  }

  /**
   * Registers the meters.
   *
   * @param registry where
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    FunctionTimer.builder(
            "fovea.replication.submits",
            peer,
            p -> p.stats().acknowledged(),
            p -> p.stats().submitNanos(),
            TimeUnit.NANOSECONDS)
        .description("Commands with a receipt")
        .tags(tags)
        .register(registry);
    counter(registry, "failures", "Commands without a receipt", ReplicationStats::failed);
    counter(registry, "tries", "Tries of requests after the first", ReplicationStats::tries);
    counter(registry, "applied", "Entries of the log applied", ReplicationStats::applied);
    counter(
        registry,
        "retries",
        "Entries that had been applied before",
        ReplicationStats::retriesFound);
    counter(registry, "copies", "Copies of the database taken in", ReplicationStats::copiesTaken);
    counter(registry, "copied", "Bytes of copies taken in", ReplicationStats::copyBytes);
    String index = "Where in the log this peer is";
    gauge(registry, "index", index, p -> p.stats().appliedIndex(), "kind", "applied");
    gauge(registry, "index", index, p -> p.stats().committedIndex(), "kind", "committed");
    gauge(registry, "leader", "Whether it leads", p -> p.membership().isLeader() ? 1 : 0);
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
