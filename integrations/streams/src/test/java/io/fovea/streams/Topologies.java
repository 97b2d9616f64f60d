package io.fovea.streams;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;

/** Topologies that use stores in all possible ways. Keys and values are strings. */
enum Topologies {
  COUNT {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(grouped(builder).count(Materialized.as("counts")).toStream());
    }
  },
  REDUCE {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(grouped(builder).reduce((a, b) -> a + b, Materialized.as("sums")).toStream());
    }
  },
  WINDOWS_WITH_GRACE {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          grouped(builder)
              .windowedBy(
                  TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofSeconds(5))
                      .advanceBy(Duration.ofSeconds(3)))
              .count(Materialized.as("windows"))
              .toStream((k, v) -> k.key() + "@" + k.window().start()));
    }
  },
  SLIDING_WINDOWS {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          grouped(builder)
              .windowedBy(
                  SlidingWindows.ofTimeDifferenceAndGrace(
                      Duration.ofSeconds(4), Duration.ofSeconds(5)))
              .count(Materialized.as("sliding"))
              .toStream((k, v) -> k.key() + "@" + k.window().start()));
    }
  },
  SESSIONS_THAT_MERGE {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          grouped(builder)
              .windowedBy(
                  SessionWindows.ofInactivityGapAndGrace(
                      Duration.ofSeconds(6), Duration.ofSeconds(10)))
              .count(Materialized.as("sessions"))
              .toStream((k, v) -> k.key() + "@" + k.window().start() + "-" + k.window().end()));
    }
  },
  JOIN_OF_STREAMS {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          stream(builder, LEFT)
              .outerJoin(
                  stream(builder, RIGHT),
                  (a, b) -> a + "+" + b,
                  JoinWindows.ofTimeDifferenceAndGrace(
                      Duration.ofSeconds(5), Duration.ofSeconds(3)),
                  StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String())
                      .withName("join")
                      .withStoreName("join")));
    }
  },
  JOIN_OF_TABLES {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          table(builder, LEFT)
              .outerJoin(table(builder, RIGHT), (a, b) -> a + "+" + b, Materialized.as("joined"))
              .toStream());
    }
  },
  JOIN_BY_FOREIGN_KEY {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      KTable<String, String> left = table(builder, LEFT);
      KTable<String, String> right = table(builder, RIGHT);
      out(
          left.leftJoin(
                  right,
                  v -> "key" + v.hashCode() % 5,
                  (a, b) -> a + "+" + b,
                  Materialized.as("joined"))
              .toStream());
    }
  },
  SUPPRESS {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          grouped(builder)
              .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(7), Duration.ofSeconds(3)))
              .count(Materialized.as("suppressed"))
              .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
              .toStream((k, v) -> k.key() + "@" + k.window().start()));
    }
  },
  EMIT_ON_CLOSE {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      out(
          grouped(builder)
              .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(7), Duration.ofSeconds(3)))
              .emitStrategy(EmitStrategy.onWindowClose())
              .count(Materialized.as("closed"))
              .toStream((k, v) -> k.key() + "@" + k.window().start()));
    }
  },
  JOIN_WITH_VERSIONS {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      KTable<String, String> table =
          builder.table(
              RIGHT,
              Materialized.<String, String>as(
                      suppliers.versioned("versions", Duration.ofSeconds(20)))
                  .withKeySerde(Serdes.String())
                  .withValueSerde(Serdes.String()));
      out(
          stream(builder, LEFT)
              .leftJoin(
                  table,
                  (a, b) -> a + "+" + b,
                  Joined.with(Serdes.String(), Serdes.String(), Serdes.String())));
    }
  },
  PROCESSOR_WITH_PUNCTUATION {
    @Override
    void build(StreamsBuilder builder, Suppliers suppliers) {
      builder.addStateStore(
          Stores.keyValueStoreBuilder(
              suppliers.keyValue("buffer"), Serdes.String(), Serdes.String()));
      out(stream(builder, LEFT).process(Buffering::new, "buffer"));
    }
  };

  static final String LEFT = "left";
  static final String RIGHT = "right";
  static final String OUT = "out";

  /** Suppliers of stores that a topology names itself. */
  interface Suppliers {
    KeyValueBytesStoreSupplier keyValue(String name);

    VersionedBytesStoreSupplier versioned(String name, Duration retention);
  }

  abstract void build(StreamsBuilder builder, Suppliers suppliers);

  Topology topology(Suppliers suppliers) {
    StreamsBuilder builder = new StreamsBuilder();
    build(builder, suppliers);
    return builder.build();
  }

  private static KStream<String, String> stream(StreamsBuilder builder, String topic) {
    return builder.stream(topic, Consumed.with(Serdes.String(), Serdes.String()));
  }

  private static KTable<String, String> table(StreamsBuilder builder, String topic) {
    return builder.table(
        topic, Consumed.with(Serdes.String(), Serdes.String()), Materialized.as("table-" + topic));
  }

  private static KGroupedStream<String, String> grouped(StreamsBuilder builder) {
    return stream(builder, LEFT).groupByKey(Grouped.with(Serdes.String(), Serdes.String()));
  }

  private static <V> void out(KStream<String, V> results) {
    results
        .mapValues(v -> v == null ? null : v.toString())
        .to(OUT, Produced.with(Serdes.String(), Serdes.String()));
  }

  /** Buffers records, and forwards them in order at intervals. */
  private static final class Buffering implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;
    private KeyValueStore<String, String> buffer;

    @Override
    public void init(ProcessorContext<String, String> in) {
      context = in;
      buffer = in.getStateStore("buffer");
      in.schedule(Duration.ofSeconds(5), PunctuationType.STREAM_TIME, this::giveOut);
      in.schedule(Duration.ofSeconds(3), PunctuationType.WALL_CLOCK_TIME, this::giveOut);
    }

    @Override
    public void process(Record<String, String> record) {
      String old = buffer.putIfAbsent(record.key(), record.value());
      if (old != null) {
        buffer.put(record.key(), record.value() == null ? null : old + record.value());
      }
      if (record.timestamp() % 7 == 0) {
        buffer.delete("key3");
      }
    }

    private void giveOut(long time) {
      List<KeyValue<String, String>> all = new ArrayList<>();
      try (var rows = buffer.reverseRange("key1", "key6")) {
        while (rows.hasNext()) {
          KeyValue<String, String> row = rows.next();
          all.add(row);
          buffer.delete(row.key);
        }
      }
      all.forEach(kv -> context.forward(new Record<>(kv.key, kv.value, time)));
      try (var rows = buffer.prefixScan("key7", Serdes.String().serializer())) {
        rows.forEachRemaining(kv -> context.forward(new Record<>(kv.key, kv.value, time)));
      }
    }
  }
}
