package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.StructureRecord;
import io.fovea.buffer.PageHeader;
import io.fovea.config.LeakDetection;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.recovery.RecoveryReport;
import io.fovea.recovery.SuperblockFile;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.txn.CommitCursor;
import io.fovea.wal.Forger;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Recovery goes directly to the leaves that the log names, and detects names that are wrong. */
class NamedLeavesTest {
  private static final int PAGE = 4096;
  private static final String LOG = SimStorage.NAME + Storage.LOG;
  private static final int RECORDS = 3000;
  private static final int CHANGES = 5000;
  private static final int VALUE = 100;

  private static final Options OPTIONS =
      Options.defaults()
          .bufferBytes(16 << 20)
          .device(dev -> dev.pageSize(PAGE))
          .memory(mem -> mem.timestampBytes(1 << 20))
          .log(log -> log.maxBytes(64 << 20).checkpointInterval(Duration.ZERO))
          .transactions(txs -> txs.maxActive(4).leakDetection(LeakDetection.OFF));

  private final List<TreeMap<Long, byte[]>> model = List.of(new TreeMap<>(), new TreeMap<>());

  private final Random random = new Random(7);

  private static Database open(SimDisk disk) {
    return Database.open(new SimStorage(disk), OPTIONS);
  }

  private static Table<byte[], byte[]> table(Database db, int number) {
    return db.table(TableSpec.bytes("t" + number, 16)).bytes();
  }

  private static byte[] key(long k) {
    return ByteBuffer.allocate(8).putLong(k).array();
  }

  private byte[] value(int length) {
    byte[] v = new byte[length];
    random.nextBytes(v);
    return v;
  }

  private void put(Transaction tx, Database db, int number, long k, byte[] v) {
    table(db, number).put(tx, key(k), v);
    model.get(number).put(k, v);
  }

  /** Fills the file with records of even keys, a long value, and free pages. */
  private Database fill(SimDisk disk) {
    Database db = open(disk);
    for (int number = 0; number < 2; number++) {
      int to = number;
      for (int from = 0; from < RECORDS; from += 100) {
        int first = from;
        db.run(
            tx -> {
              for (long k = first; k < first + 100; k++) {
                put(tx, db, to, 2 * k, value(VALUE));
              }
            });
      }
    }
    db.run(tx -> put(tx, db, 0, 1, value(20 * PAGE)));
    db.run(tx -> put(tx, db, 0, 3, value(3 * PAGE)));
    db.run(tx -> put(tx, db, 0, 1, value(VALUE)));
    db.checkpoint();
    return db;
  }

  /** Changes existing records, keeping their lengths. */
  private void change(Database db, int changes) {
    for (int i = 0; i < changes; i += 5) {
      db.run(
          tx -> {
            for (int k = 0; k < 5; k++) {
              int fifth = RECORDS / 5;
              long id = k * fifth + random.nextInt(fifth);
              put(tx, db, random.nextInt(2), 2 * id, value(VALUE));
            }
          });
    }
  }

  private static SimDisk crash(Database db, SimDisk disk) {
    db.abandon();
    return disk.crash(SimCrash.LOSE_ALL);
  }

