package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.support.SimDisk;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Common tools of the log's tests: small logs, and records that identify their writers. */
final class Logs {
  static final UUID DATABASE = new UUID(0x1234_5678_9ABC_DEF0L, 0x0FED_CBA9_8765_4321L);

  /** Segments and a ring of 64 KiB. */
  static final LogConfig TINY = new LogConfig(64 << 10, 64 << 10, 5_000_000, 16 << 10);

  private Logs() {}

  static LogStart start(long incarnation, long startLsn, long redoLsn) {
    return new LogStart(DATABASE, incarnation, startLsn, redoLsn);
  }

  static Log create(BlockDevice device) {
    return Log.open(device, TINY, start(1, Log.FIRST_LSN, Log.FIRST_LSN));
  }

  /** A record as it was read. */
  record Read(int type, long start, long end, byte[] body) {}

  /** Reads all records except void ones; the last element has the log's end and type 0. */
  static List<Read> readAll(BlockDevice device, long fromLsn) {
    List<Read> all = new ArrayList<>();
    try (LogReader reader = LogReader.open(device, DATABASE, fromLsn)) {
      while (reader.next()) {
        if (reader.type() != RecordType.VOID) {
          byte[] body = new byte[reader.bodyLength()];
          Mem.getBytes(reader.segment(), reader.body(), body, 0, body.length);
          all.add(new Read(reader.type(), reader.start(), reader.end(), body));
        }
      }
      all.add(new Read(0, reader.end(), reader.end(), new byte[0]));
    }
    return all;
  }

  /** Returns the end of the log. */
  static long end(BlockDevice device, long fromLsn) {
    return readAll(device, fromLsn).getLast().end();
  }

  /** Returns a body derived from its number and length; bytes 0..8 are the number. */
  static byte[] body(long number, int length) {
    byte[] body = new byte[length];
    new Random(number).nextBytes(body);
    for (int i = 0; i < 8; i++) {
      body[i] = (byte) (number >>> 8 * i);
    }
    return body;
  }

  static long number(byte[] body) {
    long number = 0;
    for (int i = 0; i < 8; i++) {
      number |= (body[i] & 0xFFL) << 8 * i;
    }
    return number;
  }

  /**
   * Waits until a group begins at an offset of a file that had zeros there. A held sync would not
   * prove this, since the segment creator syncs, too.
   */
  static void awaitGroup(SimDisk disk, String file, long offset) {
    while (Arrays.equals(disk.peek(file, offset, Group.BLOCK), new byte[Group.BLOCK])) {
      LockSupport.parkNanos(100_000);
    }
  }

  /** Waits without being interruptible, where the log calls a device. */
  static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Appends a record in its own operation; returns its end. */
  static long append(LogSession session, byte[] body) {
    session.begin(LogSession.space(body.length));
    try {
      return put(session, RecordType.COMMIT, body);
    } finally {
      session.end();
    }
  }

  static long put(LogSession session, int type, byte[] body) {
    long at = session.reserve(type, body.length);
    java.lang.foreign.MemorySegment.copy(
        body, 0, session.buffer(), ValueLayout.JAVA_BYTE, at, body.length);
    session.complete();
    return session.recordEnd();
  }
}
