package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.BackupReport;
import io.fovea.Database;
import io.fovea.Restore;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Incremental backups of a database with all kinds of changes, crashes and reopenings. Each
 * restored chain must equal the state at its last backup.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class BackupChainTest {
  private static final int BACKUPS = 8;
  private static final int STEPS = 25;

  /** A backup, the index of its base (-1: full backup), and the state that it must restore. */
  private record Taken(byte[] archive, BackupReport report, int since, State state) {
    BackupPosition position() {
      return Objects.requireNonNull(report.position());
    }
  }

  @TempDir Path dir;

  private static Taken take(Database db, List<Taken> before, int since, State state) {
    BackupOptions how = BackupOptions.defaults();
    if (since >= 0) {
      how = how.since(before.get(since).position());
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BackupReport report = db.backup(out, how);
    return new Taken(out.toByteArray(), report, since, state.copy());
  }

  /** Restores the chain that ends with a backup, and compares it with that backup's state. */
  private void check(List<Taken> all, int last, Random r) {
    // Each may be restored on top of any backup from its base up to its predecessor.
    List<Integer> chain = new ArrayList<>(List.of(last));
    for (int at = last; all.get(at).since >= 0; ) {
      int since = all.get(at).since;
      at = since + r.nextInt(at - since);
      chain.addFirst(at);
    }
    Restore restore = Restore.from(new ByteArrayInputStream(all.get(chain.get(0)).archive));
    for (int i : chain.subList(1, chain.size())) {
      restore = restore.then(new ByteArrayInputStream(all.get(i).archive));
    }
    Path file = dir.resolve("restored" + System.nanoTime());
    try {
      assertTrue(restore.to(file, Session.small()).ok());
      try (Database db = Database.open(file, Session.small().create(false))) {
        Session.match(db, List.of(all.get(last).state));
      }
    } catch (Throwable e) {
      throw new AssertionError("chain " + chain + " of " + all.size() + " backups", e);
    }
  }

  /** Opens a copy of the disk as a power failure or a kill leaves it. */
  private static Session crashed(Session s, SimCrash how) {
    List<State> states = s.states(new Session.Bounds(s.acked(), s.begun()));
    SimDisk left = s.disk.crash(how);
    s.abandon();
    Session next = new Session(left, s.options, false, states.getLast());
    next.open();
    next.rebase(states.get(Session.match(next.db(), states)));
    return next;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void everyChainRestoresItsLastState(long seed) {
    long mine = seed + 100 * CrashTest.SEED;
    Random r = new Random(mine);
    Session s = new Session(new SimDisk(mine), Session.small(), false, new State());
    List<Taken> all = new ArrayList<>();
    Database snapshot = null;
    try {
      s.open();
      s.first();
      Generator g = new Generator(mine);
      for (int i = 0; i < BACKUPS; i++) {
        for (int n = r.nextInt(STEPS); n > 0; n--) {
          s.step(g.next(s.state(), n, 8, seed % 2 == 0, n % 16 < 8)); // holes, or moves
        }
        switch (r.nextInt(5)) {
          case 0 -> s = crashed(s, SimCrash.RANDOM);
          case 1 -> s = crashed(s, SimCrash.KEEP_ALL); // a kill
          case 2 -> s.step(new Step.Reopen());
          case 3 -> snapshot = s.db().snapshot(); // closed with the database
          default -> s.step(new Step.Checkpoint());
        }
        s.steps(g, r.nextInt(3));
        all.add(take(s.db(), all, i == 0 || i == 5 ? -1 : r.nextInt(i), s.state()));
      }
      s.close();
    } catch (Throwable e) {
      s.abandon();
      throw new AssertionError("seed " + mine, e);
    }
    assertTrue(snapshot == null || !snapshot.isOpen());
    try {
      for (int i = 0; i < all.size(); i++) {
        check(all, i, r);
      }
    } catch (AssertionError e) {
      throw new AssertionError("seed " + mine, e);
    }
  }

  /**
   * Disk operation n fails during an incremental backup. The backup either completes, or fails and
   * has no end marker. The database either continues, or reports that its log failed.
   */
  @Test
  void everyFailedOperationFailsTheBackupOrNothing() {
    SimDisk disk = new SimDisk(CrashTest.SEED);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    Generator g = new Generator(CrashTest.SEED, 48, false, false);
    s.steps(g, 60);
    List<Taken> all = new ArrayList<>(List.of(take(s.db(), List.of(), -1, s.state())));
    s.close();
    Random r = new Random(CrashTest.SEED);
    int failed = 0;
    boolean hit = true;
    for (long n = 1; hit; n += 1 + n / 8) {
      s = new Session(disk, s.options, false, s.state());
      s.open();
      s.steps(g, 4);
      long before = disk.faultsHit();
      disk.fail(SimFault.once(n));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      Taken taken = null;
      try {
        BackupReport report =
            s.db().backup(out, BackupOptions.defaults().since(all.getLast().position()));
        taken = new Taken(out.toByteArray(), report, all.size() - 1, s.state().copy());
      } catch (StorageException | DurabilityLostException e) {
        failed++;
      }
      hit = disk.faultsHit() > before;
      disk.heal();
      if (taken == null) {
        byte[] part = out.toByteArray();
        assertFails(all, part);
      } else {
        all.add(taken);
        check(all, all.size() - 1, r);
      }
      State state = s.state();
      try {
        s.close();
      } catch (FoveaException e) {
        s.abandon(); // a sync failed: the next opening recovers
      }
      s = new Session(disk, s.options, false, state);
    }
    assertTrue(failed > 3, "faults that ended a backup: " + failed);
  }

  private void assertFails(List<Taken> all, byte[] part) {
    Restore restore =
        Restore.from(new ByteArrayInputStream(all.getFirst().archive))
            .then(new ByteArrayInputStream(part));
    Path file = dir.resolve("none");
    try {
      restore.to(file, Session.small());
    } catch (FoveaException e) {
      assertTrue(!file.toFile().exists());
      return;
    }
    throw new AssertionError("A backup that failed was restored.");
  }
}
