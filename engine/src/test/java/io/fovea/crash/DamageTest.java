package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.VerifyReport;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Flips bits of a database's files. The answer must be right, or a {@link CorruptionException}.
 *
 * <p><b>Not distinguishable from a crash:</b> damage in the last group of the log looks like a torn
 * write: the log ends before it. So the newest commits may be missing, only after damage there, and
 * only from a database that was not closed. A later valid group proves that everything before it
 * was written.
 *
 * <p><b>Not detectable:</b> an old version of a page, put back in its place, has a valid checksum,
 * page id and LSN. It goes unnoticed where it does not contradict its neighbors.
 *
 * <p>{@code -Dcrash.flips=N}: bits of each kind of location; a large number tries all of them.
 */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Execution(ExecutionMode.CONCURRENT)
class DamageTest {
  private static final int FLIPS = Integer.getInteger("crash.flips", 8);
  private static final int PAGE = 4096;

  private record Base(String name, SimDisk disk, State state, State before) {}

  private static Base base(boolean clean) {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    s.steps(new Generator(CrashTest.SEED, 64, true, true), 60);
    Step last =
        new Step.Transact(
            List.of(new Step.Put("bytes", new State.Pk(1, "last"), Step.bytes(500, 77))), true);
    s.step(new Step.Checkpoint());
    s.steps(new Generator(CrashTest.SEED + 1, 64, false, false), 10);
    State before = s.state();
    s.step(last);
    State state = s.state();
    if (clean) {
      s.close();
    } else {
      s.abandon();
    }
    return new Base(clean ? "closed" : "killed", disk.crash(SimCrash.KEEP_ALL), state, before);
  }

  private final Map<String, Integer> outcomes = new TreeMap<>();

  /** Opens and reads damaged files. */
  private void look(Base base, SimDisk disk, boolean lastMayBeLost, String what) {
    Session s = new Session(disk, Session.small(), false, base.state);
    String outcome;
    try {
      s.open();
      VerifyReport report = s.db().verify();
      outcome = report.ok() ? "harmless" : "reported by verify";
      State found = State.read(s.db(), base.state, base.state.trees());
      if (!base.state.equals(found)) {
        if (!lastMayBeLost || !base.before.equals(found) || !report.ok()) {
          throw new AssertionError(
              "a wrong answer"
                  + (report.ok() ? "" : ", though " + report)
                  + (found == null ? "" : State.difference(base.state, found)));
        }
        outcome = "treated as the end of the log";
      }
      s.close();
    } catch (CorruptionException | IncompatibleFormatException e) {
      outcome = e.getClass().getSimpleName();
      s.abandon();
    } catch (Throwable e) {
      s.abandon();
      throw new AssertionError(
          base.name + " files, seed " + CrashTest.SEED + ", " + what + ": " + e, e);
    }
    outcomes.merge(outcome, 1, Integer::sum);
  }

  private static int type(SimDisk disk, long page) {
    return disk.peek("db", page * PAGE + PageHeader.TYPE, 1)[0];
  }

