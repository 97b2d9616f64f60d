package io.fovea.streams.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.fovea.streams.broker.CountApp.Counted;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.StateQueryRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two instances share four partitions, each is the other's standby, and one is killed. The other
 * keeps answering queries, and each answer matches its position.
 *
 * <p>An answer is checked both ways: it is not behind the requested bound, and its count is how
 * often the key occurs in its partition up to the offset in the answer's position, not one record
 * less or more.
 *
 * <p>{@code -Dstreams.suppliers=CLASS} uses other stores. Those of Kafka Streams 4.3.1 on RocksDB
 * deadlock: a put holds the monitor of its store and waits for that of its position, a query holds
 * the second and waits for the first.
 */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(WithBroker.class)
class StandbyTest {
  private static final long SEED = Long.getLong("streams.seed", System.nanoTime());
  private static final String SUPPLIERS =
      System.getProperty("streams.suppliers", "io.fovea.streams.FoveaStores");
  private static final int QUERIES = Integer.getInteger("streams.queries", 500);
  private static final int PARTITIONS = 4;
  private static final int WORDS = 300;
  private static final int LINES_PER_SECOND = 500;
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Duration POLL = Duration.ofMillis(10);
  private static final Duration BETWEEN_QUERIES = Duration.ofMillis(2);
  private static final String IN = "standby-in";
  private static final String OUT = "standby-out";

  @TempDir Path dir;

  private final Random random = new Random(SEED);
  private final String about = "-Dstreams.seed=" + SEED;
  private volatile Throwable died;

