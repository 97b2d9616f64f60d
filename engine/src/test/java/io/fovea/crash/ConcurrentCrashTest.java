package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.Transaction;
import io.fovea.VerifyReport;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.SoakReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Crashes under many threads.
 *
 * <pre>
 *   record   balance, version, writer      version n + 1 is written by a reader of version n
 * </pre>
 *
 * <p>The order of transactions is not known, but each record's versions are ordered. The set of
 * transactions found after a crash must be
 *
 * <ul>
 *   <li><b>atomic</b>: each transaction completely or not at all;
 *   <li><b>closed</b>: with each transaction, those whose versions it read;
 *   <li><b>durable</b>: it has every version that a commit or a read returned before the crash;
 *   <li>and the sum of the balances is unchanged.
 * </ul>
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class ConcurrentCrashTest {
  private static final int ACCOUNTS = 200;
  private static final int THREADS = 4;
  private static final int CRASHES = (int) Math.max(15, CrashTest.STATES / 10);

  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Field VERSION = B.int32("version");
  private static final Field WRITER = B.int64("writer");
  private static final Field PAD = B.bytes("pad", 700);
  private static final TableSpec SPEC =
      TableSpec.of("accounts", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.on("by_version", VERSION));

  private record Done(long id, int[] keys, int[] versions, boolean[] written) {}

  private record Snapshot(SimDisk disk, int[] promised) {}

  private final AtomicIntegerArray promised = new AtomicIntegerArray(ACCOUNTS);
  private final Queue<Done> done = new ConcurrentLinkedQueue<>();
  private final AtomicLong ids = new AtomicLong(1);

  private static Options options(Durability durability, Protocol protocol) {
    return Session.small()
        .experiments(exp -> exp.protocol(protocol))
        .durability(durability)
        .transactions(txs -> txs.maxActive(THREADS + 1))
        .bufferBytes(480_000)
        .log(log -> log.maxFlushDelay(java.time.Duration.ofHours(1), 32 << 10));
  }

  @ParameterizedTest
  @CsvSource({
    "SYNC, TICTOC",
    "ASYNC, TICTOC",
    "SYNC, TWO_PHASE_LOCKING",
    "SYNC, OCC",
    "ASYNC, STO",
    "SYNC, MVTO"
  })
  void recoversAtomicClosedAndDurableSets(Durability durability, Protocol protocol)
      throws Exception {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    disk.asynchronous(true);
    List<Snapshot> snapshots = new ArrayList<>();
    try (Database db = SimDatabase.open(new SimStorage(disk), options(durability, protocol))) {
      RowTable t = db.table(SPEC);
      fill(db, t);
      if (durability != Durability.SYNC) {
        SimDatabase.checkpoint(db);
      }
      Random coin = new Random(CrashTest.SEED);
      disk.onOperation(
          n -> {
            synchronized (snapshots) {
              if (snapshots.size() >= CRASHES || coin.nextInt(10) > 0) {
                return;
              }
            }
            int[] before = new int[ACCOUNTS];
            Arrays.setAll(before, promised::get);
            SimDisk copy = disk.copy();
            synchronized (snapshots) {
              snapshots.add(new Snapshot(copy, before));
            }
          });
      Threads.run(THREADS, id -> work(db, t, id, durability == Durability.SYNC));
      disk.onOperation(n -> {});
    }
    Set<Long> distinct = new HashSet<>();
    List<Done> all = List.copyOf(done);
    Random r = new Random(CrashTest.SEED);
    for (Snapshot s : snapshots) {
      for (SimCrash how : List.of(SimCrash.LOSE_ALL, SimCrash.RANDOM, SimCrash.KEEP_ALL)) {
        SimDisk crashed = s.disk.crash(how);
        if (distinct.add(crashed.fingerprint())) {
          check(crashed, options(durability, protocol), s.promised, all, r);
        }
      }
    }
    SoakReport.line(
        "ConcurrentCrashTest." + durability + "." + protocol,
        distinct.size()
            + " distinct crash states of "
            + all.size()
            + " transactions of "
            + THREADS
            + " threads, from "
            + snapshots.size()
            + " operations");
  }

  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          Row row = t.row().setLong(BALANCE, 100);
          for (int i = 0; i < ACCOUNTS; i++) {
            t.insert(tx, t.key().set(i), row);
          }
        });
  }

  private void work(Database db, RowTable t, int thread, boolean sync) {
    Random r = new Random(CrashTest.SEED * 31 + thread);
    for (int i = 0; i < 250; i++) {
      boolean reads = r.nextInt(4) == 0;
      int n = 2 + r.nextInt(3);
      int[] keys = r.ints(0, ACCOUNTS).distinct().limit(n).toArray();
      boolean[] written = new boolean[n];
      for (int k = 0; k < n; k++) {
        written[k] = !reads && (k < 2 || r.nextBoolean());
      }
      int[] versions = new int[n];
      long id = ids.getAndIncrement();
      if (reads) {
        db.read(
            tx -> {
              transfer(tx, t, id, keys, versions, written);
              return null;
            });
      } else {
        db.run(tx -> transfer(tx, t, id, keys, versions, written));
      }
      done.add(new Done(id, keys, versions, written));
      if (sync) {
        for (int k = 0; k < n; k++) {
          int v = versions[k];
          promised.accumulateAndGet(keys[k], v, Math::max);
        }
      }
    }
  }

  /** Leaves the versions that it read or wrote in {@code versions}. */
  private static void transfer(
      Transaction tx, RowTable t, long id, int[] keys, int[] versions, boolean[] written) {
    Key key = t.key();
    Row row = t.row();
    for (int k = 0; k < keys.length; k++) {
      assertTrue(t.get(tx, key.set(keys[k]), row));
      versions[k] = row.getInt(VERSION);
      if (written[k]) {
        versions[k]++;
        long amount = k == 0 ? -5 : k == 1 ? 5 : 0;
        t.update(
            tx,
            row.setLong(BALANCE, row.getLong(BALANCE) + amount)
                .setInt(VERSION, versions[k])
                .setLong(WRITER, id)
                .setBytes(PAD, new byte[(int) Math.abs(id * 31 % 700)]));
      }
    }
  }

  private static void check(
      SimDisk disk, Options options, int[] promised, List<Done> all, Random r) {
    try (Database db = SimDatabase.open(new SimStorage(disk), options)) {
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      RowTable t = db.table(SPEC);
      int[] found = new int[ACCOUNTS];
      long[] writers = new long[ACCOUNTS];
      long[] sum = new long[2];
      db.read(
          tx -> {
            sum[0] = 0;
            sum[1] = 0;
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                int key = c.key().getInt(0);
                found[key] = c.row().getInt(VERSION);
                writers[key] = c.row().getLong(WRITER);
                sum[0] += c.row().getLong(BALANCE);
                sum[1]++;
              }
            }
            return null;
          });
      assertEquals(ACCOUNTS, sum[1]);
      assertEquals(100L * ACCOUNTS, sum[0]);
      for (int i = 0; i < ACCOUNTS; i++) {
        int key = i;
        assertTrue(
            found[i] >= promised[i],
            () -> "account " + key + ": " + found[key] + ", expected at least " + promised[key]);
      }
      for (Done d : all) {
        boolean there = false;
        for (int k = 0; k < d.keys.length; k++) {
          int key = d.keys[k];
          there |= d.written[k] && found[key] >= d.versions[k];
          if (d.written[k] && found[key] == d.versions[k]) {
            assertEquals(d.id, writers[key], "writer of account " + key);
          }
        }
        for (int k = 0; there && k < d.keys.length; k++) {
          int key = d.keys[k];
          int version = d.versions[k];
          assertTrue(
              found[key] >= version,
              () -> d + " is partly missing: account " + key + " has version " + found[key]);
        }
      }
      db.run(
          tx ->
              transfer(
                  tx,
                  t,
                  -1,
                  new int[] {r.nextInt(100), 100 + r.nextInt(100)},
                  new int[2],
                  new boolean[] {true, true}));
    } catch (Throwable e) {
      throw new AssertionError("seed " + CrashTest.SEED + ": " + e, e);
    }
  }
}
