package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Records are read as they were written, and nothing read is trusted. */
class CommitRecordTest {
  private static final int OFFSET = 13; // nothing in a record is aligned

  private record Op(
      int kind, int tree, String key, int at, long first, int length, String bytes, long leaf) {
    Op(int kind, int tree, String key, int at, long first, int length, String bytes) {
      this(kind, tree, key, at, first, length, bytes, 0);
    }

    Op in(long other) {
      return new Op(kind, tree, key, at, first, length, bytes, other);
    }
  }

  private static Op random(SplittableRandom random) {
    return operation(random).in(leaf(random));
  }

  /** No leaf, leaves close to each other, or any number. */
  private static long leaf(SplittableRandom random) {
    return switch (random.nextInt(4)) {
      case 0 -> 0;
      case 1 -> 1000 + random.nextInt(20);
      case 2 -> 1 + random.nextLong(1 << 20);
      default -> 1 + random.nextLong((1L << 38) - 1);
    };
  }

  private static Op operation(SplittableRandom random) {
    int kind = 1 + random.nextInt(4);
    String key = TxFixture.repeat((char) ('a' + random.nextInt(26)), random.nextInt(300));
    String bytes = TxFixture.repeat((char) ('A' + random.nextInt(26)), random.nextInt(500));
    int tree = random.nextInt(1 << 20);
    return switch (kind) {
      case CommitRecord.PUT -> new Op(kind, tree, key, 0, 0, bytes.length(), bytes);
      case CommitRecord.PATCH ->
          new Op(kind, tree, key, random.nextInt(1 << 26), 0, bytes.length(), bytes);
      case CommitRecord.CHAIN ->
          new Op(
              kind, tree, key, 0, 1 + random.nextLong(1L << 60), 1 + random.nextInt(1 << 26), "");
      default -> new Op(kind, tree, key, 0, 0, 0, "");
    };
  }

  private static int bytes(Op op) {
    return switch (op.kind) {
      case CommitRecord.PUT -> CommitRecord.putBytes(op.key.length(), op.length);
      case CommitRecord.PATCH -> CommitRecord.patchBytes(op.key.length(), op.length);
      case CommitRecord.CHAIN -> CommitRecord.chainBytes(op.key.length());
      default -> CommitRecord.deleteBytes(op.key.length());
    };
  }

  private static long put(MemorySegment to, long at, Op op, long before) {
    long end = put(to, at, op);
    assertEquals(at + bytes(op), end);
    long next = LeafCode.put(to, at, end, op.leaf, before);
    assertEquals(end + LeafCode.bytes(op.leaf, before), next);
    return next;
  }

  private static long put(MemorySegment to, long at, Op op) {
    MemorySegment key = TxFixture.bytes(op.key);
    int k = op.key.length();
    MemorySegment value = TxFixture.bytes(op.bytes);
    return switch (op.kind) {
      case CommitRecord.PUT ->
          CommitRecord.put(to, at, op.tree, key, 0, k, value, 0, op.bytes.length());
      case CommitRecord.PATCH ->
          CommitRecord.patch(to, at, op.tree, key, 0, k, op.at, value, 0, op.bytes.length());
      case CommitRecord.CHAIN ->
          CommitRecord.chain(to, at, op.tree, key, 0, k, op.first, op.length);
      default -> CommitRecord.delete(to, at, op.tree, key, 0, k);
    };
  }

  private static Op current(CommitCursor c) {
    return operation(c).in(c.leaf());
  }

  private static Op operation(CommitCursor c) {
    MemorySegment s = c.segment();
    String key = TxFixture.string(s, c.keyOffset(), c.keyLength());
    return switch (c.kind()) {
      case CommitRecord.PUT, CommitRecord.PATCH ->
          new Op(
              c.kind(),
              c.treeId(),
              key,
              c.kind() == CommitRecord.PATCH ? c.patchAt() : 0,
              0,
              c.valueLength(),
              TxFixture.string(s, c.valueOffset(), c.valueLength()));
      case CommitRecord.CHAIN ->
          new Op(c.kind(), c.treeId(), key, 0, c.first(), c.valueLength(), "");
      default -> new Op(c.kind(), c.treeId(), key, 0, 0, 0, "");
    };
  }

  private record Record(
      boolean part,
      long id,
      List<Op> ops,
      long[] adopted,
      long[] released,
      MemorySegment segment,
      int length) {
    int type() {
      return part ? RecordType.COMMIT_PART : RecordType.COMMIT;
    }
  }

