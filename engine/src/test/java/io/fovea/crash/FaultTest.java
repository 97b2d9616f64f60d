package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.crash.State.Blob;
import io.fovea.crash.State.Kind;
import io.fovea.crash.State.Pk;
import io.fovea.crash.State.Value;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.IoOp;
import io.fovea.support.Pauses;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SoakReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Operation n of the disk fails, for n = 1, 2, 3 ... The outcome must be success or a typed error,
 * never a wrong answer, and the database must open again.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class FaultTest {
  private static final int STEPS = 50;
  private static final int NAMES = 48;

  private static final int PAUSE = 128;

  /** The stride over operations; {@code -Dcrash.faults=1} tries all, with pauses. */
  private static final int STRIDE = Integer.getInteger("crash.faults", 397);

  /** The first operation; 0 selects one that differs from run to run. */
  private static final long FROM = Long.getLong("crash.faults.from", STRIDE == 1 ? 1 : 0);

  /** Counts the exceptions by class. */
  private final Map<String, Integer> thrown = new TreeMap<>();

  private int runs;

  private void count(Throwable e) {
    thrown.merge(e.getClass().getSimpleName(), 1, Integer::sum);
  }

  /** Returns whether a fault may lead to this exception. */
  private static boolean allowed(@Nullable Throwable e) {
    return e instanceof StorageException
        || e instanceof StorageFullException
        || e instanceof DurabilityLostException
        // a page could not be copied for a snapshot
        || e instanceof SnapshotTooOldException
        // no page can be written, so no frame becomes free
        || e instanceof PoolExhaustedException && allowed(e.getCause());
  }

  private static FoveaException typed(Throwable e) {
    if (!allowed(e)) {
      throw new AssertionError("a fault led to an unexpected exception: " + e, e);
    }
    return (FoveaException) e;
  }

  /**
   * Runs a workload on a disk with a fault until it cannot continue, then removes the fault.
   *
   * @return whether the fault was hit
   */
  private boolean run(long seed, SimFault fault, Options options) {
    SimDisk disk = new SimDisk(seed);
    Session s = new Session(disk, options, false, new State());
    if (STRIDE == 1) {
      disk.onOperation(new Pauses(PAUSE));
    }
    disk.fail(fault);
    runs++;
    try {
      s.open();
      s.firstWithFaults(this::carryOn);
      Generator g = new Generator(seed, NAMES, true, true);
      for (int i = 0; i < STEPS && s.db != null; i++) {
        s.stepWithFaults(g.next(s.state(), i, 16), this::carryOn);
      }
    } catch (FoveaException e) {
      count(typed(e)); // it did not open
    }
    close(s);
    boolean hit = disk.faultsHit() > 0;
    disk.heal();
    // Check both what programs see and what a power failure would leave.
    reopened(s, disk.crash(SimCrash.RANDOM));
    reopened(s, disk);
    return hit;
  }

  /** Closes the session, if it is open; faults may occur. */
  private void close(Session s) {
    if (s.db != null) {
      try {
        s.close();
      } catch (FoveaException e) {
        count(typed(e));
      }
    }
  }

  private boolean carryOn(Throwable e) {
    count(typed(e));
    return !(e instanceof DurabilityLostException);
  }

  private static void reopened(Session was, SimDisk disk) {
    List<State> states = was.states(new Session.Bounds(was.acked(), was.begun()));
    Session s = new Session(disk, was.options, false, states.getLast());
    try {
      s.open();
      s.rebase(states.get(Session.match(s.db(), states)));
      s.steps(new Generator(disk.operations()), 3);
      s.close();
      s.open();
      s.check();
      s.close();
    } catch (Throwable e) {
      s.abandon();
      throw e;
    }
  }

  private void loop(String name, LoopBody body) {
    loop(name, STRIDE, body);
  }

  private void loop(String name, int stride, LoopBody body) {
    long n = FROM > 0 ? FROM : 1 + Sample.oneOf(stride).first();
    try {
      boolean hit = body.run(n);
      while (!hit && FROM == 0 && n > 1) {
        n /= 2; // there are fewer operations of this kind: hit at least one
        hit = body.run(n);
      }
      while (hit) {
        n += stride;
        hit = body.run(n);
      }
    } catch (Throwable e) {
      throw new AssertionError(
          "fault at operation "
              + n
              + ", seed "
              + CrashTest.SEED
              + ". Replay: mvn -pl engine -am test -Dtest=FaultTest -Dcrash.faults=1 -Dcrash.faults.from="
              + n,
          e);
    }
    SoakReport.line(
        "FaultTest." + name, runs + " faults, operations up to " + (n - stride) + ": " + thrown);
  }

  private interface LoopBody {
    boolean run(long n);
  }

  @ParameterizedTest
  @EnumSource(names = {"READ", "WRITE", "SYNC", "RESIZE"})
  void onceOfAKind(IoOp op) {
    loop("once " + op, n -> run(CrashTest.SEED, SimFault.once(n).of(op), Session.small()));
  }

  /** With a longer stride: translations hardly change how faults are handled. */
  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE", mode = EnumSource.Mode.EXCLUDE)
  void onceUnder(Translation kind) {
    assumeTrue(CrashTest.OTHERS.contains(kind) || STRIDE == 1, "only in the long form");
    loop(
        "once, " + kind,
        STRIDE == 1 ? 1 : 5 * STRIDE,
        n -> run(CrashTest.SEED, SimFault.once(n), Session.small(kind)));
  }

  @Test
  void fromThenOn() {
    loop("from then on", n -> run(CrashTest.SEED, SimFault.from(n), Session.small()));
  }

  /** With a longer stride: a commit waits five seconds for checkpoints before it fails. */
  @Test
  void fromThenOnWithoutWaits() {
    loop(
        "from then on, ASYNC",
        STRIDE == 1 ? 1 : 5 * STRIDE,
        n ->
            run(
                CrashTest.SEED,
                SimFault.from(n).of(IoOp.WRITE),
                Session.small()
                    .durability(Durability.ASYNC)
                    .log(log -> log.maxFlushDelay(java.time.Duration.ofHours(1), 16 << 10))));
  }

  /** Returns a closed database with some records, in which a step is then disturbed. */
  private static synchronized Session base() {
    Session s = base;
    if (s == null) {
      s = newBase();
      base = s;
    }
    return s;
  }

  private static @Nullable Session base;

  private static Session newBase() {
    Session s = new Session(new SimDisk(CrashTest.SEED), Session.small(), false, new State());
    s.open();
    s.first();
    s.steps(new Generator(CrashTest.SEED, NAMES, false, false), 40);
    s.close();
    return s;
  }

  private static List<Step.Loaded> rows(Kind kind, int n) {
    List<Step.Loaded> rows = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Blob pad = new Blob(40, 1000 + i);
      rows.add(
          new Step.Loaded(
              new Pk(i % 5, "loaded" + i),
              kind == Kind.BYTES
                  ? Step.bytes(3000, 77 + i)
                  : new Value(i % 7, "t" + i, (1L << 40) + i, pad, 0)));
    }
    return rows;
  }

  /** Returns the steps that change much. */
  static List<Step> large() {
    return List.of(
        new Step.Load("narrow", rows(Kind.NARROW, 50), false, Duplicates.REPLACE),
        new Step.Load("bytes", rows(Kind.BYTES, 90), false, Duplicates.KEEP),
        new Step.Evolve("narrow"),
        new Step.Migrate(
            List.of(
                new Step.CreateInTransaction("extra0", Kind.NARROW, List.of("by_a")),
                new Step.Insert("extra0", new Pk(1, "new"), rows(Kind.NARROW, 1).get(0).value()),
                new Step.DropInTransaction("wide"),
                new Step.RenameInTransaction("narrow", "wide"),
                new Step.DeleteRange("wide", null, new Pk(3, "")),
                new Step.Put("bytes", new Pk(1, "new"), Step.bytes(5000, 5))),
            true),
        new Step.CreateIndex("narrow", "by_a"),
        new Step.RenameIndex("narrow", "by_text"),
        new Step.DropIndex("narrow", "by_unique"),
        new Step.DropTable("bytes"),
        new Step.Rename("wide", "extra1"),
        new Step.Transact(
            List.of(
                new Step.DeleteRange("narrow", null, null),
                new Step.DeleteGroup("bytes", 2),
                new Step.DeleteRange("wide", new Pk(1, "n"), new Pk(4, "n"))),
            true));
  }

  /** A disk operation fails during a step, or during the close after it. */
  @ParameterizedTest
  @MethodSource("large")
  void within(Step step) {
    Session base = base();
    loop(
        "within " + step.getClass().getSimpleName(),
        // If a load loses its log the close waits for log space.
        STRIDE == 1 ? 1 : step instanceof Step.Load ? 31 : 11,
        n -> {
          runs++;
          SimDisk disk = base.disk.copy();
          Session s = new Session(disk, base.options, false, base.state());
          s.open();
          disk.fail(n % 3 == 0 ? SimFault.from(n) : SimFault.once(n));
          s.stepWithFaults(step, this::carryOn);
          close(s);
          boolean hit = disk.faultsHit() > 0;
          disk.heal();
          reopened(s, disk.crash(SimCrash.RANDOM));
          reopened(s, disk);
          return hit;
        });
  }

  /** A failed sync is final: nothing is acknowledged after it, even if later syncs succeed. */
  @Test
  void aFailedSyncIsFinal() {
    loop(
        "a failed sync",
        n -> {
          SimDisk disk = new SimDisk(CrashTest.SEED);
          Session s = new Session(disk, Session.small(), false, new State());
          s.open();
          s.first();
          s.steps(new Generator(CrashTest.SEED, NAMES, false, false), 10);
          disk.fail(SimFault.once(n).of(IoOp.SYNC));
          runs++;
          Generator g = new Generator(CrashTest.SEED + 1, NAMES, false, true);
          @Nullable Throwable lost = null;
          boolean hit = false;
          @Nullable Database hitIn = null;
          long patience = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
          // The engine may learn later of a sync by another thread. If the database was reopened
          // meanwhile
          // it never does: the sync was of a spare log slot that was no longer needed.
          for (int i = 0; lost == null && (i < STEPS || hit && System.nanoTime() < patience); i++) {
            Database before = s.db;
            try {
              s.step(g.next(s.state()));
            } catch (FoveaException e) {
              count(typed(e));
              lost = e;
            }
            hitIn = hitIn == null && disk.faultsHit() > 0 ? before : hitIn;
            hit = hitIn != null && hitIn == s.db;
          }
          if (hit) {
            assertTrue(
                lost instanceof DurabilityLostException
                    || lost instanceof StorageException e && e.operation().equals("sync"),
                "got " + lost);
            Step write =
                new Step.Transact(
                    List.of(new Step.Put("bytes", new State.Pk(0, "x"), Step.bytes(9, 9))), true);
            State state = s.state();
            for (int i = 0; i < 3; i++) {
              assertThrows(
                  DurabilityLostException.class, () -> write.run(s.db(), state.copy()), "" + lost);
            }
            assertThrows(DurabilityLostException.class, s::close);
          } else {
            close(s); // the failed sync may be part of this close
          }
          reopened(s, disk.crash(SimCrash.RANDOM));
          reopened(s, disk.crash(SimCrash.LOSE_ALL));
          return disk.faultsHit() > 0;
        });
  }

  // --------------------------------------------------------------------------------------- full
  // disk

  /** Returns how many bytes a workload takes. */
  private static long bytes(Options options) {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Session s = new Session(disk, options, false, new State());
    s.open();
    s.first();
    s.steps(new Generator(CrashTest.SEED, NAMES, true, true), STEPS);
    s.close();
    return disk.bytes();
  }

  /** The disk is full at each size; after some refusals there is space again. */
  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void aFullDisk(Durability durability) {
    Options options = Session.small().durability(durability);
    long most = bytes(options);
    for (long capacity = 0; capacity < most; capacity += 4L * 4096 * STRIDE) {
      for (int refusals : List.of(1, 5)) {
        try {
          full(capacity, refusals, options);
        } catch (Throwable e) {
          throw new AssertionError("a disk of " + capacity + " bytes, seed " + CrashTest.SEED, e);
        }
      }
    }
    SoakReport.line(
        "FaultTest.aFullDisk " + durability, runs + " sizes up to " + most + ": " + thrown);
  }

  private void full(long capacity, int refusals, Options options) {
    runs++;
    SimDisk disk = new SimDisk(CrashTest.SEED);
    disk.capacity(capacity);
    disk.onOperation(
        n -> {
          if (disk.refusals() >= refusals) {
            disk.capacity(Long.MAX_VALUE);
          }
        });
    Session s = new Session(disk, options, false, new State());
    while (s.db == null) {
      try {
        s.open();
      } catch (StorageFullException e) {
        count(e);
      }
    }
    s.firstWithFaults(this::whenFull);
    Generator g = new Generator(CrashTest.SEED, NAMES, true, true);
    for (int i = 0; i < STEPS; i++) {
      s.stepWithFaults(g.next(s.state()), this::whenFull);
    }
    while (s.db != null) {
      try {
        s.close();
      } catch (StorageFullException e) {
        count(e);
        reopened(s, disk);
        return;
      }
    }
    reopened(s, disk);
  }

  /** Returns whether to continue; a full disk must lead only to errors about space. */
  private boolean whenFull(Throwable e) {
    if (!(e instanceof StorageFullException || e instanceof SnapshotTooOldException)) {
      throw new AssertionError("a full disk led to " + e, e);
    }
    count(e);
    return true;
  }

  /**
   * Reads continue while the disk is full. After many refusals space becomes available, because a
   * commit whose record is in the log waits for it.
   */
  @Test
  void readsContinueOnAFullDisk() {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    Generator g = new Generator(CrashTest.SEED, NAMES, false, false);
    s.steps(g, STEPS);
    disk.capacity(disk.bytes());
    long refused = disk.refusals();
    int[] full = {0};
    // Background work is refused too, often while this thread does not run.
    disk.onOperation(
        n -> {
          if (disk.refusals() > refused + (full[0] > 0 ? 600 : 6_000)) {
            disk.capacity(Long.MAX_VALUE);
          }
        });
    int looks = 0;
    for (int i = 0; i < 400 && full[0] < 4; i++) {
      Step grow =
          new Step.Transact(
              List.of(new Step.Put("bytes", new State.Pk(0, "grow" + i), Step.bytes(20_000, i))),
              true);
      s.stepWithFaults(
          i % 2 == 0 ? grow : g.next(s.state()),
          e -> {
            full[0]++;
            return whenFull(e);
          });
      s.step(new Step.Look());
      looks++;
    }
    assertTrue(full[0] > 0, "the disk was never full");
    SoakReport.line(
        "FaultTest.readsContinueOnAFullDisk",
        full[0] + " commits refused, " + looks + " full reads");
    disk.capacity(Long.MAX_VALUE);
    s.steps(g, STEPS);
    s.check();
    s.close();
    reopened(s, disk);
  }
}
