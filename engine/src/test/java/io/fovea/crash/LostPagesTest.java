package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.CompactOptions;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.StorageException;
import io.fovea.io.IoOp;
import io.fovea.support.Sample;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Pages that the device has lost, so that they read as zeros; a sample of all pages, one at a time.
 * Neither a backup nor verify may treat one as a page that was never written.
 */
@Tag("slow")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LostPagesTest {
  private static final int PAGE = PageForger.PAGE;
  private static final Sample SAMPLE = Sample.oneOf(3);
  private static DeepTreeFixture.Base base;
  private static long pages;

  @BeforeAll
  static void make() {
    base = DeepTreeFixture.make(true, CrashTest.SEED);
    Session s = new Session(base.disk().copy(), Session.small(), false, base.state());
    s.open();
    pages = s.db().verify().pages();
    s.abandon();
    assertTrue(pages > 150, "a small database");
  }

  private static SimDisk without(long pid) {
    SimDisk disk = base.disk().copy();
    disk.poke("db", pid * PAGE, new byte[PAGE]);
    return disk;
  }

  private interface Look {
    /**
     * Reads a database; throws the expected exception, or returns whether the loss was detected.
     */
    boolean noticed(Session s) throws Exception;
  }

  /** Tries each page, with and without a log. Without one, nothing changes during the backup. */
  private static void eachPage(Durability durability, Look look) throws Exception {
    Options options = Session.small().durability(durability);
    for (long pid = 2 + SAMPLE.first(); pid < pages; pid += SAMPLE.stride()) {
      Session s = new Session(without(pid), options, false, base.state());
      try {
        s.open();
        assertTrue(look.noticed(s), "page " + pid + ", -Dsample.seed=" + Sample.seed());
      } catch (CorruptionException e) {
        assertEquals(pid, e.pid(), e::toString);
        assertEquals(pid * PAGE, e.fileOffset(), e::toString);
      } finally {
        s.abandon();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SYNC", "NONE"})
  void backupFails(Durability durability) throws Exception {
    eachPage(
        durability,
        s -> {
          s.db().backup(OutputStream.nullOutputStream());
          return false;
        });
  }

  /** Compaction walks the file by page id; it must not reinitialize a lost page. */
  @Test
  void compactionHidesNoLostPage() throws Exception {
    eachPage(
        Durability.SYNC,
        s -> {
          s.db().compact(CompactOptions.defaults());
          return !s.db().verify().ok();
        });
  }

  @Test
  void verifyDetectsLostPages() throws Exception {
    eachPage(Durability.SYNC, s -> !s.db().verify().ok());
  }

  /** A read that fails hides pages from verify, which must not call them lost. */
  @Test
  void aFailedReadIsTheOnlyProblem() throws Exception {
    int reads = 0;
    for (int n = 1 + SAMPLE.first(); ; n += SAMPLE.stride()) {
      SimDisk disk = base.disk().copy();
      Session s = new Session(disk, Session.small(), false, base.state());
      s.open();
      try {
        disk.fail(SimFault.once(n).of(IoOp.READ));
        List<String> problems = s.db().verify().problems();
        if (disk.faultsHit() == 0) {
          break;
        }
        reads++;
        assertFalse(problems.isEmpty(), "read " + n);
        for (String problem : problems) {
          assertTrue(problem.contains(" failed: "), () -> "problems " + problems);
        }
      } catch (StorageException e) {
        reads++; // a read of the catalog
      } finally {
        s.abandon();
      }
    }
    assertTrue(reads > 10, reads + " reads failed");
  }

  /** Allocated pages that were not written yet also read as zeros, and are no damage. */
  @Test
  void unwrittenPagesAreNoDamage() throws Exception {
    for (Durability durability : new Durability[] {Durability.SYNC, Durability.NONE}) {
      // A pool that never evicts.
      Options options = Session.small().durability(durability).bufferBytes(8 << 20);
      SimDisk disk = new SimDisk(CrashTest.SEED);
      Session s = new Session(disk, options, false, new State());
      s.open();
      s.first();
      for (int i = 0; i < 8; i++) {
        s.steps(new Generator(CrashTest.SEED + i, 64, true, false), 20);
        assertFalse(s.db().backup(OutputStream.nullOutputStream()).pages() < 3);
      }
      s.check();
      s.close();
      SimDatabase.open(new SimStorage(disk), options).close();
    }
  }
}