  private static Record record(SplittableRandom random, int count) {
    boolean part = random.nextBoolean();
    List<Op> ops = new ArrayList<>();
    long length = part ? CommitRecord.PART_HEADER : CommitRecord.HEADER;
    long before = 0;
    for (int i = 0; i < count; i++) {
      Op op = random(random);
      ops.add(op);
      length += bytes(op) + LeafCode.bytes(op.leaf, before);
      before = op.leaf == 0 ? before : op.leaf;
    }
    long[] adopted = random.longs(part ? 0 : random.nextInt(20)).toArray();
    long[] released = random.longs(part ? 0 : random.nextInt(20)).toArray();
    length += 8L * (adopted.length + released.length);
    MemorySegment s = Arena.ofAuto().allocate(OFFSET + length, 8);
    long id = 8 * random.nextLong(1L << 40);
    long at =
        part
            ? CommitRecord.partHeader(s, OFFSET, id, count)
            : CommitRecord.header(s, OFFSET, id, count, adopted.length, released.length, 0);
    before = 0;
    for (Op op : ops) {
      at = put(s, at, op, before);
      before = op.leaf == 0 ? before : op.leaf;
    }
    for (long pid : adopted) {
      Mem.putLong(s, at, pid);
      at += 8;
    }
    for (long pid : released) {
      Mem.putLong(s, at, pid);
      at += 8;
    }
    assertEquals(OFFSET + length, at);
    return new Record(part, id, ops, adopted, released, s, (int) length);
  }

  @Property(tries = 200)
  void roundTrip(@ForAll long seed, @ForAll @IntRange(max = 60) int count) {
    Record r = record(new SplittableRandom(seed), count);
    CommitCursor c = new CommitCursor();
    c.open(r.type(), r.segment, OFFSET, r.length);
    assertEquals(r.id, c.id());
    assertEquals(count, c.ops());
    assertEquals(r.adopted.length, c.adopted());
    assertEquals(r.released.length, c.released());
    List<Op> read = new ArrayList<>();
    while (c.next()) {
      read.add(current(c));
    }
    assertEquals(r.ops, read);
    assertFalse(c.next());
    for (int i = 0; i < r.adopted.length; i++) {
      assertEquals(r.adopted[i], c.adopted(i));
    }
    for (int i = 0; i < r.released.length; i++) {
      assertEquals(r.released[i], c.released(i));
    }
    assertThrows(IndexOutOfBoundsException.class, () -> c.adopted(r.adopted.length));
    assertThrows(IndexOutOfBoundsException.class, () -> c.released(-1));
  }

  @Property(tries = 100)
  void operationsInOtherRecords(@ForAll long seed, @ForAll @IntRange(max = 10) int count) {
    Record r = record(new SplittableRandom(seed), count);
    long header = OFFSET + (r.part ? CommitRecord.PART_HEADER : CommitRecord.HEADER);
    CommitCursor c = new CommitCursor();
    c.openOps(r.segment, header, OFFSET + r.length, count);
    for (Op op : r.ops) {
      assertTrue(c.next());
      assertEquals(op, current(c));
    }
    assertFalse(c.next());
    assertEquals(OFFSET + r.length - 8L * (r.adopted.length + r.released.length), c.position());
  }

  /** Reads everything, including every byte that the record describes. */
  private static long readAll(int type, MemorySegment s, long at, long length) {
    CommitCursor c = new CommitCursor();
    long sum = 0;
    c.open(type, s, at, length);
    while (c.next()) {
      assertTrue(c.keyOffset() >= at && c.keyOffset() + c.keyLength() <= at + length);
      if (c.kind() == CommitRecord.PUT || c.kind() == CommitRecord.PATCH) {
        assertTrue(c.valueLength() >= 0 && c.valueOffset() + c.valueLength() <= at + length);
      } else if (c.kind() == CommitRecord.CHAIN) {
        sum += c.first();
      }
      sum += c.kind() == CommitRecord.PATCH ? c.patchAt() : 0;
    }
    for (long i = 0; i < c.adopted(); i++) {
      sum += c.adopted(i);
    }
    for (long i = 0; i < c.released(); i++) {
      sum += c.released(i);
    }
    return sum;
  }

  /** Arbitrary bytes are read without harm, or rejected with CorruptionException. */
  @Property(tries = 400)
  void hostileBytesAreRefused(@ForAll long seed, @ForAll @IntRange(max = 12) int count) {
    SplittableRandom random = new SplittableRandom(seed);
    Record r = record(random, count);
    MemorySegment s = Arena.ofAuto().allocate(OFFSET + r.length, 8);
    for (int round = 0; round < 30; round++) {
      Mem.copy(r.segment, 0, s, 0, OFFSET + r.length);
      int changes = 1 + random.nextInt(4);
      for (int i = 0; i < changes; i++) {
        long at = OFFSET + random.nextLong(r.length);
        byte b =
            switch (random.nextInt(4)) {
              case 0 -> 0;
              case 1 -> (byte) 0xFF;
              case 2 -> (byte) (Mem.getByte(s, at) ^ 1 << random.nextInt(8));
              default -> (byte) random.nextInt();
            };
        Mem.putByte(s, at, b);
      }
      int length = random.nextInt(3) == 0 ? random.nextInt(r.length + 1) : r.length;
      try {
        readAll(random.nextInt(5) == 0 ? other(r.type()) : r.type(), s, OFFSET, length);
      } catch (CorruptionException refused) {
      }
    }
  }

