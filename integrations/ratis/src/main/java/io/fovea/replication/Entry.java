package io.fovea.replication;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * An entry of the replicated log.
 *
 * <pre>
 *    0  u8    version of this format, 2
 *    1  u128  client
 *   17  i64   sequence of the request
 *   25  i64   since: the index that the client had seen when it made the request
 *   33  i64   clock of the leader, milliseconds        ┐ written by the leader that appends it,
 *   41  i64   window of the session table, entries     │ so that all replicas use one value
 *   49  i64   the same in milliseconds                 ┘
 *   57  u8    length of the command's name
 *   58  ...   name, UTF-8; then the command, up to the end
 * </pre>
 *
 * All numbers are big-endian. Version 1 has no window in milliseconds, which is 0 then. A replica
 * that meets a newer version stops: it can't apply the entry, and must not skip it.
 *
 * <p>An entry of zero bytes is a <em>mark</em>: it changes nothing; its index proves that the log
 * reaches that far.
 */
record Entry(
    RequestId id, long clockMillis, long window, long windowMillis, String name, byte[] command) {
  private static final byte VERSION = 2;
  private static final int CLOCK = 33;
  private static final int WINDOW = 41;
  private static final int WINDOW_MILLIS = 49;
  private static final int HEADER_1 = 50;
  private static final int HEADER = 58;
  static final int NAME_BYTES_MAX = 255;

  static byte[] encode(RequestId id, String name, byte[] command) {
    byte[] utf = name.getBytes(StandardCharsets.UTF_8);
    ByteBuffer b = ByteBuffer.allocate(HEADER + utf.length + command.length);
    b.put(VERSION);
    b.putLong(id.client().getMostSignificantBits());
    b.putLong(id.client().getLeastSignificantBits());
    b.putLong(id.sequence()).putLong(id.since()).putLong(0).putLong(0).putLong(0);
    b.put((byte) utf.length).put(utf).put(command);
    return b.array();
  }

  static boolean isMark(byte[] entry) {
    return entry.length == 0;
  }

  static byte[] stamp(byte[] entry, long clockMillis, long window, long windowMillis) {
    if (isMark(entry)) {
      return entry;
    }
    requireFormat(entry);
    ByteBuffer b = ByteBuffer.wrap(entry.clone());
    b.putLong(CLOCK, clockMillis).putLong(WINDOW, window);
    if (entry[0] == VERSION) {
      b.putLong(WINDOW_MILLIS, windowMillis);
    }
    return b.array();
  }

  static Entry decode(byte[] entry) {
    requireFormat(entry);
    ByteBuffer b = ByteBuffer.wrap(entry, 1, entry.length - 1);
    UUID client = new UUID(b.getLong(), b.getLong());
    RequestId id = new RequestId(client, b.getLong(), b.getLong());
    long clock = b.getLong();
    long window = b.getLong();
    long windowMillis = entry[0] == 1 ? 0 : b.getLong();
    byte[] name = new byte[Byte.toUnsignedInt(b.get())];
    b.get(name);
    byte[] command = new byte[b.remaining()];
    b.get(command);
    return new Entry(
        id, clock, window, windowMillis, new String(name, StandardCharsets.UTF_8), command);
  }

  private static void requireFormat(byte[] entry) {
    int header = entry.length > 0 && entry[0] == 1 ? HEADER_1 : HEADER;
    if (entry.length < header
        || entry.length < header + Byte.toUnsignedInt(entry[header - 1])
        || entry[0] != 1 && entry[0] != VERSION) {
      throw new IllegalArgumentException(
          "An entry of the log has "
              + entry.length
              + " bytes and version "
              + (entry.length == 0 ? "none" : entry[0])
              + "; this replica knows versions 1 and 2, of 50 or 58 bytes or more. Was it written"
              + " by a newer program? Update this one.");
    }
  }
}
