package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ChangeBatch;
import io.fovea.Changes;
import io.fovea.ChangesCopy;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.config.Durability;
import io.fovea.error.ChangesLostException;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A copy follows the changes of a database while the power fails at any disk operation, including
 * those of recovery, and the database is closed and reopened. No change that the copy applied may
 * be undone by a crash, and whenever the copy has caught up it equals the database.
 *
 * <pre>
 *   copy       ──take──take──┐            ┌──take──take──► equal?
 *                            │ as it was  │
 *   database   ──op──op──op──┴─ crash ─── recovery ─── steps ──► crash ...
 * </pre>
 *
 * <p>A gap shows as a difference or as a change to a missing record, a repetition as a position
 * that does not increase. Options: {@code -Dcrash.seed=N}, {@code -Dcrash.changes=N} (crashes).
 */
@Tag("slow")
@Timeout(value = 20, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class ChangesCrashTest {
  private static final long CRASHES = Long.getLong("crash.changes", 8);
  private static final long SEED = Long.getLong("crash.seed", Sample.seed());

  private static final long LITTLE = 192 << 10;

  /** When following the files, one of this many operations is preceded by a read. */
  private static final int OPERATIONS = 8;

  /** How often a follower fell behind and started over. */
  private static final LongAdder LOST = new LongAdder();

  private static final List<SimCrash> HOWS =
      List.of(
          SimCrash.LOSE_ALL,
          SimCrash.RANDOM,
          SimCrash.KEEP_ALL,
          new SimCrash(0.9, true, true),
          new SimCrash(0.15, true, true));

  /** The disk before an operation, and the copy as of a time before that. */
  private record Cut(
      SimDisk disk, ChangesCopy copy, int acked, Session session, boolean justTold) {}

  /** Whether the copy reads the database's files, as another process would. */
  private boolean beside;

  /** Held while following between two disk operations. */
  private final ReentrantLock following = new ReentrantLock();

  private final AtomicReference<Throwable> failed = new AtomicReference<>();

  private long crashes;
  private long batches;
  private long loads;

  private static Options small() {
    return Session.small().log(l -> l.changeRetentionBytes(8 << 20));
  }

  @Test
  void followsWithoutGapOrRepetition() {
    for (long seed = SEED; crashes < CRASHES; seed++) {
      way(seed, small(), CRASHES);
    }
    report("followsWithoutGapOrRepetition");
    assertTrue(batches > CRASHES, batches + " batches");
  }

  /** Commits do not wait for the log; the feed still contains only durable ones. */
  @Test
  void followsAsynchronousCommits() {
    Options options =
        small()
            .durability(Durability.ASYNC)
            .log(log -> log.maxFlushDelay(Duration.ofHours(1), 16 << 10));
    for (long seed = SEED; crashes < CRASHES / 2; seed++) {
      way(seed, options, CRASHES / 2);
    }
    report("followsAsynchronousCommits");
  }

  /** Little of the log is retained; the follower keeps up. */
  @Test
  void followsARecycledLog() {
    Options options = small().log(l -> l.changeRetentionBytes(LITTLE));
    for (long seed = SEED + 1000; crashes < CRASHES / 2; seed++) {
      way(seed, options, CRASHES / 2);
    }
    report("followsARecycledLog");
  }

  /** Follows the files, including those that a crash left, before they are opened. */
  @Test
  void followsFiles() {
    beside = true;
    for (long seed = SEED + 2000; crashes < CRASHES / 2; seed++) {
      way(seed, small(), CRASHES / 2);
    }
    report("followsFiles");
    assertTrue(batches > CRASHES, batches + " batches");
  }

  /** What the follower itself has synced is durable, even if commits do not wait. */
  @Test
  void followsFilesOfAsynchronousCommits() {
    beside = true;
    Options options =
        small()
            .durability(Durability.ASYNC)
            .log(log -> log.maxFlushDelay(Duration.ofHours(1), 16 << 10));
    for (long seed = SEED + 3000; crashes < CRASHES / 3; seed++) {
      way(seed, options, CRASHES / 3);
    }
    report("followsFilesOfAsynchronousCommits");
  }

  @Test
  void followsFilesOfARecycledLog() {
    beside = true;
    Options options = small().log(l -> l.changeRetentionBytes(LITTLE));
    for (long seed = SEED + 4000; crashes < CRASHES / 3; seed++) {
      way(seed, options, CRASHES / 3);
    }
    report("followsFilesOfARecycledLog");
  }

  private void report(String what) {
    SoakReport.line(
        "ChangesCrashTest." + what,
        "seed "
            + SEED
            + ": "
            + crashes
            + " crashes, "
            + batches
            + " batches, "
            + loads
            + " loads, started over "
            + LOST.sumThenReset());
  }

  /** Crashes one database repeatedly, until there were enough crashes. */
  private void way(long seed, Options options, long enough) {
    Random random = new Random(seed);
    SimDisk disk = new SimDisk(seed);
    Session s = new Session(disk, options, false, new State());
    Generator generator = new Generator(seed);
    AtomicReference<ChangesCopy> copy = new AtomicReference<>(new ChangesCopy());
    s.open();
    copy.get().begin(s.db());
    s.first();
    try {
      for (int life = 0; life < 8 && crashes < enough; life++) {
        List<Cut> cuts = new ArrayList<>();
        watch(s, copy, cuts, new Random(seed + life));
        work(s, generator, random, copy);
        s.disk.onOperation(n -> {});
        s.abandon();
        Throwable e = failed.get();
        if (e != null) {
          throw e;
        }
        List<Cut> told = cuts.stream().filter(Cut::justTold).toList();
        List<Cut> of = told.isEmpty() || random.nextInt(3) == 0 ? cuts : told;
        Cut cut = of.get(random.nextInt(of.size()));
        s = crash(cut, random, options, copy);
        crashes++;
      }
      batches += copy.get().batches;
      loads += copy.get().loads;
      s.close();
    } catch (Throwable e) {
      s.abandon();
      throw new AssertionError("seed " + seed + ": " + e, e);
    }
  }

  private void watch(Session s, AtomicReference<ChangesCopy> copy, List<Cut> cuts, Random random) {
    s.disk.onOperation(
        n -> {
          if (following.isHeldByCurrentThread()) {
            return; // the follower's own read
          }
          boolean told = beside && between(s, copy, random);
          int acked = s.acked();
          ChangesCopy taken = copy.get(); // before the disk: all that it has is durable there
          SimDisk now = s.disk.copy();
          synchronized (cuts) {
            cuts.add(new Cut(now, taken, acked, s, told));
          }
        });
  }

  /**
   * Follows the files between two disk operations, for example after the write of a group and
   * before its sync.
   */
  private boolean between(Session s, AtomicReference<ChangesCopy> copy, Random random) {
    if (following.tryLock()) {
      try {
        if (random.nextInt(OPERATIONS) == 0) {
          ChangesCopy next = copy.get().copy();
          long before = next.batches;
          if (!next.followFiles(s.disk, 1 + random.nextInt(20))) {
            copy.set(next); // otherwise a table must be read first
            return next.batches > before;
          }
        }
      } catch (ChangesLostException e) {
        if (s.options.log().changeRetentionBytes() > LITTLE) {
          failed.compareAndSet(null, e);
        }
      } catch (Throwable e) {
        failed.compareAndSet(null, e);
      } finally {
        following.unlock();
      }
    }
    return false;
  }

  private void work(
      Session s, Generator generator, Random random, AtomicReference<ChangesCopy> copy) {
    int steps = 8 + random.nextInt(25);
    for (int i = 0; i < steps; i++) {
      s.step(generator.next(s.state()));
      if (random.nextInt(3) == 0) {
        ChangesCopy next = copy.get().copy();
        if (random.nextBoolean() && s.options.log().changeRetentionBytes() > LITTLE) {
          follow(s, next, 1 + random.nextInt(4));
        } else {
          check(s, next);
        }
        copy.set(next);
      }
    }
  }

  /** If commits do not wait, those before a checkpoint are durable. */
  private void check(Session s, ChangesCopy copy) {
    if (s.options.durability() == Durability.ASYNC) {
      s.db().checkpoint();
    }
    try {
      caughtUp(s, copy);
    } catch (ChangesLostException e) {
      if (s.options.log().changeRetentionBytes() > LITTLE) {
        throw e; // each opening begins a segment: many openings exceed a small retention
      }
      copy.begin(s.db());
      LOST.increment();
      caughtUp(s, copy);
    }
  }

  private void caughtUp(Session s, ChangesCopy copy) {
    if (beside) {
      copy.checkFiles(s.db(), s.disk);
    } else {
      copy.check(s.db());
    }
  }

  /** Takes some batches and leaves the rest for later, unless tables were loaded. */
  private void follow(Session s, ChangesCopy copy, int n) {
    if (beside) {
      if (copy.followFiles(s.disk, n)) {
        copy.begin(s.db());
      }
      return;
    }
    try (Changes changes = s.db().changes(copy.position)) {
      for (int i = 0; i < n; i++) {
        ChangeBatch batch = changes.poll(Duration.ZERO);
        if (batch == null) {
          break;
        }
        if (copy.take(batch)) {
          copy.begin(s.db());
          return;
        }
      }
    }
  }

  /**
   * Follows the files left by a crash before they are opened. Recovery must not undo any of it.
   *
   * @return whether the copy must start over: a table was loaded, or changes are lost
   */
  private static boolean left(SimDisk disk, Options options, ChangesCopy copy, Random random) {
    try {
      return copy.followFiles(disk, random.nextBoolean() ? Integer.MAX_VALUE : random.nextInt(4));
    } catch (ChangesLostException e) {
      if (options.log().changeRetentionBytes() > LITTLE) {
        throw e;
      }
      LOST.increment();
      return true;
    }
  }

  /** Crashes, perhaps again during recovery. */
  private Session crash(
      Cut cut, Random random, Options options, AtomicReference<ChangesCopy> copy) {
    SimDisk disk = cut.disk.crash(HOWS.get(random.nextInt(HOWS.size())));
    List<State> candidates = cut.session.states(new Session.Bounds(cut.acked, cut.session.begun()));
    ChangesCopy taken = cut.copy.copy();
    if (random.nextInt(3) == 0) {
      List<SimDisk> recovery = new ArrayList<>();
      SimDisk first = disk;
      first.onOperation(
          n -> {
            SimDisk now = first.copy();
            synchronized (recovery) {
              recovery.add(now);
            }
          });
      Session again = new Session(first, options, false, candidates.getLast());
      again.open();
      again.abandon();
      disk =
          recovery
              .get(random.nextInt(recovery.size()))
              .crash(HOWS.get(random.nextInt(HOWS.size())));
    }
    boolean anew = beside && left(disk, options, taken, random);
    Session s = new Session(disk, options, false, candidates.getLast());
    s.open();
    if (anew) {
      taken.begin(s.db());
    }
    check(s, taken);
    s.rebase(candidates.get(Session.match(s.db(), candidates)));
    // Following again from the same position yields the same changes.
    ChangesCopy twice = cut.copy.copy();
    check(s, twice);
    assertEquals(taken.tables, twice.tables);
    if (random.nextInt(4) == 0) {
      s.close();
      s.open();
      ChangesCopy closed = cut.copy.copy();
      check(s, closed);
    }
    assertTrue(SimDatabase.held(s.db()).isEmpty());
    copy.set(taken);
    return s;
  }
}