  private static int other(int type) {
    return type == RecordType.COMMIT ? RecordType.COMMIT_PART : RecordType.COMMIT;
  }

  @Test
  void aLeafTakesFewBytes() {
    assertEquals(0, LeafCode.bytes(0, 77), "not known");
    assertEquals(0, LeafCode.bytes(77, 77), "the same");
    assertEquals(0, LeafCode.bytes(77 + 15, 77));
    assertEquals(0, LeafCode.bytes(77 - 16, 77));
    assertEquals(1, LeafCode.bytes(77 + 16, 77));
    assertEquals(1, LeafCode.bytes(4095, 0));
    assertEquals(2, LeafCode.bytes(4096, 0));
    assertEquals(2, LeafCode.bytes(1, 1 << 20));
    assertEquals(3, LeafCode.bytes(1 << 20, 0));
    long most = (1L << 38) - 1;
    assertEquals(LeafCode.BYTES_MAX, LeafCode.bytes(most, 0));
    assertEquals(LeafCode.BYTES_MAX, LeafCode.bytes(1, most));
    assertEquals(most, LeafCode.known(most));
    assertEquals(0, LeafCode.known(most + 1));
    assertEquals(0, LeafCode.known(-1));
  }

  @Test
  void invalidCodesAreRefused() {
    for (int code = 0; code < 256; code++) {
      MemorySegment s = Arena.ofAuto().allocate(128);
      long op = CommitRecord.header(s, 0, 0, 1, 0, 0, 0);
      long end = CommitRecord.delete(s, op, 3, TxFixture.bytes("k"), 0, 1);
      Mem.putByte(s, op + 1, (byte) code);
      int bytes = LeafCode.following(code);
      if (bytes < 0) {
        assertThrows(CorruptionException.class, () -> readAll(RecordType.COMMIT, s, 0, end));
        assertTrue((code & 7) == 7 || (code & 7) == 0, "code " + code);
      } else {
        readAll(RecordType.COMMIT, s, 0, end + bytes);
      }
    }
  }

  @Test
  void aTruncatedRecordIsRefused() {
    Record r = record(new SplittableRandom(5), 6);
    for (int length = 0; length < r.length; length++) {
      int cut = length;
      assertThrows(
          CorruptionException.class, () -> readAll(r.type(), r.segment, OFFSET, cut), "at " + cut);
    }
    readAll(r.type(), r.segment, OFFSET, r.length);
  }

  @Test
  void anotherKindOfRecordIsRefused() {
    MemorySegment s = Arena.ofAuto().allocate(64);
    assertThrows(
        InvalidUseException.class, () -> new CommitCursor().open(RecordType.FREE, s, 0, 64));
  }

  @Test
  void aFalseCountAllocatesNothing() {
    MemorySegment s = Arena.ofAuto().allocate(64);
    CommitRecord.header(s, 0, 0, -1, 0, 0, 0);
    assertThrows(
        CorruptionException.class, () -> new CommitCursor().open(RecordType.COMMIT, s, 0, 64));
    CommitRecord.header(s, 0, 0, 0, -1, -1, 0);
    assertThrows(
        CorruptionException.class, () -> new CommitCursor().open(RecordType.COMMIT, s, 0, 64));
  }

  @Test
  void readingAllocatesNothing() {
    SplittableRandom random = new SplittableRandom(7);
    MemorySegment s = Arena.ofAuto().allocate(1 << 20, 8);
    int count = 500;
    long at = CommitRecord.header(s, 0, 0, count, 0, 0, 0);
    for (int i = 0; i < count; i++) {
      at = put(s, at, random(random));
    }
    assertTrue(s.get(ValueLayout.JAVA_INT_UNALIGNED, 8) == count);
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    CommitCursor c = new CommitCursor();
    long bytes = 0;
    long sum = 0;
    for (int round = 0; round < 20; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      c.open(RecordType.COMMIT, s, 0, at);
      while (c.next()) {
        sum += c.keyOffset() + c.valueLength();
      }
      bytes = threads.getCurrentThreadAllocatedBytes() - before;
    }
    assertTrue(sum > 0);
    assertTrue(bytes < count, bytes + " bytes for " + count + " operations");
  }
}
