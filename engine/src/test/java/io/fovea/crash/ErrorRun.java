package io.fovea.crash;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.VerifyReport;
import io.fovea.config.Protocol;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.support.SimDisk;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Random steps, each with an error at a call site that never failed before; loaded by {@link
 * ErrorWeaver}.
 *
 * <p>After an error the database continues, holds no latch or lock, and has the contents before or
 * after the step. Or it reports that it has stopped, can be closed, and has one of these contents
 * when it is reopened.
 */
public final class ErrorRun implements Supplier<String> {
  /** The maximum number of steps until a page is moved. */
  private static final int STEPS_MAX = 3_000;

  /** After this many steps without an error, all reachable call sites count as tried. */
  private static final int QUIET = Integer.getInteger("crash.errors.quiet", 40);

  /** How many lines of preceding steps a failure reports. */
  private static final int RECENT_MAX = 60;

  private static final int LINE_MAX = 150;

  private static final int FAILURES_MAX = 20;

  private final Protocol protocol;
  private final long seed;
  private final int stride;
  private final int salt;
  private final boolean commits;

  /** Pages moved in earlier runs of the same classes. */
  private final long movedBefore = Step.Compact.MOVED.get();

  private final Map<String, Integer> outcomes = new TreeMap<>();
  private Session s;
  private SimDisk disk;
  private int errors;
  private volatile String last = "";

  /** The last steps and the outcomes of their errors. */
  private final List<String> recent = Collections.synchronizedList(new ArrayList<>());

  private final List<AssertionError> failures = new ArrayList<>();

  /**
   * Takes the arguments, separated by spaces.
   *
   * @param arguments protocol, seed, stride over call sites, and offset; one more word selects
   *     {@link #commits}
   */
  public ErrorRun(String arguments) {
    String[] a = arguments.split(" ");
    protocol = Protocol.valueOf(a[0]);
    seed = Long.parseLong(a[1]);
    stride = Integer.parseInt(a[2]);
    salt = Integer.parseInt(a[3]);
    commits = a.length > 4;
    disk = new SimDisk(seed);
    s = new Session(disk, options(), false, new State());
  }

  private Options options() {
    return Session.small().experiments(exp -> exp.protocol(protocol));
  }

  /** Describes the current step, for the report of a hang. */
  @Override
  public String toString() {
    return last
        + "; "
        + (s.isOpen() ? SimDatabase.stuck(s.db()) : "not open")
        + "; before "
        + recent;
  }

  /** Runs the steps; returns what was tried. */
  @Override
  public String get() {
    return commits ? commits() : steps();
  }

  private String steps() {
    begin();
    long next = seed;
    Generator g = new Generator(next, 48, true, true);
    int steps = 0;
    // Few compactions move a page: continue until one does.
    for (int quiet = 0; quiet < QUIET || moved() == 0 && steps < STEPS_MAX; steps++) {
      if (steps % 60 == 59) {
        g = new Generator(++next, 48, true, true);
        s.check();
      }
      quiet = step(g.next(s.state(), steps, 16)) ? 0 : quiet + 1;
    }
    s.check();
    s.close();
    report();
    if (moved() == 0) {
      throw new AssertionError("no page was moved");
    }
    return errors
        + " errors in "
        + steps
        + " steps, under a latch or a lock "
        + ErrorProbe.passed()
        + " calls: "
        + outcomes
        + ", pages moved "
        + moved();
  }

  private long moved() {
    return Step.Compact.MOVED.get() - movedBefore;
  }

  /**
   * Makes transactions of one context fail at any call site, mostly at the end of their commits.
   * Each is followed by a transaction of another kind without an error, which would show state that
   * the first left in the context.
   */
  private String commits() {
    begin();
    int steps = 0;
    for (int quiet = 0; quiet < 3; steps++) {
      quiet = step(put("wide", "long", 9_000, steps, "variable", "short", 40)) ? 0 : quiet + 1;
      s.step(put("variable", "first", 60, steps, "wide", "second", 30));
      VerifyReport report = s.db().verify();
      if (!report.ok()) {
        throw new AssertionError(recent + ": " + report.problems());
      }
    }
    s.check();
    s.close();
    report();
    return errors + " errors in " + steps + " commits: " + outcomes;
  }

  /** Returns a step that puts two records, one of whose values may be long. */
  private static Step put(
      String table, String name, int length, int n, String other, String otherName, int small) {
    return new Step.Transact(
        List.of(
            new Step.Put(table, new State.Pk(1, name), value(length, n)),
            new Step.Put(other, new State.Pk(2, otherName), value(small, n))),
        true);
  }

