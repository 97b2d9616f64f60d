package io.fovea.crash;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.VerifyReport;
import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.config.Translation;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.support.SetClock;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * A database on a simulated disk, and its expected state.
 *
 * <pre>
 *   history   S0  S1  S2  S3  S4          the state after each step
 *                 ▲           ▲
 *               acked       begun         a crash leaves one of acked .. begun
 * </pre>
 *
 * <p>One thread does the steps. The engine's I/O threads may read the {@link Bounds} at any time.
 */
final class Session {
  /**
   * Held strongly, since a collected logger loses its level. Thousands of databases log openings.
   */
  private static final Logger QUIET = Logger.getLogger("io.fovea");

  static {
    quiet();
  }

  static void quiet() {
    QUIET.setLevel(Level.SEVERE);
  }

  /** The range of states that a crash may leave. */
  record Bounds(int acked, int begun) {}

  final SimDisk disk;
  Options options;
  final boolean pageBeforeLog;

  /** The state after each step; append-only except for the first. Guarded by this list. */
  private final List<State> history = new ArrayList<>();

  private volatile int acked;
  private volatile int begun;
  @Nullable Database db;

  /** An open snapshot, and what the database held when it was opened. */
  private @Nullable Database snapshot;

  private State atSnapshot;

  Session(SimDisk disk, Options options, boolean pageBeforeLog, State state) {
    this.disk = disk;
    this.options = options;
    this.pageBeforeLog = pageBeforeLog;
    this.atSnapshot = state;
    history.add(state);
  }

  /** Returns the smallest accepted sizes, so that everything happens often. */
  static Options small() {
    return Options.defaults()
        .durability(Durability.SYNC)
        .bufferBytes(400_000)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(txs -> txs.maxActive(2))
        .experiments(exp -> exp.subtreeDeleteThreshold(1))
        .snapshots(snaps -> snaps.bufferBytes(700_000).memoryBytes(64 << 10))
        .log(
            log ->
                log.maxBytes(256 << 10)
                    .bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .checkpointInterval(java.time.Duration.ZERO))
        .transactions(txs -> txs.leakDetection(LeakDetection.OFF));
  }

  static Options small(Translation kind) {
    return under(kind, small());
  }

  /**
   * Returns options with another translation, and a larger buffer if it must hold the whole file.
   *
   * @param options with an unshared buffer
   */
  static Options under(Translation kind, Options options) {
    return options
        .experiments(exp -> exp.translation(kind))
        .bufferBytes(options.bufferBytes() + (kind == Translation.DIRECT ? 32 << 20 : 0));
  }

  /**
   * Returns the default translation for even numbers, and each of the translations in turn for odd
   * ones.
   */
  static Translation mostlyDefault(long n) {
    Translation[] kinds = Translation.values();
    return (n & 1) == 0
        ? Options.defaults().experiments().translation()
        : possible(kinds[(int) Math.floorMod(n >> 1, (long) kinds.length)]);
  }

  /** Returns the translation, or the default if the JVM denies what it needs. */
  static Translation possible(Translation kind) {
    return kind == Translation.VIRTUAL && !Mem.isRaw() ? Translation.PREDICTIVE : kind;
  }

  /** Returns options with a clock that the steps set, and without background sweeps. */
  static Options timed() {
    SetClock clock = new SetClock(State.EXPIRES_AFTER);
    return small().expiry(e -> e.clock(clock).sweepInterval(java.time.Duration.ZERO));
  }

  /** Read before the disk is copied; {@code begun} is read after it. */
  int acked() {
    return acked;
  }

  int begun() {
    return begun;
  }

  State state(int i) {
    synchronized (history) {
      return history.get(i);
    }
  }

  /** Returns the states of a range, inclusive. */
  List<State> states(Bounds bounds) {
    synchronized (history) {
      return List.copyOf(history.subList(bounds.acked, bounds.begun + 1));
    }
  }

  /** Replaces the initial state by the one that was found at opening. */
  void rebase(State found) {
    synchronized (history) {
      if (history.size() != 1) {
        throw new IllegalStateException("steps were done");
      }
      history.set(0, found);
    }
  }

  /** Sets the state after the last step, whose outcome was unknown. */
  void found(State live) {
    synchronized (history) {
      history.set(begun, live);
    }
  }

  /** Returns the state that is expected if no step fails. */
  State state() {
    return state(begun);
  }

  void open() {
    SimStorage storage = new SimStorage(disk);
    if (options.expiry().clock() instanceof SetClock clock) {
      clock.set(state().now);
    }
    db =
        pageBeforeLog
            ? SimDatabase.openPageBeforeLog(storage, options)
            : SimDatabase.open(storage, options);
  }

