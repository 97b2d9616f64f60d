package io.fovea.crash;

import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.crash.Session.Bounds;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Cuts the power wherever it can be cut, and looks at what is found when it is back.
 *
 * <pre>
 *   workload  ─op 1─op 2─op 3─ ... ─op n─►      a snapshot of the disk before each operation
 *                    │
 *                 crash: some of the unsynced writes, torn, in any order
 *                    │
 *                    ▼
 *   recovery  ─op 1─op 2─ ... ─► one of the states that it may be? in order? then some more work,
 *                    │           a clean close, and open again
 *                 crash
 *                    ▼
 *   recovery of the recovery, and so on
 * </pre>
 *
 * <p><b>What is exact.</b> A workload of one thread has one state after each step. What is found
 * must be one of those from the last that was acknowledged when the snapshot was taken to the last
 * that had been begun. A recovery that is cut must, when it is done again, come to the very state
 * that the first would have come to: what is in the log is in the log.
 *
 * <p><b>Distinct</b> states are counted by the bytes of all files. A state that was met before is
 * not recovered again; that it led to a state that is allowed here as well is checked.
 *
 * <p>The engine's threads write at their own pace, so that two runs with one seed differ in the
 * order of a checkpoint's writes among commits'. So a failure saves the files of the crash: {@code
 * -Dcrash.files=FOLDER} opens them again.
 */
