package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.FoveaException;
import io.fovea.support.Pauses;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Disk operation k fails, for a sample of k. Acknowledged records must be present afterwards: on
 * the same machine, after a power failure, and after the next opening and another power failure.
 * The disk pauses, so that operations of the writer and the segment creator interleave.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class LogFaultsTest {
  private static final int RECORDS = 20;
  private static final int PAUSE = 16;
  private static final Sample SAMPLE = Sample.oneOf(4);

  private final List<byte[]> acknowledged = new ArrayList<>();
  private long incarnation;
  private long redo;
  private boolean inUse;

  /** Runs two openings with all operations of a log; stops at the first failure. */
  private void script(SimDisk disk) {
    acknowledged.clear();
    incarnation = 0;
    redo = Log.FIRST_LSN;
    inUse = false;
    long end = Log.FIRST_LSN;
    for (int opening = 0; opening < 3; opening++) {
      try (Log log =
          Log.open(disk.device("log"), Logs.TINY, Logs.start(++incarnation, end, redo))) {
        inUse = true;
        LogSession session = log.session();
        for (int i = 0; i < RECORDS; i++) {
          byte[] body = Logs.body(acknowledged.size(), 2000);
          end = Logs.append(session, body);
          log.awaitDurable(end);
          acknowledged.add(body);
          if (i % 8 == 7) {
            redo = end;
            acknowledged.clear();
            log.recycleBelow(redo);
          }
        }
      }
      end = Logs.end(disk.device("log"), redo);
    }
  }

  private void check(SimDisk disk, String what) {
    if (!inUse) {
      return; // the database was never created
    }
    List<Logs.Read> all = Logs.readAll(disk.device("log"), redo);
    assertTrue(all.size() > acknowledged.size(), what + ": lost");
    assertTrue(all.size() <= acknowledged.size() + 2, what + ": more than was appended");
    for (int i = 0; i < acknowledged.size(); i++) {
      assertArrayEquals(acknowledged.get(i), all.get(i).body(), what);
    }
    // The next opening treats what it finds as durable.
    SimDisk copy = disk.copy();
    long end = all.getLast().end();
    Log.open(copy.device("log"), Logs.TINY, Logs.start(incarnation + 1, end, redo)).abandon();
    SimDisk after = copy.crash(SimCrash.LOSE_ALL);
    List<Logs.Read> again = Logs.readAll(after.device("log"), redo);
    assertEquals(all.size(), again.size(), what);
    for (int i = 0; i < all.size(); i++) {
      assertEquals(all.get(i).start(), again.get(i).start(), what);
      assertArrayEquals(all.get(i).body(), again.get(i).body(), what);
    }
  }

  private void strike(SimDisk disk, String what) {
    try {
      script(disk);
    } catch (FoveaException expected) {
      // expected; only what was acknowledged before counts
    }
    SimDisk lost = disk.crash(SimCrash.LOSE_ALL);
    SimDisk some = disk.crash(SimCrash.RANDOM);
    disk.heal();
    check(disk, what + ", same machine");
    check(lost, what + ", power lost");
    check(some, what + ", power lost, torn");
  }

  @Test
  void everyOperationMayFail() {
    for (int k = 1 + SAMPLE.first(); ; k += SAMPLE.stride()) {
      SimDisk disk = new SimDisk(k);
      disk.onOperation(new Pauses(PAUSE));
      disk.fail(SimFault.once(k));
      strike(disk, "operation " + k + " failed");
      if (disk.faultsHit() == 0) {
        assertTrue(k > 100, "only " + k + " operations");
        return;
      }
    }
  }

  @Test
  void powerMayFailAtEveryOperation() {
    for (int k = 1 + SAMPLE.first(); ; k += SAMPLE.stride()) {
      SimDisk disk = new SimDisk(k);
      disk.onOperation(new Pauses(PAUSE));
      disk.powerOffAt(k);
      strike(disk, "power off at operation " + k);
      if (disk.faultsHit() == 0) {
        return;
      }
    }
  }
}
