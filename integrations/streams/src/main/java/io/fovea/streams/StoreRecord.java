package io.fovea.streams;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.query.Position;

/**
 * The metadata of one store: a row of the table {@code stores}.
 *
 * <pre>
 *   version 2 | table i8 | random i8 | kind utf | format utf | segmentMillis i8
 *   | streamTime i8 | n i4, n of (topic utf, partition i4, offset i8): offsets
 *   | n i4, n of the same: position
 * </pre>
 *
 * <p>Owned by the state of the open store, and written by the transactions that write the store's
 * rows.
 */
final class StoreRecord {
  private static final int VERSION = 2;

  /** The version in which keys of windows and sessions were escaped. */
  private static final int VERSION_ESCAPED = 1;

  final long table;
  final long random;
  final StoreKind kind;
  final String format;
  final long segmentMillis;

  /** Whether keys of windows and sessions are escaped, as before version 2. */
  private boolean escaped;

  /** The largest timestamp that was put. */
  long streamTime = -1;

  /** The changelog offset up to which the store has everything; no entry if unknown. */
  final Map<TopicPartition, Long> offsets = new HashMap<>();

  StoreRecord(long table, long random, StoreKind kind, String format, long segmentMillis) {
    this.table = table;
    this.random = random;
    this.kind = kind;
    this.format = format;
    this.segmentMillis = segmentMillis;
  }

  String tableName() {
    return kind.prefix() + '.' + table;
  }

  /**
   * Returns whether the rows are ordered differently from those of a new store, and so from Kafka's
   * cache: the layout is older, or the segment length has changed.
   */
  boolean isOrderedOtherwise(long segments) {
    return (kind == StoreKind.WINDOW || kind == StoreKind.SESSION)
        && (escaped || segmentMillis != segments);
  }

  /** Encodes the row. */
  byte[] encode(Position position) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      out.writeLong(table);
      out.writeLong(random);
      out.writeUTF(kind.prefix());
      out.writeUTF(format);
      out.writeLong(segmentMillis);
      out.writeLong(streamTime);
      write(out, offsets);
      Map<TopicPartition, Long> all = new HashMap<>();
      for (String topic : position.getTopics()) {
        position
            .getPartitionPositions(topic)
            .forEach((partition, offset) -> all.put(new TopicPartition(topic, partition), offset));
      }
      write(out, all);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /**
   * Decodes a row.
   *
   * @param position receives the position
   */
  static StoreRecord decode(byte[] row, Position position) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(row))) {
      int version = in.readByte();
      if (version != VERSION && version != VERSION_ESCAPED) {
        throw new IOException(
            "The row of a store has version "
                + version
                + ", and this version of fovea-streams knows "
                + VERSION
                + " and earlier ones only.");
      }
      StoreRecord record =
          new StoreRecord(
              in.readLong(),
              in.readLong(),
              StoreKind.of(in.readUTF()),
              in.readUTF(),
              in.readLong());
      record.escaped = version == VERSION_ESCAPED;
      record.streamTime = in.readLong();
      record.offsets.putAll(read(in));
      read(in)
          .forEach(
              (partition, offset) ->
                  position.withComponent(partition.topic(), partition.partition(), offset));
      return record;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(DataOutputStream out, Map<TopicPartition, Long> offsets)
      throws IOException {
    out.writeInt(offsets.size());
    Map<String, Map<Integer, Long>> sorted = new TreeMap<>();
    offsets.forEach(
        (p, offset) ->
            sorted.computeIfAbsent(p.topic(), t -> new TreeMap<>()).put(p.partition(), offset));
    for (Map.Entry<String, Map<Integer, Long>> topic : sorted.entrySet()) {
      for (Map.Entry<Integer, Long> e : topic.getValue().entrySet()) {
        out.writeUTF(topic.getKey());
        out.writeInt(e.getKey());
        out.writeLong(e.getValue());
      }
    }
  }

  private static Map<TopicPartition, Long> read(DataInputStream in) throws IOException {
    Map<TopicPartition, Long> offsets = new HashMap<>();
    for (int n = in.readInt(); n > 0; n--) {
      TopicPartition partition = new TopicPartition(in.readUTF(), in.readInt());
      offsets.put(partition, in.readLong());
    }
    return offsets;
  }
}
