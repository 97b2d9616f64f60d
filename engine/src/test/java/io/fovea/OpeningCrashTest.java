package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.IoOp;
import io.fovea.io.Storage;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimChoice;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import io.fovea.wal.Log;
import io.fovea.wal.LogMap;
import io.fovea.wal.LogNumbers;
import io.fovea.wal.Watermark;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** An opening changes files left by a close, kill or crash; then the machine crashes. */
@Tag("slow")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OpeningCrashTest {
  private static final Logger QUIET = Logger.getLogger("io.fovea");
  private static final int SEGMENT = 64 << 10;
  private static final String LOG = SimStorage.NAME + Storage.LOG;

  /** Up to this many unsynced changes, every subset of survivors is tried. */
  private static final int FEW = 5;

  private static final Options OPTIONS =
      Options.defaults()
          .bufferBytes(600_000)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(2))
          .log(
              log ->
                  log.bufferBytes(64 << 10)
                      .segmentBytes(SEGMENT)
                      .maxBytes(256 << 10)
                      .checkpointInterval(Duration.ZERO))
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  static {
    QUIET.setLevel(Level.OFF);
  }

  /** A disk, and the minimum and maximum number of its commits. */
  private record Left(SimDisk disk, int acked, int begun) {
    Left copy() {
      return new Left(disk.copy(), acked, begun);
    }
  }

  /** A database on a disk: commit i puts key i. */
  private static final class Life {
    final SimDisk disk;
    private Options options = OPTIONS;
    volatile int acked;
    volatile int begun;
    private Database db;

    Life(Left left) {
      this.disk = left.disk;
      this.begun = left.begun;
      this.acked = left.acked;
    }

    Life() {
      this(new Left(new SimDisk(1), 0, 0));
    }

    void open() {
      db = Database.open(new SimStorage(disk), options);
    }

    Table<byte[], byte[]> table() {
      return db.table(TableSpec.bytes("t", 20)).bytes();
    }

    Log log() {
      return Objects.requireNonNull(db.store().journal()).log();
    }

    void commit(int n) {
      Table<byte[], byte[]> t = table();
      for (int k = 0; k < n; k++) {
        int i = begun;
        begun = i + 1;
        db.run(tx -> t.put(tx, key(i), value(i)));
        acked = i + 1;
      }
    }

    void commitUntilNewestHas(int groups) {
      do {
        commit(1);
      } while (map().newest() != groups);
    }

    LogMap map() {
      Superblock s = Objects.requireNonNull(superblock(disk));
      return LogMap.of(disk.device(LOG), s.id(), s.redoLsn());
    }

    void close() {
      db.close();
    }

    void abandon() {
      db.abandon();
    }

    /** Kills the process: the page cache survives. */
    Left left() {
      int done = acked;
      SimDisk copy = disk.copy();
      return new Left(copy, done, begun);
    }

    /** Returns the disk before each operation, except those that follow a read. */
    List<Left> watch() {
      List<Left> all = new ArrayList<>();
      int[] last = {-1};
      disk.onOperation(
          n -> {
            synchronized (all) {
              int changes = disk.unsyncedChanges();
              if (changes != last[0]) {
                last[0] = changes;
                all.add(left());
              }
            }
          });
      return all;
    }

    void watchNoMore(List<Left> seen) {
      disk.onOperation(n -> {});
      synchronized (seen) {
        seen.add(left());
      }
    }

    /** Checks and returns the number of commits: all acknowledged ones, none that was not begun. */
    int contents() {
      int[] n = {0};
      Table<byte[], byte[]> t = table();
      db.read(
          tx -> {
            try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              for (; c.next(); n[0]++) {
                assertArrayEquals(key(n[0]), c.key(), "key");
                assertArrayEquals(value(n[0]), c.value(), "value");
              }
            }
            return null;
          });
      assertTrue(
          acked <= n[0] && n[0] <= begun, () -> n[0] + " commits, not " + acked + " to " + begun);
      return n[0];
    }
  }

  private static byte[] key(int i) {
    return String.format("%06d", i).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] value(int i) {
    byte[] v = new byte[900];
    Arrays.fill(v, (byte) i);
    return v;
  }

  private static @Nullable Superblock superblock(SimDisk disk) {
    return new SuperblockFile(new SimStorage(disk).open(Storage.DATA), SimStorage.NAME).read();
  }

  private static LogNumbers numbers(SimDisk disk) {
    Superblock s = superblock(disk);
    return s == null
        ? new LogNumbers(List.of(), List.of())
        : LogNumbers.of(disk.device(LOG), s.id());
  }

  private final Set<Long> met = new HashSet<>();

  private void explore(Left first, String what) {
    explore(first, OPTIONS, what);
  }

  /**
   * The same.
   *
   * @param options of the second life, which commits if it has a log
   */
  private void explore(Left first, Options options, String what) {
    Life life = new Life(first.copy());
    life.options = options;
    List<Left> cuts = life.watch();
    try {
      life.open();
      if (options.durability() != Durability.NONE) {
        life.acked = life.begun = life.contents();
        life.commit(1);
      }
    } catch (Throwable e) {
      throw new AssertionError(what + ": " + e, e);
    }
    life.watchNoMore(cuts);
    life.abandon();
    for (int i = 0; i < cuts.size(); i++) {
      Left cut = cuts.get(i);
      for (SimChoice choice : SimChoice.of(cut.disk.unsyncedChanges(), FEW)) {
        SimDisk crashed = cut.disk.crash(choice);
        if (met.add(crashed.fingerprint() * 31 + cut.acked * 1009 + cut.begun)) {
          try {
            third(new Left(crashed, cut.acked, cut.begun), met.size() % 4 == 0);
          } catch (Throwable e) {
            throw new AssertionError(
                what + ", cut " + i + " of " + cuts.size() + ", survivors " + choice + ": " + e, e);
          }
        }
      }
    }
  }

  private static void third(Left crashed, boolean goOn) {
    Life life = new Life(crashed);
    LogNumbers before = numbers(life.disk);
    life.open();
    assertEquals("", numbers(life.disk).faultSince(before));
    life.acked = life.begun = life.contents();
    if (!goOn) {
      life.abandon();
      return;
    }
    life.commit(1);
    life.abandon();
    Life last = new Life(new Left(life.disk.crash(SimCrash.LOSE_ALL), life.acked, life.begun));
    last.open();
    last.contents();
    VerifyReport report = last.db.verify();
    assertTrue(report.ok(), report::toString);
    last.close();
  }

  @AfterEach
  void done(TestInfo test) {
    assertTrue(met.size() > 10);
    SoakReport.line(
        "OpeningCrashTest." + test.getTestMethod().orElseThrow().getName(),
        met.size() + " crash states");
  }

  /** Closes with the given number of groups in the newest segment, after rounds of the slots. */
  private static Left closed(int groups, int rounds) {
    Life life = new Life();
    life.open();
    life.commit(20);
    for (int i = 0; i < rounds; i++) {
      life.db.checkpoint();
      life.commit(25);
    }
    life.commitUntilNewestHas(groups);
    life.close();
    assertEquals(SEGMENT, life.disk.device(LOG).size());
    assertTrue(life.disk.unsyncedChanges() > 0);
    return life.left();
  }

  /**
   * A close shortens the log without a sync: the old end may reappear. Depending on its watermark,
   * the remaining file may or may not contain the newest number.
   */
  @Test
  void aLogShortenedByAClose() {
    for (int groups = 1; groups <= 2; groups++) {
      for (int rounds = 0; rounds <= 2; rounds += 2) {
        explore(closed(groups, rounds), "closed, " + groups + " groups, " + rounds + " rounds");
      }
    }
  }

  /** The same by a release that did not store the last number: only the sync preserves it. */
  @Test
  void aLogShortenedByAnOlderRelease() {
    for (int rounds = 0; rounds <= 2; rounds += 2) {
      Left left = closed(1, rounds);
      SuperblockFile file =
          new SuperblockFile(new SimStorage(left.disk).open(Storage.DATA), SimStorage.NAME);
      file.write(Objects.requireNonNull(file.read()).withDurable(Watermark.NONE));
      assertTrue(left.disk.unsyncedChanges() > 0);
      explore(left, "closed by an older release, " + rounds + " rounds");
    }
  }

  /** The last groups and the header of a new segment are only in the page cache. */
  private static List<Left> killedInACommit() {
    Life life = new Life();
    life.open();
    life.commit(20);
    List<Left> kills = life.watch();
    life.commitUntilNewestHas(1);
    life.commit(1);
    life.watchNoMore(kills);
    life.abandon();
    return kills.subList(kills.size() - 8, kills.size());
  }

  @Test
  void aProcessKilledInACommit() {
    List<Left> kills = killedInACommit();
    for (int i = 0; i < kills.size(); i++) {
      explore(kills.get(i), "killed at " + i);
    }
    explore(kills.get(5), OPTIONS.durability(Durability.NONE), "recovered to have no log");
  }

  @Test
  void anOpeningKilledAnywhere() {
    Life life = new Life(killedInACommit().get(5));
    List<Left> kills = life.watch();
    life.open();
    life.watchNoMore(kills);
    life.abandon();
    for (int i = 0; i < kills.size(); i++) {
      explore(kills.get(i), "opening killed at " + i + " of " + kills.size());
    }
  }

  @Test
  void aFirstOpening() {
    explore(new Left(new SimDisk(1), 0, 0), "making");
  }

  /** The log of another database is removed if closed, and refused otherwise. */
  @Test
  void theLogOfAnotherDatabase() {
    Life another = new Life();
    another.open();
    another.commit(30);
    Life killed = new Life(another.left());
    another.close();
    Life life = new Life();
    life.options = OPTIONS.durability(Durability.NONE);
    life.open();
    life.commit(3);
    life.close();
    SimDisk from = another.disk;
    life.disk.poke(LOG, 0, from.peek(LOG, 0, (int) from.device(LOG).size()));
    explore(life.left(), "the log of another");
    byte[] commits = killed.disk.peek(LOG, 0, (int) killed.disk.device(LOG).size());
    life.disk.delete(LOG);
    life.disk.poke(LOG, 0, commits);
    life.options = OPTIONS;
    assertThrows(IncompatibleFormatException.class, life::open);
    assertArrayEquals(commits, life.disk.peek(LOG, 0, (int) life.disk.device(LOG).size()));
  }

  /** The segment preallocator has truncated free slots, and the crash came before its sync. */
  @Test
  void aLogBeingShortened() {
    Left left = null;
    while (left == null) {
      left = beingShortened();
    }
    explore(left, "being shortened");
  }

  /** Returns null if the writer synced between the truncation and its sync. */
  private static @Nullable Left beingShortened() {
    Life life = new Life();
    life.open();
    Log.Pin pin = life.log().pin();
    life.commit(300);
    life.db.checkpoint();
    long full = life.disk.device(LOG).size();
    List<Left> kills = life.watch();
    pin.close();
    do {
      // If the newest segment is in one of the last slots, a commit and two checkpoints are needed.
      life.commit(1);
      life.db.checkpoint();
    } while (life.disk.device(LOG).size() == full);
    life.abandon();
    life.watchNoMore(kills);
    for (Left k : kills) {
      if (k.disk.device(LOG).size() < full && k.disk.unsyncedChanges() > 0) {
        return k;
      }
    }
    return null;
  }

  /** A failed sync of an opening leaves its changes in doubt. */
  @Test
  void aFailedSyncOfAnOpening() {
    failingSyncs(closed(1, 0), 1);
    failingSyncs(killedInACommit().get(5), 3);
  }

  private void failingSyncs(Left left, int step) {
    for (int n = 1; ; n += step) {
      Life life = new Life(left.copy());
      life.disk.fail(SimFault.once(n).of(IoOp.SYNC));
      try {
        life.open();
        life.abandon();
      } catch (FoveaException e) {
        // expected
      }
      if (life.disk.faultsHit() == 0) {
        break;
      }
      life.disk.heal();
      explore(life.left(), "sync " + n + " failed");
    }
  }

  /**
   * A sync failed while the database was in use, and it is reopened without restarting the machine.
   * The unsynced data is in the page cache but stays in doubt, although every later sync succeeds.
   * So recovery has to write all of it again.
   */
  @Test
  void aFailedSyncBeforeAnOpening() {
    for (int n = 1; ; n++) {
      Life life = new Life();
      life.open();
      life.commit(30);
      life.disk.fail(SimFault.once(n).of(IoOp.SYNC));
      try {
        for (int i = 0; i < 3; i++) {
          life.commit(20);
          life.db.checkpoint();
        }
        life.close();
      } catch (FoveaException e) {
        // expected
      }
      life.abandon();
      if (life.disk.faultsHit() == 0) {
        break;
      }
      life.disk.heal();
      Life again = new Life(life.left());
      again.open();
      again.acked = again.begun = again.contents();
      again.commit(1);
      if (n % 2 == 0) {
        again.db.checkpoint();
        again.commit(1);
      }
      again.abandon();
      for (int i = 0; i < 6; i++) {
        SimDisk crashed = again.disk.crash(i == 0 ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
        if (met.add(crashed.fingerprint())) {
          try {
            third(new Left(crashed, again.acked, again.begun), true);
          } catch (Throwable e) {
            throw new AssertionError("sync " + n + " failed, crash " + i + ": " + e, e);
          }
        }
      }
    }
  }
}
