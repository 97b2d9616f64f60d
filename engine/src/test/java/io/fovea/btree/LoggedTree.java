package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolLog;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStart;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A tree with a log, written by a stand-in for the commit: one record per key change, with the
 * pages of chains that are adopted and released.
 *
 * <pre>
 *   COMMIT of these tests   kind 4 | key 4 | value 4 | adopted 4 | released 4 | key | value | pids
 *   kind                    0 remove, 1 value in the leaf, 2 stub
 * </pre>
 */
final class LoggedTree implements AutoCloseable {
  static final int REMOVE = 0;
  static final int INLINE = 1;
  static final int CHAIN = 2;
  static final int OP_HEADER = 20;

  final UUID database = UUID.randomUUID();
  final MemoryDevice logDevice = new MemoryDevice("log", 4096, 1L << 30);
  final MemoryDevice device;
  final Log log;
  final BufferPool pool;
  final BTree tree;

  /** The long values, by the positions of their commits. */
  final Map<Long, byte[]> values = new ConcurrentHashMap<>();

  final Writer main;
  final LogSession session;
  final TestTree.Staging staging;
  final Position position;
  final TreeMap<byte[], byte[]> model;

  LoggedTree(int pageSize, int frames) {
    this(pageSize, frames, 1L << 30);
  }

  LoggedTree(int pageSize, int frames, long maxBytes) {
    device = new MemoryDevice("pages", 4096, maxBytes);
    log =
        Log.open(
            logDevice,
            new LogConfig(16 << 20, 4 << 20, 1_000_000, 1 << 20),
            new LogStart(database, 1, Log.FIRST_LSN, Log.FIRST_LSN));
    pool =
        new BufferPool(
            device,
            PoolConfig.ofFrames(pageSize, frames, Translation.PREDICTIVE),
            AllocatorState.EMPTY,
            PoolLog.of(log),
            null);
    main = writer();
    session = main.session;
    staging = main.staging;
    position = main.position;
    model = main.model;
    session.begin(0);
    tree = BTree.create(pool, TestTree.TREE_ID, session);
    session.end();
  }

  /** Returns a writer for one thread; different writers use different keys. */
  Writer writer() {
    return new Writer(log.session());
  }

  /** Changes the tree from one thread. */
  final class Writer {
    final LogSession session;
    final TestTree.Staging staging = new TestTree.Staging();
    final Position position = new Position();
    final TreeMap<byte[], byte[]> model = new TreeMap<>(TestTree.ORDER);

    Writer(LogSession session) {
      this.session = session;
    }

    void put(byte[] key, byte[] value) {
      int len = staging.key(key);
      int vLen = staging.value(value);
      LongList adopted = new LongList();
      LongList released = new LongList();
      session.begin(0);
      if (tree.mayHaveLongValues()) {
        tree.chain(staging.key, 0, len, position, released);
      }
      boolean isLong = vLen > tree.inlineMax();
      long first = isLong ? tree.writeChain(staging.value, 0, vLen, adopted, session) : 0;
      append(isLong ? CHAIN : INLINE, key, value, first, adopted, released);
      boolean absent =
          isLong
              ? tree.upsertChain(staging.key, 0, len, first, vLen, position, session)
              : tree.upsertInline(staging.key, 0, len, staging.value, 0, vLen, position, session);
      tree.freeChain(released, session);
      session.end();
      assertEquals(model.put(key, value) == null, absent);
    }

    void remove(byte[] key) {
      int len = staging.key(key);
      LongList released = new LongList();
      session.begin(0);
      if (tree.mayHaveLongValues()) {
        tree.chain(staging.key, 0, len, position, released);
      }
      append(REMOVE, key, new byte[0], 0, new LongList(), released);
      boolean present = tree.remove(staging.key, 0, len, true, position, session);
      tree.freeChain(released, session);
      session.end();
      assertEquals(model.remove(key) != null, present);
    }

    /** Removes all keys of a range. */
    void cut(byte @Nullable [] low, byte @Nullable [] high) {
      session.begin(0);
      append(REMOVE, new byte[1], new byte[0], 0, new LongList(), new LongList());
      new RangeCut(tree, RangeCutTest.range(low, true, high, false), session).run();
      session.end();
      RangeCutTest.part(model, low, true, high, false).clear();
    }

    private void append(
        int kind, byte[] key, byte[] value, long first, LongList adopted, LongList released) {
      int valueBytes = kind == CHAIN ? 12 : value.length;
      int bytes = OP_HEADER + key.length + valueBytes + 8 * (adopted.size() + released.size());
      session.grant(LogSession.space(bytes));
      long at = session.reserve(RecordType.COMMIT, bytes);
      MemorySegment s = session.buffer();
      Mem.putInt(s, at, kind);
      Mem.putInt(s, at + 4, key.length);
      Mem.putInt(s, at + 8, valueBytes);
      Mem.putInt(s, at + 12, adopted.size());
      Mem.putInt(s, at + 16, released.size());
      at += OP_HEADER;
      Mem.putBytes(s, at, key, 0, key.length);
      at += key.length;
      if (kind == CHAIN) {
        Mem.putLong(s, at, first);
        Mem.putInt(s, at + 8, value.length);
      } else {
        Mem.putBytes(s, at, value, 0, value.length);
      }
      at += valueBytes;
      for (LongList list : List.of(adopted, released)) {
        for (int i = 0; i < list.size(); i++, at += 8) {
          Mem.putLong(s, at, list.get(i));
        }
      }
      session.complete();
      if (kind == CHAIN) {
        values.put(session.recordStart(), value);
      }
      session.position(session.recordStart(), session.recordEnd());
    }
  }

  void put(byte[] key, byte[] value) {
    main.put(key, value);
  }

  void remove(byte[] key) {
    main.remove(key);
  }

  TreeVerifier.Report verify() {
    TreeVerifier.Report report = TreeVerifier.verify(tree);
    assertEquals("[]", report.problems().toString());
    assertEquals(model.size(), report.keys());
    assertEquals(pagesInUse(), report.pages(), "pages are lost, or used twice");
    return report;
  }

  long pagesInUse() {
    AllocatorState state = pool.allocatorState();
    return state.highWater() - AllocatorState.FIRST_PID - state.freePages();
  }

  List<Entry> entries() {
    log.close();
    return durableEntries();
  }

  /** Reads the durable part of the log. */
  List<Entry> durableEntries() {
    List<Entry> entries = new ArrayList<>();
    try (LogReader reader = LogReader.open(logDevice, database, Log.FIRST_LSN)) {
      while (reader.next()) {
        if (reader.type() != RecordType.VOID) {
          MemorySegment body = Arena.ofAuto().allocate(Math.max(8, reader.bodyLength()), 8);
          Mem.copy(reader.segment(), reader.body(), body, 0, reader.bodyLength());
          entries.add(
              new Entry(reader.type(), reader.start(), reader.end(), body, reader.bodyLength()));
        }
      }
    }
    return entries;
  }

  record Entry(int type, long start, long end, MemorySegment body, int length) {
    @Override
    public String toString() {
      return RecordType.name(type) + " " + start + ".." + end;
    }
  }

  @Override
  public void close() {
    session.end();
    log.abandon();
    pool.abandon();
    device.close();
    logDevice.close();
  }
}