  boolean isOpen() {
    return db != null;
  }

  Database db() {
    Database d = db;
    if (d == null) {
      throw new IllegalStateException("not open");
    }
    return d;
  }

  void close() {
    Database d = db();
    db = null;
    snapshot = null; // closes with the database
    d.close();
    acked = begun;
  }

  /** Leaves the files as a kill would. */
  void abandon() {
    Database d = db;
    db = null;
    snapshot = null;
    if (d != null) {
      SimDatabase.abandon(d);
    }
  }

  /** Does a step. If it throws, its outcome is unknown. */
  void step(Step step) {
    if (step instanceof Step.Reopen) {
      close();
      open();
      return;
    }
    if (step instanceof Step.Snap) {
      snap();
      return;
    }
    State before = state();
    State after = before;
    State working = before.copy();
    step.apply(working);
    if (!working.equals(before) || working.now != before.now) {
      after = working;
    }
    synchronized (history) {
      history.add(after);
    }
    begun++;
    step.run(db(), before.copy());
    if (options.durability() == Durability.SYNC || step instanceof Step.Checkpoint) {
      acked = begun;
    }
  }

  /** Opens a snapshot, or compares the open one with the state at its opening. */
  private void snap() {
    Database then = snapshot;
    if (then == null) {
      atSnapshot = state();
      snapshot = db().snapshot();
      return;
    }
    snapshot = null;
    try (then) {
      new Step.Look().run(then, atSnapshot.copy());
    }
  }

  void first() {
    Generator.first().forEach(this::step);
  }

  /** Does the first steps, on a disk that may fail. */
  void firstWithFaults(Predicate<Throwable> carryOn) {
    for (Step step : Generator.first()) {
      // later steps need the table, which a fault may have undone: repeat
      for (int i = 0; i < 3 && db != null && !state().tables.containsKey(table(step)); i++) {
        stepWithFaults(step, carryOn);
      }
    }
  }

  private static String table(Step step) {
    return ((Step.CreateTable) step).table();
  }

  /**
   * Does a step that may fail. After a failure the database must hold the state before the step or
   * the one after it; which one it holds determines the outcome.
   *
   * @param carryOn gets the exception; returns whether the database should still be usable. If not,
   *     it is closed or abandoned, and the outcome of the step stays unknown
   */
  void stepWithFaults(Step step, Predicate<Throwable> carryOn) {
    State before = state();
    try {
      step(step);
      return;
    } catch (FoveaException e) {
      if (!carryOn.test(e) || db == null || step instanceof Step.Reopen) {
        giveUp(carryOn);
        return;
      }
    }
    State after = state();
    try {
      State live = State.read(db(), after, after.trees());
      if (!after.equals(live)) {
        live = State.read(db(), before, before.trees());
        if (!before.equals(live)) {
          throw new AssertionError(
              "After a failure the database holds neither the state before the step nor the one after it: "
                  + step
                  + (live == null ? "" : State.difference(before, live)));
        }
      }
      synchronized (history) {
        history.set(begun, live);
      }
    } catch (FoveaException e) {
      carryOn.test(e);
      giveUp(carryOn);
    }
  }

  private void giveUp(Predicate<Throwable> carryOn) {
    if (db != null) {
      int known = acked;
      try {
        close();
      } catch (FoveaException e) {
        carryOn.test(e);
      }
      acked = known; // the outcome of the last step stays unknown, even after a close
    }
  }

  void steps(Generator generator, int n) {
    for (int i = 0; i < n; i++) {
      step(generator.next(state()));
    }
  }

  /**
   * Verifies an open database and finds out which of some states it holds.
   *
   * @return the index of the state
   * @throws AssertionError if it holds none of them, or is damaged
   */
  static int match(Database db, List<State> candidates) {
    VerifyReport report = db.verify();
    if (!report.ok()) {
      throw new AssertionError("verify: " + report);
    }
    State nearest = null;
    for (int i = candidates.size() - 1; i >= 0; i--) {
      State found = State.read(db, candidates.get(i), report.trees());
      if (candidates.get(i).equals(found)) {
        return i;
      }
      nearest = nearest == null ? found : nearest;
    }
    State last = candidates.getLast();
    throw new AssertionError(
        "The database holds none of "
            + candidates.size()
            + " states: "
            + (nearest == null
                ? "tables " + db.tables() + " and " + report.trees() + " trees, not " + last.tables
                : State.difference(last, nearest)));
  }

  /** Compares the open database with its expected state. */
  void check() {
    match(db(), List.of(state()));
  }
}
