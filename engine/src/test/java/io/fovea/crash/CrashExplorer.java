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
 * Cuts the power at every disk operation and checks what is recovered.
 *
 * <pre>
 *   workload  ─op 1─op 2─op 3─ ... ─op n─►      a snapshot of the disk before each operation
 *                    │
 *                 crash: some of the unsynced writes, torn, in any order
 *                    │
 *                    ▼
 *   recovery  ─op 1─op 2─ ... ─► an allowed state? verified? then some more work,
 *                    │           a clean close, and another opening
 *                 crash
 *                    ▼
 *   recovery of the recovery, and so on
 * </pre>
 *
 * <p><b>Exactness.</b> A workload of one thread has one state after each step. The recovered state
 * must be one of those from the last that was acknowledged when the snapshot was taken to the last
 * that had begun. A repeated recovery must reach the same state as the first.
 *
 * <p><b>Distinct</b> states are counted by the bytes of all files. A known crash state is not
 * recovered again; its result is checked against the states allowed here.
 *
 * <p>The engine's threads make the order of a checkpoint's writes among commits' vary between two
 * runs with one seed. A failure therefore saves the files of the crash: {@code
 * -Dcrash.files=FOLDER} opens them again.
 */
final class CrashExplorer {
  /** A crash that led to a wrong state. */
  static final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    Violation(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** The disk before one of its operations, and the states that it may hold. */
  private record Snapshot(SimDisk disk, long operation, int acked, int begun) {}

  /**
   * A kind of power failure.
   *
   * @param crash the fate of each change
   * @param but the file all of whose changes survive, or null
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

  /** The number of crashes of each snapshot. */
  private int crashes = 3;

  /** How many operations of a recovery are cut, by depth; the first number is unused. */
  private int[] cuts = {0};

  /** One of this many recoveries is cut itself. */
  private int nestEvery = 1;

  private long enough = Long.MAX_VALUE;

  /** The state to which each crash state of the workload, by fingerprint, was recovered. */
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

  /** Writes pages without waiting for the log. */
  CrashExplorer pageBeforeLog() {
    pageBeforeLog = true;
    return this;
  }

  /** Does not save files: the test expects a violation. */
  CrashExplorer expectViolation() {
    expectViolation = true;
    return this;
  }

  /** Prepares the workload's disk, after the tables were created. */
  CrashExplorer prepare(Consumer<SimDisk> with) {
    prepare = with;
    return this;
  }

  /** Makes the disk write pages atomically. */
  CrashExplorer withoutTearing() {
    hows = HOWS.stream().map(How::withoutTearing).distinct().toList();
    return this;
  }

  /** Compacts the database every few steps. */
  CrashExplorer compacting() {
    compacts = true;
    return this;
  }

  /** Compacts with long values, without moving pages. */
  CrashExplorer punching() {
    moves = false;
    return movingLong();
  }

  /** Compacts with long values, and moves them. */
  CrashExplorer movingLong() {
    wide = true;
    return compacting();
  }

  CrashExplorer crashes(int n) {
    crashes = n;
    return this;
  }

  /**
   * Cuts recoveries.
   *
   * @param every one of this many recoveries is cut
   * @param operations how many of its operations are cut; then those of recoveries of it, and so on
   */
  CrashExplorer nest(int every, int... operations) {
    nestEvery = every;
    cuts = new int[operations.length + 1];
    System.arraycopy(operations, 0, cuts, 1, operations.length);
    return this;
  }

  /** Stops after this many distinct states. */
  CrashExplorer enough(long states) {
    enough = states;
    return this;
  }

  /** Makes rows expire, with {@link Session#timed}. */
  CrashExplorer expiring() {
    timed = true;
    return this;
  }

  private Generator generator(long from) {
    Generator g = new Generator(from);
    return timed ? g.timed() : g;
  }

  /** Returns the number of distinct crash states that were recovered. */
  long distinct() {
    return distinctAt.stream().mapToLong(Integer::longValue).sum();
  }

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

  /** Runs a workload, and cuts the power at every operation. */
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
   * Returns the snapshots to try: all, or an even sample if fewer states are wanted. If any
   * violation is wanted, in random order, since it may be a late one.
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
    // Copy first: recovery changes the disk.
    SimDisk kept = crashed.copy();
    try {
      long print = crashed.fingerprint();
      List<State> candidates = s.states(bounds);
      State known = seen.get(print);
      if (known != null) {
        // The clock advances even if no byte changes.
        long now = Math.max(known.now, candidates.getLast().now);
        State then = known.at(now);
        if (candidates.stream().noneMatch(c -> then.equals(c.at(now)))) {
          throw new AssertionError("The same bytes were recovered to a different state before.");
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

  /** Requires known record counts; {@link Session#match} verifies that they are right. */
  private static void requireCounts(Session s) {
    String unknown = SimDatabase.uncounted(s.db());
    if (!unknown.isEmpty()) {
      throw new AssertionError("Record counts are unknown for" + unknown);
    }
  }

  /** Recovers the database; returns the index of the state that was found. */
  private int recover(SimDisk disk, List<State> before, int depth, String path) {
    // Rows expire while the power is off.
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
      requireCounts(s); // before a query computes them
      found = Session.match(s.db(), candidates);
      // Later cuts have only this state as their origin.
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

  /** Varies options that a user may change between two openings. */
  private Options vary(boolean nest) {
    if (random.nextInt(3) > 0) {
      return options;
    }
    int twice = random.nextInt(2);
    Translation[] kinds = Translation.values();
    Translation any = Session.possible(kinds[random.nextInt(kinds.length)]);
    // These translations give every page its own frame, which excludes a shared buffer.
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
      // Not if another crash may follow, which these options do not survive.
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
