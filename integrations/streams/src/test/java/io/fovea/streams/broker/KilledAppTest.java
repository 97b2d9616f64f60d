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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * A word count is killed with SIGKILL at random times, while lines arrive continuously. Its output
 * and its store must match an oracle.
 *
 * <p>{@code -Dstreams.kills=N} sets the number of kills, {@code -Dstreams.seconds=N} the maximum
 * duration, {@code -Dstreams.seed=N} the seed. Kills are timed by the clock, so a seed repeats the
 * test but not the interleaving.
 */
@Tag("slow")
@Timeout(value = 20, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(WithBroker.class)
class KilledAppTest {
  private static final int KILLS = Integer.getInteger("streams.kills", 20);
  private static final int KILLS_LEAST = 3;
  private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("streams.seconds", 5));
  private static final long SEED = Long.getLong("streams.seed", System.nanoTime());
  private static final String SUPPLIERS =
      System.getProperty("streams.suppliers", "io.fovea.streams.FoveaStores");
  private static final boolean OURS = SUPPLIERS.startsWith("io.fovea");
  private static final int PARTITIONS = 2;
  private static final int WORDS = 2000;
  private static final int LINES_PER_SECOND = 400;
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Duration POLL = Duration.ofMillis(20);

  @TempDir Path dir;

  private final Random random = new Random(SEED);
  private final String about =
      "-Dstreams.seed="
          + SEED
          + " -Dstreams.kills="
          + KILLS
          + " -Dstreams.seconds="
          + TIME.toSeconds();
  private Properties properties;
  private Path file;

  /**
   * What an application restores of a partition: the first offset, the last, and the number of
   * records.
   */
  private record Restore(long from, long end, long records) {}

  private void configure(Broker broker, String application, String guarantee) throws IOException {
    properties =
        CountApp.properties(
            broker.address(), application, dir.resolve("state"), SUPPLIERS, guarantee);
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
    if (guarantee.equals(StreamsConfig.AT_LEAST_ONCE)) {
      // Changes reach the changelog long before they are committed, so there is a tail to restore.
      properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "500");
      properties.put("producer.linger.ms", "0");
    }
    // The successor of a killed process is the same member of the group.
    properties.put("main.consumer.group.instance.id", "one");
    file = dir.resolve("app.properties");
    broker.create(application + "-in", PARTITIONS);
    broker.create(application + "-out", PARTITIONS);
  }

  private boolean isOnce() {
    return StreamsConfig.EXACTLY_ONCE_V2.equals(
        properties.getProperty(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
  }

  /** Starts the application; if it spills, its stores write many uncommitted rows. */
  private Child app(boolean spills) throws IOException {
    properties.put("fovea.pending.bytes", Integer.toString(spills ? 64 << 10 : 8 << 20));
    if (isOnce()) {
      // long enough that most spilled rows are uncommitted at the kill
      properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, spills ? "1000" : "100");
    }
    try (OutputStream out = Files.newOutputStream(file)) {
      properties.store(out, null);
    }
    String application = properties.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
    return Child.start(
        dir.resolve("app.log"),
        List.of("-Xmx256m"),
        CountApp.class.getName(),
        file.toString(),
        Counted.WORDS.name(),
        application + "-in",
        application + "-out");
  }

  /** Records the messages of a child until it runs, or for a time. */
  private final class Heard {
    final Map<Integer, Long> from = new HashMap<>();
    final Map<Integer, Long> end = new HashMap<>();
    final Map<Integer, Restore> restored = new TreeMap<>();

    boolean line(String line) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "restore" -> {
          from.put(Integer.parseInt(words[2]), Long.parseLong(words[3]));
          end.put(Integer.parseInt(words[2]), Long.parseLong(words[4]));
        }
        case "restored" -> {
          int p = Integer.parseInt(words[2]);
          restored.put(p, new Restore(from.get(p), end.get(p), Long.parseLong(words[3])));
        }
        case "error" -> fail(about + ": " + line + ", see " + dir.resolve("app.log"));
        default -> {}
      }
      return true;
    }
  }

  /** Lets a child run for a time, from when it is RUNNING. */
  private void live(Child child, Heard heard, long nanos) throws InterruptedException {
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = end - System.nanoTime()) {
      String line = child.next(Duration.ofNanos(left));
      if (line != null) {
        heard.line(line);
      }
    }
  }

  /** Checks that a run restored only records that were not yet durable. */
  private void checkRestored(Heard heard, Map<Integer, Long> durable) {
    heard.restored.forEach(
        (partition, r) -> {
          Long offset = durable.get(partition);
          String what = about + ": partition " + partition + " left at " + offset + ", " + r;
          long first = offset == null ? 0 : offset + 1;
          assertTrue(r.from >= first, what);
          assertTrue(r.records <= r.end - first, what);
        });
  }

  /** What an application left at a kill, and the committed end of its changelog at that time. */
  private record Seen(int kill, Left left, long committed) {}

  /** Offsets by partition, without partitions that have none. */
  private static Map<Integer, Long> offsets(List<Left> lefts) {
    Map<Integer, Long> offsets = new HashMap<>();
    for (Left left : lefts) {
      offsets.put(left.changelog().partition(), left.offset());
    }
    return offsets;
  }

  /** Kills the application repeatedly, then lets it finish and checks its store. */
  private void run(Broker broker, String application, String guarantee) throws Exception {
    configure(broker, application, guarantee);
    boolean once = isOnce();
    List<Seen> seen = new ArrayList<>();
    Map<String, Long> last = new HashMap<>(); // the last output, by word
    Map<Integer, Long> durable = new HashMap<>();
    long restored = 0;
    long tails = 0;
    int starts = 0;
    int without = 0;
    int spilled = 0;
    int with = 0;
    try (Writer writer =
            new Writer(
                broker,
                application + "-in",
                PARTITIONS,
                WORDS,
                LINES_PER_SECOND,
                random.nextLong());
        Topic out = new Topic(broker, application + "-out", PARTITIONS)) {
      long end = System.nanoTime() + TIME.toNanos();
      for (int kill = 0; kill < KILLS; kill++) {
        // A run in which nothing could have gone wrong proves nothing, so the test continues.
        boolean shown = once ? with > 0 && spilled > 0 : tails > 0;
        if (kill >= KILLS_LEAST && (shown || !OURS) && System.nanoTime() > end) {
          break;
        }
        Heard heard = new Heard();
        try (Child child = app(kill % 2 == 1)) {
          starts++;
          // Most are killed while processing, some while they start, restore or join their group.
          if (kill % 3 != 2) {
            child.await("state RUNNING", PATIENCE, heard::line);
            awaitAtWork(child, out, last, once);
            live(child, heard, (long) (random.nextDouble() * 1_500_000_000L));
          } else {
            live(child, heard, (long) ((0.5 + random.nextDouble()) * 3_000_000_000L));
          }
          child.kill();
          child.rest().forEach(heard::line);
        }
        checkRestored(heard, durable);
        restored += heard.restored.values().stream().mapToLong(Restore::records).sum();
        tails += heard.restored.values().stream().filter(r -> r.from > 0).count();
        List<Left> lefts = Left.in(properties, dir.resolve("copy"));
        Map<Integer, Long> committed = committed(broker, application);
        durable = offsets(lefts);
        for (Left left : lefts) {
          seen.add(new Seen(kill, left, committed.get(left.changelog().partition())));
          without += left.offset() == null ? 1 : 0;
          spilled += left.offset() == null && !left.entries().isEmpty() ? 1 : 0;
          with += left.offset() != null && !left.entries().isEmpty() ? 1 : 0;
        }
      }
      writer.stop();
      Map<String, Long> oracle = writer.words();
      try (Child child = app(false)) {
        Heard heard = new Heard();
        child.await("state RUNNING", PATIENCE, heard::line);
        checkRestored(heard, durable);
        awaitAll(out, last, oracle, once);
        if (!once) {
          awaitQuiet(
              out, last); // uncommitted records are counted twice, after all output has arrived
        }
        Map<String, Long> stored = dump(child, heard);
        for (long until = System.nanoTime() + PATIENCE.toNanos();
            !once && !stored.equals(last) && System.nanoTime() < until; ) {
          awaitQuiet(out, last); // it was not idle yet
          stored = dump(child, heard);
        }
        child.say("stop");
        child.await("stopped", PATIENCE, heard::line);
        assertEquals(0, child.ended(PATIENCE));
        assertEquals(last, stored, about + ": the store equals the last output");
        if (once) {
          assertEquals(oracle, stored, about);
        } else {
          Map<String, Long> has = stored;
          oracle.forEach(
              (word, n) -> assertTrue(has.getOrDefault(word, 0L) >= n, about + ": " + word));
        }
      }
      checkLeft(broker, application, seen, once);
    }
    if (OURS && !once) {
      assertTrue(tails > 0, about + ": no partition began at an offset");
    }
    if (OURS && once) {
      assertTrue(with > 0, about + ": no store that was left had an offset");
      assertTrue(spilled > 0, about + ": no store that was left had spilled");
    }
    Report.line(
        "KilledAppTest",
        guarantee
            + ", "
            + about
            + ": "
            + starts
            + " processes killed, "
            + restored
            + " records restored, "
            + tails
            + " partitions from an offset, "
            + without
            + " left without one, "
            + spilled
            + " of them with rows, "
            + with
            + " with rows and one");
  }

  /** The ends of the changelog's committed part; transactions of killed processes may be open. */
  private static Map<Integer, Long> committed(Broker broker, String application) {
    try (Topic log = new Topic(broker, CountApp.changelog(application), PARTITIONS)) {
      return log.ends();
    }
  }

  /** Reads new output; returns the number of records. */
  private int take(Topic out, Map<String, Long> last, boolean once) {
    List<ConsumerRecord<byte[], byte[]>> more = out.more();
    for (ConsumerRecord<byte[], byte[]> r : more) {
      String word = Topic.text(r.key());
      long count = Topic.number(r.value());
      if (once) {
        // none was lost, repeated or reordered
        assertEquals(last.getOrDefault(word, 0L) + 1, count, () -> about + ": " + word);
      }
      last.put(word, count);
    }
    return more.size();
  }

  /** Waits until a process produces output. */
  private void awaitAtWork(Child child, Topic out, Map<String, Long> last, boolean once) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    take(out, last, once);
    while (take(out, last, once) == 0) {
      assertTrue(child.alive() && System.nanoTime() < end, () -> about + ": " + child.tail());
      LockSupport.parkNanos(POLL.toNanos());
    }
  }

  /** Reads the output until it has every count. */
  private void awaitAll(Topic out, Map<String, Long> last, Map<String, Long> oracle, boolean once) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (oracle.entrySet().stream()
        .anyMatch(e -> last.getOrDefault(e.getKey(), 0L) < e.getValue())) {
      if (take(out, last, once) == 0) {
        LockSupport.parkNanos(POLL.toNanos());
      }
      assertTrue(System.nanoTime() < end, about + ": the output does not reach the oracle");
    }
  }

  /** Reads the output until nothing has arrived for four commit intervals. */
  private void awaitQuiet(Topic out, Map<String, Long> last) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    long quiet = System.nanoTime();
    while (System.nanoTime() - quiet < TimeUnit.SECONDS.toNanos(2)) {
      if (take(out, last, false) > 0) {
        quiet = System.nanoTime();
      }
      LockSupport.parkNanos(POLL.toNanos());
      assertTrue(System.nanoTime() < end, about + ": the output does not end");
    }
  }

  private Map<String, Long> dump(Child child, Heard heard) throws InterruptedException {
    Map<String, Long> entries = new HashMap<>();
    child.say("dump");
    child.await(
        "end",
        PATIENCE,
        line -> {
          if (!line.startsWith("entry ")) {
            return heard.line(line);
          }
          String[] words = line.split(" ");
          return entries.put(words[1], Long.parseLong(words[2])) == null;
        });
    return entries;
  }

  /**
   * Compares the stores after each kill and after the orderly end with the changelog, all of whose
   * transactions have ended by now.
   */
  private void checkLeft(Broker broker, String application, List<Seen> seen, boolean once)
      throws Exception {
    List<Left> end = Left.in(properties, dir.resolve("copy"));
    assertEquals(PARTITIONS, end.size(), about);
    String changelog = CountApp.changelog(application);
    try (Topic log = new Topic(broker, changelog, PARTITIONS)) {
      List<ConsumerRecord<byte[], byte[]>> records = log.more();
      for (Left left : end) {
        left.check(records, about + ", at the end", false);
        TopicPartition p = left.changelog();
        assertEquals(
            Left.entries(records, p.partition(), Long.MAX_VALUE),
            left.entries(),
            () -> about + ": " + p + " and its changelog");
      }
      for (Seen s : seen) {
        // Output is repeated identically, so what was uncommitted then appears committed now.
        List<ConsumerRecord<byte[], byte[]>> then =
            once ? records.stream().filter(r -> r.offset() < s.committed).toList() : records;
        s.left.check(then, about + ", kill " + s.kill, !once);
      }
    }
  }

  @Test
  void exactlyOnce(Broker broker) throws Exception {
    run(broker, "once", StreamsConfig.EXACTLY_ONCE_V2);
  }

  @Test
  void atLeastOnce(Broker broker) throws Exception {
    run(broker, "least", StreamsConfig.AT_LEAST_ONCE);
  }
}
