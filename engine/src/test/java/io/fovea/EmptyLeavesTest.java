package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.memory.Mem;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Scans pass several times as many empty leaves as the pool has frames. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmptyLeavesTest {
  private static final TableSpec SPEC = TableSpec.bytes("t", 8);
  private static final int RECORDS = 2_000;

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .durability(Durability.NONE)
        .bufferBytes(400_000)
        .device(dev -> dev.pageSize(4096))
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(txs -> txs.maxActive(2))
        .experiments(exp -> exp.protocol(protocol));
  }

  /** Keeps the first and the last record, leaving empty leaves as failed merges would. */
  private static void empty(Database db) {
    BTree tree = db.schema().core("t").tree;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment key = arena.allocate(8, 8);
      Position p = new Position();
      for (int i = 1; i < RECORDS - 1; i++) {
        Mem.putBytes(key, 0, key(i), 0, 8);
        tree.remove(key, 0, 8, false, p, LogSession.NONE);
      }
    }
  }

  private static int count(Database db, Table<byte[], byte[]> t, boolean writes, ScanOrder order) {
    return db.call(
        tx -> {
          int n = 0;
          try (Cursor<byte[], byte[]> c = t.scan(tx, key(0), key(RECORDS), order)) {
            while (c.next()) {
              n++;
            }
          }
          if (writes) {
            t.put(tx, key(RECORDS), new byte[1]);
            t.delete(tx, key(RECORDS));
          }
          return n;
        });
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aScanPassesMoreLeavesThanFrames(Protocol protocol) {
    try (Database db = SimDatabase.open(new SimStorage(new SimDisk(1)), options(protocol))) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (int i = 0; i < RECORDS; i++) {
              into.add(key(i), new byte[900]);
            }
          });
      empty(db);
      for (ScanOrder order : ScanOrder.values()) {
        assertEquals(2, count(db, t, false, order));
        assertEquals(2, count(db, t, true, order));
      }
    }
  }
}