  private static State.Value value(int length, int n) {
    return new State.Value(
        n % 10, "t" + n % 20, 10_000_000L + n + length, new State.Blob(length, n), 0);
  }

  /** Opens a database; after some steps, all classes are loaded. */
  private void begin() {
    s.open();
    s.first();
    s.steps(new Generator(seed, 48, true, true), 60);
  }

  private void report() {
    if (!failures.isEmpty()) {
      AssertionError e = failures.getFirst();
      throw new AssertionError(
          failures.size()
              + " of "
              + errors
              + " errors: "
              + String.join("\n", failures.stream().map(Throwable::getMessage).toList()),
          e);
    }
  }

  private void count(String outcome) {
    remember("  " + outcome);
    outcomes.merge(outcome, 1, Integer::sum);
  }

  /** Does a step that may fail; returns whether an error was injected. */
  private boolean step(Step step) {
    last = step.toString();
    remember(last.substring(0, Math.min(last.length(), LINE_MAX)));
    if (step instanceof Step.Reopen || step instanceof Step.Snap) {
      try {
        s.step(step); // without an error
      } catch (SnapshotTooOldException e) {
        count("snapshot evicted"); // an error prevented the copy of a page
      }
      return false;
    }
    State before = s.state();
    Throwable thrown = null;
    String hit;
    ErrorProbe.arm(stride, protocol.ordinal() + salt << 8, commits);
    try {
      s.step(step);
    } catch (Throwable t) {
      thrown = t;
    } finally {
      hit = ErrorProbe.disarm();
    }
    if (hit == null) {
      if (thrown != null) {
        throw new AssertionError(
            "failed without an injected error: "
                + step.getClass().getSimpleName()
                + "; preceding steps: "
                + recent
                + "; verify: "
                + s.db().verify().problems(),
            thrown);
      }
      return false;
    }
    errors++;
    remember("  error before " + hit + ", thrown " + thrown);
    try {
      after(before, thrown);
    } catch (Throwable t) {
      AssertionError e =
          new AssertionError(
              "error "
                  + errors
                  + ", before "
                  + hit
                  + ", in a step "
                  + step.getClass().getSimpleName()
                  + ": "
                  + t.getMessage()
                  + "; preceding steps: "
                  + recent,
              t);
      if (thrown != null) {
        e.addSuppressed(thrown);
      }
      Throwable ours = ErrorProbe.thrown();
      if (ours != null) {
        e.addSuppressed(ours);
      }
      failures.add(e);
      if (failures.size() >= FAILURES_MAX) {
        report();
      }
      s.abandon();
      disk = new SimDisk(seed + errors);
      s = new Session(disk, options(), false, new State());
      begin();
    }
    return true;
  }

  private void after(State before, @Nullable Throwable thrown) {
    Database db = s.db();
    if (stopped(db)) {
      count(thrown == null ? "stopped later" : "stopped");
      String held = SimDatabase.heldLogSpace(db);
      if (!held.isEmpty()) {
        throw new AssertionError("a stopped operation still has " + held);
      }
      reportsTheStop(db);
      reopen();
      return;
    }
    count(thrown == null ? "nothing" : "refused");
    String held = SimDatabase.held(db);
    if (!held.isEmpty()) {
      throw new AssertionError("still held: " + held);
    }
    VerifyReport report = db.verify();
    if (!report.ok()) {
      throw new AssertionError("verify: " + report.problems());
    }
    State after = s.state();
    State live = State.read(db, after, after.trees());
    if (!after.equals(live)) {
      live = State.read(db, before, before.trees());
      if (!before.equals(live)) {
        throw new AssertionError(
            "the database has neither the contents before the step nor those after it: "
                + (live == null ? "" : State.difference(before, live)));
      }
    }
    s.found(live);
  }

  private void remember(String line) {
    recent.add(line);
    if (recent.size() > RECENT_MAX) {
      recent.removeFirst();
    }
  }

  private static boolean stopped(Database db) {
    return db.stats().health() != DatabaseStats.Health.OK;
  }

  private static void reportsTheStop(Database db) {
    for (int i = 0; i < 2; i++) {
      try {
        db.run(tx -> {});
      } catch (DurabilityLostException | DatabaseClosedException e) {
        continue;
      }
      throw new AssertionError("a stopped database began a transaction");
    }
  }

  private void reopen() {
    List<State> states = s.states(new Session.Bounds(s.acked(), s.begun()));
    try {
      s.close();
    } catch (FoveaException e) {
      count("closed with " + e.getClass().getSimpleName());
    }
    s = new Session(disk, options(), false, states.getLast());
    s.open();
    s.rebase(states.get(Session.match(s.db(), states)));
  }
}