  private static boolean zero(byte[] bytes) {
    for (byte b : bytes) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  /** Flips all bits of a part of a file, or a sample. */
  private void flip(Base base, String file, long from, int bytes, int times, Random r) {
    boolean all = times >= bytes * 8;
    for (int i = 0; i < (all ? bytes * 8 : times); i++) {
      int bit = all ? i : r.nextInt(bytes * 8);
      SimDisk disk = base.disk.copy();
      disk.flip(file, from + bit / 8, bit % 8);
      boolean log = file.equals("db.log") && base.name.equals("killed");
      look(base, disk, log, "bit " + bit % 8 + " of byte " + (from + bit / 8) + " of " + file);
    }
  }

  private void flips(boolean clean) {
    Base base = base(clean);
    Random r = new Random(CrashTest.SEED);
    for (int pid = 0; pid < 2; pid++) {
      flip(base, "db", (long) pid * PAGE, 200, FLIPS * 4, r);
      flip(base, "db", (long) pid * PAGE + 200, PAGE - 200, FLIPS / 4, r);
    }
    for (String file : List.of("db.log", "db.dwb")) {
      if (!base.disk.exists(file)) {
        continue;
      }
      List<Long> blocks = new ArrayList<>();
      long size = base.disk.device(file).size();
      for (long at = 0; at < size; at += PAGE) {
        if (!zero(base.disk.peek(file, at, PAGE))) {
          blocks.add(at);
        }
      }
      for (long at : blocks) {
        // A block begins with a header, where damage matters most.
        flip(base, file, at, 64, Math.max(2, FLIPS * 4 / blocks.size()), r);
        flip(base, file, at + 64, PAGE - 64, Math.max(1, FLIPS / blocks.size()), r);
      }
    }
    Map<Integer, List<Long>> byType = new TreeMap<>();
    long pages = base.disk.device("db").size() / PAGE;
    for (long pid = 2; pid < pages; pid++) {
      byType.computeIfAbsent(type(base.disk, pid), k -> new ArrayList<>()).add(pid);
    }
    for (List<Long> pids : byType.values()) {
      long one = pids.get(r.nextInt(pids.size()));
      flip(base, "db", one * PAGE, PAGE, FLIPS, r);
      for (int i = 0; i < FLIPS / 4; i++) {
        long any = pids.get(r.nextInt(pids.size()));
        flip(base, "db", any * PAGE, PAGE, 1, r);
      }
    }
    SoakReport.line(
        "DamageTest." + base.name,
        "seed "
            + CrashTest.SEED
            + ", bits flipped: "
            + outcomes
            + ", page types "
            + byType.keySet());
    assertTrue(outcomes.getOrDefault("CorruptionException", 0) > 0);
  }

  @Test
  void flippedBitsOfAClosedDatabase() {
    flips(true);
  }

  @Test
  void flippedBitsOfAKilledDatabase() {
    flips(false);
  }

  @Test
  void swappedPages() {
    for (boolean clean : new boolean[] {true, false}) {
      Base base = base(clean);
      Random r = new Random(CrashTest.SEED);
      long pages = base.disk.device("db").size() / PAGE;
      for (int i = 0; i < FLIPS / 2; i++) {
        long a = r.nextLong(pages) * PAGE;
        long b =
            r.nextInt(4) == 0 ? r.nextLong(pages) * PAGE : Math.min(pages - 1, a / PAGE + 1) * PAGE;
        SimDisk disk = base.disk.copy();
        byte[] bytes = disk.peek("db", a, PAGE);
        disk.poke("db", a, disk.peek("db", b, PAGE));
        disk.poke("db", b, bytes);
        look(base, disk, false, "pages " + a / PAGE + " and " + b / PAGE + " swapped");
      }
    }
    SoakReport.line("DamageTest.swappedPages", outcomes.toString());
  }

  /**
   * Restores an old version of a page. Only crashes, endless loops and untyped errors are failures.
   */
  @Test
  void stalePage() {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    s.steps(new Generator(CrashTest.SEED, 64, true, true), 80);
    s.step(new Step.Checkpoint());
    SimDisk old = disk.copy();
    s.steps(new Generator(CrashTest.SEED + 5, 64, true, true), 80);
    s.close();
    Random r = new Random(CrashTest.SEED);
    long pages = Math.min(old.device("db").size(), disk.device("db").size()) / PAGE;
    for (int i = 0; i < FLIPS; i++) {
      long pid = 2 + r.nextLong(pages - 2);
      byte[] was = old.peek("db", pid * PAGE, PAGE);
      SimDisk mixed = disk.copy();
      mixed.poke("db", pid * PAGE, was);
      outcomes.merge(anything(mixed, s.state(), "page " + pid), 1, Integer::sum);
    }
    SoakReport.line("DamageTest.stalePage", outcomes.toString());
  }

  private static String anything(SimDisk disk, State expected, String what) {
    Session s = new Session(disk, Session.small(), false, expected);
    try {
      s.open();
      boolean ok = s.db().verify().ok();
      String found;
      try {
        found =
            expected.equals(State.read(s.db(), expected, expected.trees()))
                ? "harmless"
                : "wrong data";
      } catch (AssertionError e) {
        found = "an index and its table differ";
      }
      s.close();
      return found + (ok ? "" : ", reported by verify");
    } catch (CorruptionException e) {
      s.abandon();
      return "CorruptionException";
    } catch (Throwable e) {
      s.abandon();
      throw new AssertionError("seed " + CrashTest.SEED + ", " + what + ": " + e, e);
    }
  }
}