  private Properties properties(Broker broker, String instance) {
    Properties p =
        CountApp.properties(
            broker.address(),
            "standby",
            dir.resolve(instance),
            SUPPLIERS,
            StreamsConfig.EXACTLY_ONCE_V2);
    p.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, "1");
    // Changelog records carry positions, from which a standby's position is computed.
    p.put(StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED, true);
    p.put("session.timeout.ms", "5000");
    p.put("heartbeat.interval.ms", "500");
    p.put("probing.rebalance.interval.ms", "60000");
    return p;
  }

  private Child other(Broker broker) throws IOException {
    Path file = dir.resolve("other.properties");
    Properties text = new Properties();
    properties(broker, "b").forEach((k, v) -> text.put(k, v.toString()));
    try (OutputStream out = Files.newOutputStream(file)) {
      text.store(out, null);
    }
    return Child.start(
        dir.resolve("other.log"),
        List.of("-Xmx256m"),
        CountApp.class.getName(),
        file.toString(),
        Counted.KEYS.name(),
        IN,
        OUT);
  }

  /** Statistics of a round of queries. */
  private static final class Answers {
    int answered;
    int behind;
    int absent;

    @Override
    public String toString() {
      return answered + " answers, " + behind + " behind the bound, " + absent + " not found";
    }
  }

  /** Queries a key with a bound that may not be reached yet, and checks the answer. */
  private void query(KafkaStreams streams, Writer writer, Answers answers) {
    double d = random.nextDouble();
    String key = Writer.word((int) (d * d * d * WORDS));
    int partition = writer.partition(key);
    long newest = writer.acknowledged(partition) - 1;
    // Mostly recent bounds; a few are still ahead.
    double back = random.nextDouble();
    long bound = newest - (long) (back * back * newest);
    LockSupport.parkNanos(BETWEEN_QUERIES.toNanos());
    if (bound < 0) {
      return;
    }
    QueryResult<Long> result = ask(streams, key, partition, bound);
    if (result == null) {
      answers.absent++;
      return;
    }
    if (result.isFailure()) {
      FailureReason reason = result.getFailureReason();
      if (reason == FailureReason.NOT_UP_TO_BOUND) {
        answers.behind++;
      } else if (reason == FailureReason.STORE_EXCEPTION
          || reason == FailureReason.UNKNOWN_QUERY_TYPE) {
        fail(about + ": " + key + ": " + result.getFailureMessage());
      } else {
        answers.absent++;
      }
      return;
    }
    answers.answered++;
    long at = result.getPosition().getPartitionPositions(IN).getOrDefault(partition, -1L);
    assertTrue(at >= bound, () -> about + ": asked for " + bound + ", got " + result.getPosition());
    Long value = result.getResult();
    long count = value == null ? 0 : value;
    // The answer may include a line whose acknowledgment the writer has yet to receive.
    awaitTrue(() -> writer.acknowledged(partition) > at, () -> "line " + at);
    assertEquals(
        writer.count(key, at),
        count,
        () -> about + ": " + key + " in partition " + partition + " at " + at);
  }

  private QueryResult<Long> ask(KafkaStreams streams, String key, int partition, long bound) {
    StateQueryRequest<Long> request =
        StateQueryRequest.inStore(CountApp.STORE)
            .withQuery(KeyQuery.<String, Long>withKey(key))
            .withPartitions(Set.of(partition))
            .withPositionBound(
                PositionBound.at(Position.emptyPosition().withComponent(IN, partition, bound)));
    // Kafka Streams drops the bound if a request asks for the active store.
    return streams.query(request).getPartitionResults().get(partition);
  }

  private void awaitTrue(BooleanSupplier condition, Supplier<String> what) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (died != null) {
        throw new AssertionError(about, died);
      }
      if (System.nanoTime() > end) {
        fail(about + ": no " + what.get());
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
  }

  /** The partitions that an instance answers for: its active ones, optionally also its standbys. */
  private static Set<Integer> partitions(KafkaStreams streams, boolean active) {
    StateQueryRequest<Long> request =
        StateQueryRequest.inStore(CountApp.STORE)
            .withQuery(KeyQuery.<String, Long>withKey(Writer.word(0)));
    Set<Integer> all = new TreeSet<>();
    if (streams.state() == KafkaStreams.State.RUNNING) {
      streams
          .query(active ? request.requireActive() : request)
          .getPartitionResults()
          .forEach(
              (partition, result) -> {
                if (result.isSuccess()) {
                  all.add(partition);
                }
              });
    }
    return all;
  }

  @Test
  void survivesKillOfOneInstance(Broker broker) throws Exception {
    broker.create(IN, PARTITIONS);
    broker.create(OUT, PARTITIONS);
    try (Child other = other(broker);
        KafkaStreams here =
            new KafkaStreams(CountApp.topology(Counted.KEYS, IN, OUT), properties(broker, "a"));
        Writer writer =
            new Writer(broker, IN, PARTITIONS, WORDS, LINES_PER_SECOND, random.nextLong())) {
      here.setUncaughtExceptionHandler(
          e -> {
            died = e;
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
          });
      here.start();
      awaitTrue(
          () -> partitions(here, true).size() == 2 && partitions(here, false).size() == PARTITIONS,
          () ->
              "a share of the tasks, after "
                  + partitions(here, true)
                  + " of "
                  + partitions(here, false)
                  + " "
                  + here.state()
                  + " "
                  + other.rest());
      Set<Integer> taken = partitions(here, false);
      taken.removeAll(partitions(here, true));
      Answers beside = new Answers();
      Answers both = new Answers();
      // partitions here, and partitions of the other instance
      while (beside.answered < QUERIES) {
        query(here, writer, beside);
        if (died != null || !other.alive()) {
          throw new AssertionError(about + ": " + other.tail(), died);
        }
      }
      other.kill();
      while (partitions(here, true).size() < PARTITIONS) {
        query(here, writer, both);
        if (died != null) {
          throw new AssertionError(about, died);
        }
      }
      Answers alone = new Answers();
      while (alone.answered < QUERIES) {
        query(here, writer, alone);
        if (died != null) {
          throw new AssertionError(about, died);
        }
      }
      writer.stop();
      Map<String, Long> oracle = writer.keys();
      for (Map.Entry<String, Long> e : oracle.entrySet()) {
        int partition = writer.partition(e.getKey());
        long last = writer.acknowledged(partition) - 1;
        awaitTrue(
            () -> {
              QueryResult<Long> result = ask(here, e.getKey(), partition, last);
              return result != null && result.isSuccess();
            },
            () -> "the last line of partition " + partition);
        assertEquals(
            e.getValue(),
            ask(here, e.getKey(), partition, last).getResult(),
            () -> about + ": " + e.getKey());
      }
      Report.line(
          "StandbyTest",
          about
              + ": next to the other: "
              + beside
              + "; while it was missed: "
              + both
              + "; alone: "
              + alone
              + "; standbys that were taken over: "
              + taken);
    }
  }
}