final class CrashExplorer {
  /** Where a crash led to a wrong state. */
  static final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    Violation(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** The disk as it was before one of its operations, and what it may hold. */
  private record Snapshot(SimDisk disk, long operation, int acked, int begun) {}

  /**
   * How the power fails.
   *
   * @param crash what becomes of each change
   * @param but of this file all of them survive; null for none
   */
  private record How(SimCrash crash, @Nullable String but) {
    SimDisk of(SimDisk disk) {
      return but == null ? disk.crash(crash) : disk.crashBut(but);
    }

    How withoutTearing() {
      return new How(new SimCrash(crash.keep(), false, crash.reorder()), but);
    }

    @Override
    public String toString() {
      return crash.keep()
          + (crash.tear() ? " torn" : "")
          + (crash.reorder() ? " reordered" : "")
          + (but == null ? "" : " but " + but);
    }
  }

  private static final List<How> HOWS =
      List.of(
          new How(SimCrash.LOSE_ALL, null),
          new How(SimCrash.LOSE_ALL, "db"),
          new How(SimCrash.RANDOM, null),
          new How(SimCrash.KEEP_ALL, null),
          new How(new SimCrash(0.9, true, true), null),
          new How(new SimCrash(0.5, false, true), null),
          new How(new SimCrash(0.15, true, true), null),
          new How(new SimCrash(0.9, true, false), null));

  private final long seed;
  private final Options options;
  private final Random random;
  private boolean pageBeforeLog;
  private boolean expectViolation;
  private boolean compacts;
  private boolean timed;
  private boolean wide;
  private boolean moves = true;
  private Consumer<SimDisk> prepare = disk -> {};

  private List<How> hows = HOWS;

  /** How many crashes of each snapshot. */
  private int crashes = 3;

  /** How many operations of a recovery, at each depth, are cut; the first number is unused. */
  private int[] cuts = {0};

  /** Of how many recoveries one is cut itself. */
  private int nestEvery = 1;

  private long enough = Long.MAX_VALUE;

  /** From the fingerprints of the workload's crash states to what they were recovered to. */
  private Map<Long, State> seen = new HashMap<>();

  private final Set<Long> counted = new HashSet<>();

  private final List<Integer> distinctAt = new ArrayList<>();
  private long points;
  private long tried;
  private long sessions;

  CrashExplorer(long seed, Options options) {
    this.seed = seed;
    this.options = options;
    this.random = new Random(seed);
  }

  /** Pages are written without waiting for the log. */
  CrashExplorer pageBeforeLog() {
    pageBeforeLog = true;
    return this;
  }

  /** A violation is what the test hopes for: nothing is saved. */
  CrashExplorer expectViolation() {
    expectViolation = true;
    return this;
  }

  /** Does something to the workload's disk, when the tables are made. */
  CrashExplorer prepare(Consumer<SimDisk> with) {
    prepare = with;
    return this;
  }

  /** The disk writes pages as a whole, or not at all. */
  CrashExplorer withoutTearing() {
    hows = HOWS.stream().map(How::withoutTearing).distinct().toList();
    return this;
  }

  /** Every few steps the database is compacted. */
  CrashExplorer compacting() {
    compacts = true;
    return this;
  }

  /** The same, with long values, and they stay where they are. */
  CrashExplorer punching() {
    moves = false;
    return movingLong();
  }

  /** The same, with long values. */
  CrashExplorer movingLong() {
    wide = true;
    return compacting();
  }

  /** How many crashes there are of each snapshot. */
  CrashExplorer crashes(int n) {
    crashes = n;
    return this;
  }

  /**
   * Cuts recoveries.
   *
   * @param every of how many recoveries one is cut
   * @param operations at how many of its operations, and of the recoveries after that, and so on
   */
  CrashExplorer nest(int every, int... operations) {
    nestEvery = every;
    cuts = new int[operations.length + 1];
    System.arraycopy(operations, 0, cuts, 1, operations.length);
    return this;
  }

  /** Stops when so many distinct states were recovered. */
  CrashExplorer enough(long states) {
    enough = states;
    return this;
  }

  /** Rows expire, with {@link Session#timed}. */
  CrashExplorer expiring() {
    timed = true;
    return this;
  }

  private Generator generator(long from) {
    Generator g = new Generator(from);
    return timed ? g.timed() : g;
  }

  /** How many distinct crash states were recovered. */
  long distinct() {
    return distinctAt.stream().mapToLong(Integer::longValue).sum();
  }

  /** What was done, in words. */
  @Override
  public String toString() {
    return distinct()
        + " distinct crash states recovered exactly (by depth "
        + distinctAt
        + "), from "
        + points
        + " operations of "
        + sessions
        + " workloads and recoveries, "
        + tried
        + " crashes";
  }

  // --------------------------------------------------------------------------------------
  // exploring

  /** A workload of some steps, cut at every operation. */
  void workload(int steps) {
    long mySeed = random.nextLong();
    SimDisk disk = new SimDisk(mySeed);
    Session s = new Session(disk, options, pageBeforeLog, new State());
    List<Snapshot> snapshots = new ArrayList<>();
    watch(s, snapshots);
    sessions++;
    try {
      s.open();
      s.first();
      s.step(new Step.Checkpoint());
      prepare.accept(disk);
      Generator g = generator(mySeed);
      for (int i = 0; i < steps; i++) {
        s.step(compacts ? g.next(s.state(), i, 6, wide, moves) : g.next(s.state()));
      }
      s.close();
    } catch (Throwable e) {
      s.abandon();
      throw new Violation("The workload itself failed: " + about(), e);
    }
    disk.onOperation(n -> {});
    seen = new HashMap<>();
    explore(s, chosen(snapshots), crashes, 0, "");
  }

  /**
   * All of them; where fewer states are wanted, as many from one end to the other; where any
   * violation is, in no order: it may be a late one.
   */
  private List<Snapshot> chosen(List<Snapshot> all) {
    List<Snapshot> chosen = new ArrayList<>(all);
    if (expectViolation) {
      Collections.shuffle(chosen, random);
    }
    long wanted = enough - distinct();
    if (wanted > 0 && wanted < (long) all.size() * crashes) {
      Sample sample = Sample.oneOf((int) Math.min(all.size(), all.size() * crashes / wanted));
      chosen.clear();
      for (int i = sample.first(); i < all.size(); i += sample.stride()) {
        chosen.add(all.get(i));
      }
    }
    return chosen;
  }

  private static void watch(Session s, List<Snapshot> snapshots) {
    s.disk.onOperation(
        n -> {
          int acked = s.acked();
          SimDisk copy = s.disk.copy();
          Snapshot snapshot = new Snapshot(copy, n, acked, s.begun());
          synchronized (snapshots) {
            snapshots.add(snapshot);
          }
        });
  }

  private void explore(Session s, List<Snapshot> snapshots, int times, int depth, String path) {
    for (Snapshot snapshot : snapshots) {
      points++;
      for (int k = 0; k < times && distinct() < enough; k++) {
        How how = hows.get(times < 3 || k >= hows.size() ? random.nextInt(hows.size()) : k);
        tried++;
        SimDisk crashed = how.of(snapshot.disk);
        Bounds bounds = new Bounds(snapshot.acked, snapshot.begun);
        String here = path + (path.isEmpty() ? "" : " > ") + snapshot.operation + " " + how;
        crashed(s, crashed, bounds, depth, here);
      }
    }
  }

  private void crashed(Session s, SimDisk crashed, Bounds bounds, int depth, String path) {
    // Before anything is recovered: that takes the disk with it.
    SimDisk kept = crashed.copy();
    try {
      long print = crashed.fingerprint();
      List<State> candidates = s.states(bounds);
      State known = seen.get(print);
      if (known != null) {
        // The clock goes on where no byte changes.
        long now = Math.max(known.now, candidates.getLast().now);
        State then = known.at(now);
        if (candidates.stream().noneMatch(c -> then.equals(c.at(now)))) {
          throw new AssertionError("The same bytes were recovered to another state before.");
        }
        return;
      }
      seen.put(print, candidates.get(recover(crashed, candidates, depth, path)));
      if (counted.add(print)) {
        while (distinctAt.size() <= depth) {
          distinctAt.add(0);
        }
        distinctAt.set(depth, distinctAt.get(depth) + 1);
      }
    } catch (Violation e) {
      throw e;
    } catch (Throwable e) {
      throw new Violation(
          "After a crash before operation "
              + path
              + ", which may leave states "
              + bounds.acked()
              + " to "
              + bounds.begun()
              + ": "
              + e
              + "\n  "
              + about()
              + (expectViolation ? "" : saved(kept)),
          e);
    }
  }

  /** That counts are right is what {@link Session#match} verifies; they must be known, too. */
  private static void requireCounts(Session s) {
    String unknown = SimDatabase.uncounted(s.db());
    if (!unknown.isEmpty()) {
      throw new AssertionError("Nobody knows how many records there are in" + unknown);
    }
  }

  /** Recovers; returns which of some states was found. */
  private int recover(SimDisk disk, List<State> before, int depth, String path) {
    // The power is away for a while, in which rows expire.
    long now = before.getLast().now + (timed ? random.nextInt(1 << 12) : 0);
    List<State> candidates = before.stream().map(c -> c.at(now)).toList();
    boolean nest = depth + 1 < cuts.length && (depth > 0 || random.nextInt(nestEvery) == 0);
    List<Snapshot> snapshots = new ArrayList<>();
    sessions++;
    Session s = new Session(disk, vary(nest), false, candidates.getLast());
    if (nest) {
      watch(s, snapshots);
    }
    int found;
    try {
      s.open();
      requireCounts(s); // before anybody asks, and then those are what was read
      found = Session.match(s.db(), candidates);
      // Whatever was cut up to here, there is only one state that it can have come from.
      s.rebase(candidates.get(found));
      s.steps(generator(random.nextLong()), 1 + random.nextInt(5));
      s.close();
      s.options = vary(nest);
      s.open();
      requireCounts(s);
      s.check();
      s.close();
    } catch (Throwable e) {
      s.abandon();
      throw e;
    }
    disk.onOperation(n -> {});
    if (nest) {
      explore(s, sample(snapshots, cuts[depth + 1]), 1, depth + 1, path);
    }
    return found;
  }

  /** What a user may change between two openings. */
  private Options vary(boolean nest) {
    if (random.nextInt(3) > 0) {
      return options;
    }
    int twice = random.nextInt(2);
    Translation[] kinds = Translation.values();
    Translation any = Session.possible(kinds[random.nextInt(kinds.length)]);
    // Every page has its own frame there, which no share can give to others.
    boolean own = any.compareTo(Translation.VIRTUAL) >= 0 && options.bufferShare() != null;
    boolean all = !own && any == Translation.DIRECT;
    Options o =
        options
            .experiments(exp -> exp.translation(own ? Translation.PREDICTIVE : any))
            .bufferBytes(
                options.bufferBytes() + random.nextInt(2) * 1_000_000 + (all ? 32 << 20 : 0))
            .log(
                log ->
                    log.segmentBytes(options.log().segmentBytes() << twice)
                        .maxBytes(options.log().maxBytes() << twice));
    if (random.nextInt(3) == 0) {
      o =
          o.log(
              log ->
                  log.bufferBytes(2 * options.log().bufferBytes())
                      .segmentBytes(4 * options.log().segmentBytes())
                      .maxBytes(4 * options.log().maxBytes()));
    }
    if (!nest) {
      // Not where there is a crash yet to come, which these do not survive.
      o = o.log(log -> log.doubleWrite(random.nextInt(4) > 0));
      if (random.nextInt(8) == 0) {
        o = o.durability(Durability.NONE);
      }
    }
    return o;
  }

  private List<Snapshot> sample(List<Snapshot> all, int n) {
    if (all.size() <= n) {
      return all;
    }
    List<Snapshot> some = new ArrayList<>(all);
    Collections.shuffle(some, random);
    return some.subList(0, n);
  }

  // ----------------------------------------------------------------------------------------
  // failing

  private String about() {
    return "Replay: mvn -pl engine -am test -Dtest=CrashTest -Dcrash.seed=" + seed;
  }

  private static String saved(SimDisk disk) {
    Path folder = Path.of("target", "crash-failures", Long.toHexString(disk.fingerprint()));
    try {
      disk.save(folder);
      return "\n  The files: -Dtest=CrashTest -Dcrash.files=" + folder;
    } catch (IOException e) {
      return "\n  (the files could not be saved: " + e + ")";
    }
  }
}