  /** Recovers from a crash and checks that everything is present. */
  private RecoveryReport recover(SimDisk disk) {
    try (Database db = open(disk)) {
      for (int number = 0; number < 2; number++) {
        Table<byte[], byte[]> t = table(db, number);
        TreeMap<Long, byte[]> expected = model.get(number);
        db.read(
            tx -> {
              int n = 0;
              try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
                for (; c.next(); n++) {
                  long k = ByteBuffer.wrap(c.key()).getLong();
                  assertArrayEquals(expected.get(k), c.value(), "record " + k);
                }
              }
              assertEquals(expected.size(), n);
              return null;
            });
      }
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      return db.store().recoveryReport();
    }
  }

  private static UUID uuid(SimDisk disk) {
    ByteBuffer b = ByteBuffer.wrap(disk.peek(SimStorage.NAME, 48, 16));
    return new UUID(b.getLong(), b.getLong());
  }

  private static MemorySegment memory(byte[] bytes) {
    MemorySegment m = Arena.ofAuto().allocate(bytes.length, 8);
    MemorySegment.copy(bytes, 0, m, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return m;
  }

  private static List<Forger.Part> parts(SimDisk disk) {
    return Forger.parts(disk.device(LOG), uuid(disk));
  }

  /** Returns the type of a record; -1 for other parts. */
  private static int type(Forger.Part part, MemorySegment m) {
    return part.toString().startsWith("Rec") ? Mem.getByte(m, 8) : -1;
  }

  private static void change(SimDisk disk, Forger.Part part, Consumer<MemorySegment> how) {
    MemorySegment m = memory(disk.peek(LOG, part.offset(), part.length()));
    how.accept(m);
    part.seal(m);
    disk.poke(LOG, part.offset(), m.toArray(ValueLayout.JAVA_BYTE));
  }

  private interface Other {
    long leaf(CommitCursor c);
  }

  /** Makes operations name other leaves, where the encoding allows it; returns how many. */
  private static int forge(SimDisk disk, Forger.Part part, Other other) {
    int[] forged = {0};
    change(
        disk,
        part,
        m -> {
          CommitCursor c = new CommitCursor();
          c.open(RecordType.COMMIT, m, 16, part.length() - 16);
          long was = 0;
          long before = 0;
          for (long op = c.position(); c.next(); op = c.position()) {
            int code = Mem.getUnsignedByte(m, op + 1);
            if (code == 0) {
              continue;
            }
            int bytes = (code & 7) - 1;
            long wanted = other.leaf(c);
            long d = wanted - before;
            long n = d << 1 ^ d >> 63;
            if (n >>> 8 * bytes + 5 == 0) {
              Mem.putByte(m, op + 1, (byte) (n >>> 8 * bytes << 3 | bytes + 1));
              for (int i = 0; i < bytes; i++) {
                Mem.putByte(m, c.position() - bytes + i, (byte) (n >>> 8 * i));
              }
              forged[0]++;
              before = wanted;
            } else {
              before += c.leaf() - was;
            }
            was = c.leaf();
          }
        });
    return forged[0];
  }

  private static int forgeAll(SimDisk disk, Other other) {
    int forged = 0;
    for (Forger.Part part : parts(disk)) {
      if (type(part, memory(disk.peek(LOG, part.offset(), part.length()))) == RecordType.COMMIT) {
        forged += forge(disk, part, other);
      }
    }
    return forged;
  }

  /** Returns the leaves that the commits name, by tree. */
  private static Map<Integer, Set<Long>> named(SimDisk disk) {
    Map<Integer, Set<Long>> all = new HashMap<>();
    forgeAll(
        disk,
        c -> {
          if (c.leaf() != 0) {
            all.computeIfAbsent(c.treeId(), t -> new TreeSet<>()).add(c.leaf());
          }
          return c.leaf();
        });
    return all;
  }

  private static List<Long> pages(SimDisk disk, int type) {
    List<Long> all = new ArrayList<>();
    long end = disk.device(SimStorage.NAME).size() / PAGE;
    for (long pid = 3; pid < end; pid++) {
      if (disk.peek(SimStorage.NAME, pid * PAGE + 4, 1)[0] == type) {
        all.add(pid);
      }
    }
    return all;
  }

  private <T> T any(List<T> all) {
    return all.get(random.nextInt(all.size()));
  }

  @Test
  void changesGoToTheLeafThatTheLogNames() {
    SimDisk disk = new SimDisk(1);
    Database db = fill(disk);
    change(db, CHANGES);
    SimDisk crashed = crash(db, disk);
    Map<Integer, Set<Long>> named = named(crashed);
    assertTrue(named.size() >= 2, named::toString);
    RecoveryReport r = recover(crashed);
    assertEquals(CHANGES, r.operations());
    assertEquals(CHANGES, r.named());
    assertTrue(r.steps() < CHANGES / 20, r::toString);
    assertTrue(r.readAhead() > 50, r::toString);
  }

  private enum Wrong {
    SUPERBLOCK,
    CATALOG,
    INNER,
    NEIGHBOUR,
    OTHER_TREE,
    FREE,
    CHAIN,
    BEYOND,
    NEGATIVE,
    ANY
  }

  @ParameterizedTest
  @EnumSource(Wrong.class)
  void anyNamedPageIsChecked(Wrong wrong) {
    SimDisk disk = new SimDisk(2);
    Database db = fill(disk);
    change(db, CHANGES);
    SimDisk crashed = crash(db, disk);
    List<Long> inner = pages(crashed, PageHeader.INNER);
    List<Long> free = pages(crashed, PageHeader.FREE);
    List<Long> chain = pages(crashed, PageHeader.OVERFLOW);
    Map<Integer, Set<Long>> leaves = named(crashed);
    Other other =
        switch (wrong) {
          case SUPERBLOCK -> c -> random.nextInt(2);
          case CATALOG -> c -> 2;
          case INNER -> c -> any(inner);
          case NEIGHBOUR ->
              c -> {
                List<Long> own = new ArrayList<>(leaves.get(c.treeId()));
                own.remove(c.leaf());
                return any(own);
              };
          case OTHER_TREE ->
              c -> {
                List<Long> others = new ArrayList<>();
                leaves.forEach((tree, of) -> others.addAll(tree == c.treeId() ? Set.of() : of));
                return any(others);
              };
          case FREE -> c -> any(free);
          case CHAIN -> c -> any(chain);
          case BEYOND -> c -> 4000;
          case NEGATIVE -> c -> -1 - random.nextInt(3);
          case ANY -> c -> random.nextInt(1 << 12);
        };
    int forged = forgeAll(crashed, other);
    assertTrue(forged > CHANGES / 2, "forged " + forged);
    RecoveryReport r = recover(crashed);
    assertEquals(CHANGES, r.operations());
    assertTrue(r.steps() > CHANGES / 2, r::toString);
  }

  /** Some leaves are split, others merged and freed, after they were named. */
  @Test
  void outdatedLeavesAreDetected() {
    SimDisk disk = new SimDisk(3);
    Database db = fill(disk);
    for (int round = 0; round < 3; round++) {
      change(db, CHANGES / 5);
      for (int i = 0; i < 100; i++) {
        db.run(
            tx -> {
              for (int k = 0; k < 5; k++) {
                put(tx, db, 0, random.nextInt(2 * RECORDS), value(random.nextInt(3 * VALUE)));
              }
              // Many ascending keys after an existing one: the log names that one's leaf.
              long from = 2L * random.nextInt(RECORDS) << 20;
              for (int k = 0; k < 40; k++) {
                put(tx, db, 1, from + k, value(VALUE));
              }
              long gone = 2L * random.nextInt(RECORDS);
              for (long k = gone; k < gone + 60; k++) {
                table(db, 1).delete(tx, key(k));
                model.get(1).remove(k);
              }
            });
      }
    }
    SimDisk crashed = crash(db, disk);
    recover(crashed.copy());
    assertTrue(forgeAll(crashed, c -> random.nextInt(1 << 12)) > CHANGES / 2);
    recover(crashed);
  }

  /**
   * An ascending load names the leaf where its keys were found missing, but they went to others.
   */
  @Test
  void ascendingKeysFollowThePreviousLeaf() {
    SimDisk disk = new SimDisk(4);
    Database db = fill(disk);
    for (int i = 0; i < 20; i++) {
      long from = 100_000 + 200 * i;
      db.run(
          tx -> {
            for (long k = from; k < from + 200; k++) {
              put(tx, db, 0, k, value(VALUE));
            }
          });
    }
    RecoveryReport r = recover(crash(db, disk));
    assertEquals(4000, r.named());
    // Each worker descends once per new leaf, not once per key.
    assertTrue(r.steps() < 2000, r::toString);
  }

  /** A leaf was merged away, and the crash came before the log recorded its page as free. */
  @Test
  void aReleasedPageIsNotUsedAsALeaf() {
    SimDisk disk = new SimDisk(5);
    Database db = fill(disk);
    int few = 200;
    db.run(
        tx -> {
          for (long k = 0; k < few; k++) {
            put(tx, db, 1, 2 * k, value(VALUE));
          }
        });
    int deleted = 0;
    for (long k = 0; k < 120; k++) {
      long gone = 2 * k;
      if (k % 6 != 5) {
        db.run(tx -> assertTrue(table(db, 1).delete(tx, key(gone))));
        model.get(1).remove(gone);
        deleted++;
      }
    }
    List<Long> rest = new ArrayList<>(model.get(1).headMap(2L * few).keySet());
    assertEquals(few - deleted, rest.size());
    db.run(tx -> rest.forEach(k -> put(tx, db, 1, k, value(VALUE))));
    SimDisk crashed = crash(db, disk);
    Map<Long, Long> before = new HashMap<>();
    long[] released = {0};
    Forger.Part free = null;
    Forger.Part last = null;
    for (Forger.Part part : parts(crashed)) {
      MemorySegment m = memory(crashed.peek(LOG, part.offset(), part.length()));
      switch (type(part, m)) {
        case RecordType.STRUCTURE -> {
          free = null;
          StructureRecord.visit(
              RecordType.STRUCTURE,
              m,
              16,
              part.length() - 16,
              PAGE,
              8,
              new StructureRecord.Visitor() {
                @Override
                public void image(long pid, long at, long end) {}

                @Override
                public void released(long pid) {
                  released[0] = pid;
                }
              });
        }
        case RecordType.ALLOCATE -> free = null;
        case RecordType.FREE -> free = Mem.getLong(m, 16) == released[0] ? part : null;
        case RecordType.COMMIT -> {
          CommitCursor c = new CommitCursor();
          c.open(RecordType.COMMIT, m, 16, part.length() - 16);
          last = c.ops() == rest.size() ? part : last;
          while (c.ops() == few && c.next()) {
            before.put(Long.reverseBytes(Mem.getLong(m, c.keyOffset())), c.leaf());
          }
        }
        default -> {}
      }
    }
    assertTrue(released[0] != 0 && free != null, "a page was released and freed");
    change(crashed, free, m -> Mem.putByte(m, 8, (byte) RecordType.VOID));
    Set<Long> keys = new TreeSet<>();
    forge(
        crashed,
        last,
        c -> {
          long k = Long.reverseBytes(Mem.getLong(c.segment(), c.keyOffset()));
          if (before.get(k) != released[0]) {
            return c.leaf();
          }
          keys.add(k);
          return released[0];
        });
    assertTrue(keys.size() > 1, "keys that were in the page: " + keys);
    RecoveryReport r = recover(crashed);
    assertTrue(r.pagesReclaimed() > 0, r::toString);
  }

  @Test
  void segmentsOfThePreviousVersionNameNone() {
    SimDisk disk = new SimDisk(6);
    Database db = fill(disk);
    change(db, 500);
    SimDisk crashed = crash(db, disk);
    SimDisk later = crashed.copy();
    assertTrue(version(later, 5) > 0);
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> open(later));
    assertTrue(e.getMessage().contains("versions 2 to 4"), e.getMessage());
    version(crashed, 3);
    withoutSession(crashed);
    forgeAll(crashed, c -> -1);
    RecoveryReport r = recover(crashed);
    assertEquals(500, r.operations());
    assertEquals(0, r.named());
  }

  /** Makes the data file one of that version too: it names no session. */
  private static void withoutSession(SimDisk disk) {
    try (BlockDevice device = new SimStorage(disk).open(Storage.DATA)) {
      SuperblockFile file = new SuperblockFile(device, "db");
      file.write(Objects.requireNonNull(file.read()).withSession(0));
    }
  }

  private static int version(SimDisk disk, int version) {
    int headers = 0;
    for (Forger.Part part : parts(disk)) {
      if (part.toString().startsWith("Header")) {
        change(disk, part, m -> Mem.putInt(m, 8, version));
        headers++;
      }
    }
    return headers;
  }
}
