package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SchemaRecordTest {
  private final MemorySegment memory = Arena.ofAuto().allocate(1024, 8);

  private int write() {
    LongList adopted = new LongList();
    adopted.add(77);
    LongList released = new LongList();
    released.add(88);
    released.add(99);
    MemorySegment key = Arena.ofAuto().allocate(8, 8);
    int op = CommitRecord.deleteBytes(5);
    int bytes = SchemaRecord.bytes(2, 1, op, 1, 2);
    long at =
        SchemaRecord.put(
            memory, 8, new int[] {5, 6}, new int[] {4}, new long[] {1L << 40}, 1, 1, 2);
    at = CommitRecord.delete(memory, at, 1, key, 0, 5);
    at = SchemaRecord.putPids(memory, at, adopted);
    at = SchemaRecord.putPids(memory, at, released);
    assertEquals(8 + bytes, at);
    return bytes;
  }

  @Test
  void recordsRoundTrip() {
    int bytes = write();
    SchemaRecord r = new SchemaRecord();
    r.open(memory, 8, bytes, 4096);
    assertEquals(2, r.published());
    assertEquals(5, r.published(0));
    assertEquals(6, r.published(1));
    assertEquals(1, r.dropped());
    assertEquals(4, r.droppedId(0));
    assertEquals(1L << 40, r.droppedRoot(0));
    assertEquals(1, r.ops());
    CommitCursor ops = new CommitCursor();
    ops.openOps(memory, r.opsBegin(), r.opsEnd(), r.ops());
    assertTrue(ops.next());
    assertEquals(CommitRecord.DELETE, ops.kind());
    assertEquals(5, ops.keyLength());
    assertFalse(ops.next());
    assertEquals(r.opsEnd(), ops.position());
    assertEquals(1, r.adopted());
    assertEquals(77, r.adopted(0));
    assertEquals(2, r.released());
    assertEquals(88, r.released(0));
    assertEquals(99, r.released(1));
  }

  @Test
  void rejectsInvalidRecords() {
    int bytes = write();
    SchemaRecord r = new SchemaRecord();
    for (int length = 0; length < bytes - CommitRecord.deleteBytes(5); length++) {
      int shorter = length;
      assertThrows(CorruptionException.class, () -> r.open(memory, 8, shorter, 4096));
    }
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      write();
      for (int k = random.nextInt(3); k >= 0; k--) {
        Mem.putByte(memory, 8 + random.nextInt(16), (byte) random.nextInt());
      }
      try {
        r.open(memory, 8, bytes, 4096);
        long end = 8L + bytes;
        assertTrue(r.opsBegin() <= r.opsEnd() && r.opsEnd() <= end);
        assertEquals(end, r.opsEnd() + 8 * (r.adopted() + r.released()));
      } catch (CorruptionException e) {
        assertTrue(e.getMessage().contains("4096"), e.getMessage());
      }
    }
  }
}
