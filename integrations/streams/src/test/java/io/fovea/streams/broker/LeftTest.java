package io.fovea.streams.broker;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.streams.broker.Left.Value;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** The checks of {@link KilledAppTest} detect wrong stores. */
class LeftTest {
  private static final TopicPartition CHANGELOG = new TopicPartition("counts", 0);

  /** Words and counts, in order: offsets are 0, 1, 2 and so on; timestamps are offset + 100. */
  private final List<ConsumerRecord<byte[], byte[]>> log = new ArrayList<>();

  private void say(String word, long count) {
    log.add(
        new ConsumerRecord<>(
            CHANGELOG.topic(),
            CHANGELOG.partition(),
            log.size(),
            100 + log.size(),
            TimestampType.CREATE_TIME,
            -1,
            -1,
            word.getBytes(StandardCharsets.UTF_8),
            ByteBuffer.allocate(8).putLong(count).array(),
            new RecordHeaders(),
            Optional.empty()));
  }

  private static Map<String, Value> rows(Object... rows) {
    Map<String, Value> entries = new HashMap<>();
    for (int i = 0; i < rows.length; i += 3) {
      entries.put((String) rows[i], new Value(100 + (Integer) rows[i + 1], (Integer) rows[i + 2]));
    }
    return entries;
  }

  private void good(Long offset, Map<String, Value> entries, boolean spilled) {
    assertDoesNotThrow(() -> new Left(CHANGELOG, offset, entries).check(log, "test", spilled));
  }

  private void bad(Long offset, Map<String, Value> entries, boolean spilled) {
    Left left = new Left(CHANGELOG, offset, entries);
    assertThrows(AssertionError.class, () -> left.check(log, "test", spilled));
  }

  private void write() {
    say("a", 1); // 0
    say("b", 1);
    say("a", 2); // 2
    say("c", 1);
    say("a", 3); // 4
  }

  @Test
  void acceptsPrefixAfterOffset() {
    write();
    for (boolean spilled : new boolean[] {false, true}) {
      good(2L, rows("a", 2, 2, "b", 1, 1), spilled);
      good(2L, rows("a", 2, 2, "b", 1, 1, "c", 3, 1), spilled);
      good(2L, rows("a", 4, 3, "b", 1, 1, "c", 3, 1), spilled);
      good(null, rows("a", 0, 77), spilled); // it is restored completely
    }
  }

  @Test
  void detectsLoss() {
    write();
    for (boolean spilled : new boolean[] {false, true}) {
      bad(2L, rows("a", 0, 1, "b", 1, 1), spilled); // the offset is ahead of a row
      bad(2L, rows("a", 2, 2), spilled);
      bad(4L, rows("a", 2, 2, "b", 1, 1, "c", 3, 1), spilled);
      bad(4L, rows(), spilled);
    }
  }

  /** An error under exactly-once; under at-least-once a spill leaves this. */
  @Test
  void detectsUncommittedRows() {
    write();
    for (Map<String, Value> ahead :
        List.of(
            rows("a", 9, 3, "b", 1, 1), // counted, but not in the changelog by that time
            rows("a", 4, 4, "b", 1, 1, "c", 3, 1),
            rows("a", 2, 2, "b", 1, 1, "d", 9, 1),
            rows("a", 4, 3, "b", 1, 1))) { // not a prefix: c was earlier
      bad(2L, ahead, false);
      good(2L, ahead, true);
    }
  }
}
