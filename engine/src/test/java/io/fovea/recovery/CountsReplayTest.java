package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.RecordType;
import io.fovea.wal.Watermark;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Recovery adds each commit to the counts exactly once. */
class CountsReplayTest {
  private static final long REDO = 8192;
  private static final int TREE = 5;

  private final MemorySegment memory = Arena.ofAuto().allocate(1024, 8);

  /**
   * Returns the superblock of a file closed at {@code end}, whose redo point is now {@code redo}.
   */
  private static Superblock superblock(long redo, long end, long counted) {
    Superblock s = Superblock.ofNew(4096);
    return s.closed(s.allocator(), 10, end, 1)
        .logged(redo, s.allocator(), redo, 10, Watermark.NONE)
        .withCounts(counted);
  }

  /** Adds COUNTS of one tree, with one context's last included commit. */
  private int counts(long from, long records, int context, long lsn) {
    long at = CountsRecord.put(memory, 8, from, 1);
    Mem.putInt(memory, at, TREE);
    Mem.putInt(memory, at + 4, 1);
    Mem.putLong(memory, at + 8, records);
    Mem.putLong(memory, at + 16, 100 * records);
    Mem.putInt(memory, at + CountsRecord.TREE_BYTES, context);
    Mem.putLong(memory, at + CountsRecord.TREE_BYTES + 4, lsn);
    return (int) (at - 8) + CountsRecord.TREE_BYTES + CountsRecord.CONTEXT_BYTES;
  }

  /** Returns a commit that adds one record of 100 bytes: zigzag 2, and 200 in two bytes. */
  private CommitCursor commit(int context) {
    long at = CommitRecord.header(memory, 512, 0, 0, 0, 0, 0);
    Mem.putInt(memory, at - 4, 5);
    byte[] deltas = {(byte) context, TREE, 2, (byte) 0xC8, 1};
    Mem.putBytes(memory, at, deltas, 0, deltas.length);
    CommitCursor c = new CommitCursor();
    c.open(RecordType.COMMIT, memory, 512, CommitRecord.HEADER + deltas.length);
    return c;
  }

  private static void assertCounts(long records, CountsReplay replay) {
    assertEquals(new RecoveredRowCounts.Counts(records, 100 * records), replay.result().get(TREE));
  }

  @Test
  void includedCommitsAreNotAddedAgain() {
    CountsReplay replay = new CountsReplay(superblock(REDO, 4096, 0));
    replay.counts(memory, 8, counts(REDO, 10, 3, REDO + 80), REDO + 800);
    CommitCursor three = commit(3);
    replay.commit(three, REDO + 40);
    replay.commit(three, REDO + 80);
    assertCounts(10, replay);
    replay.commit(three, REDO + 120);
    assertCounts(11, replay);
    CommitCursor four = commit(4);
    replay.commit(four, REDO - 8); // before from
    assertCounts(11, replay);
    replay.commit(four, REDO);
    replay.commit(four, REDO + 8);
    assertCounts(13, replay);
  }

  @Test
  void usesTheLastCompleteCounts() {
    CountsReplay replay = new CountsReplay(superblock(REDO, 4096, 0));
    replay.counts(memory, 8, counts(REDO - 8, 1, 3, REDO), REDO + 100);
    assertNull(replay.result().get(TREE), "the log does not reach back that far");
    replay.counts(memory, 8, counts(REDO, 2, 3, REDO + 8), REDO + 200);
    assertCounts(2, replay);
    replay.counts(memory, 8, counts(REDO + 80, 7, 3, REDO + 160), REDO + 300);
    assertCounts(7, replay);
  }

  @Test
  void aPublishedTreeWasEmpty() {
    CountsReplay replay = new CountsReplay(superblock(REDO, 4096, 0));
    replay.commit(commit(1), REDO);
    assertNull(replay.result().get(TREE));
    replay.published(TREE);
    assertCounts(0, replay);
    replay.stored(1);
    replay.stored(TREE, 50, 5000);
    replay.commit(commit(1), REDO + 40);
    assertCounts(1, replay);
  }

  @Test
  void catalogCountsHoldUntilACheckpoint() {
    for (long redo : new long[] {4096, REDO, REDO + 8}) {
      for (long number : new long[] {0, 6, 7}) {
        CountsReplay replay = new CountsReplay(superblock(redo, REDO, 7));
        replay.stored(number);
        replay.stored(TREE, 5, 500);
        replay.commit(commit(1), redo);
        if (number == 7 && redo <= REDO) {
          assertCounts(6, replay);
        } else {
          assertNull(replay.result().get(TREE));
        }
      }
    }
  }

  @Test
  void rejectsArbitraryBytes() {
    Random random = new Random(1);
    int length = counts(REDO, 2, 3, REDO);
    for (int shorter = 0; shorter < length; shorter++) {
      CountsReplay replay = new CountsReplay(superblock(REDO, 4096, 0));
      int l = shorter;
      assertThrows(CorruptionException.class, () -> replay.counts(memory, 8, l, REDO + 100));
    }
    for (int i = 0; i < 20_000; i++) {
      CountsReplay replay = new CountsReplay(superblock(REDO, 4096, 0));
      counts(REDO, 2, 3, REDO);
      for (int k = random.nextInt(3); k >= 0; k--) {
        Mem.putByte(memory, 8 + random.nextInt(length), (byte) random.nextInt());
      }
      try {
        replay.counts(memory, 8, length, REDO + 100);
      } catch (CorruptionException expected) {
        // expected
      }
      CommitCursor c = commit(3);
      for (int k = random.nextInt(3); k >= 0; k--) {
        int at = 512 + CommitRecord.HEADER + random.nextInt(5);
        Mem.putByte(memory, at, (byte) random.nextInt());
      }
      try {
        replay.commit(c, REDO);
      } catch (CorruptionException expected) {
        // expected
      }
    }
  }
}
