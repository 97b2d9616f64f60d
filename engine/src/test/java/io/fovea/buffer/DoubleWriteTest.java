package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoOp;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.support.Records;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * With the double-write area every page is old or new after a crash at any point; without it pages
 * are torn.
 */
@Timeout(120)
class DoubleWriteTest {
  private static final String DATA = "data";
  private static final String AREA = "area";
  private static final int PAGE = 4096;
  private static final int PAGES = 14;
  private static final int ROUNDS = 12;

  /** A pool on a simulated disk whose pages are changed and written, without a log. */
  private static final class Workload {
    final SimDisk disk;
    final Versions data;
    final boolean area;
    final Random random;
    long version = 1;

    Workload(long seed, boolean area) {
      this.disk = new SimDisk(seed);
      this.data = new Versions(disk.device(DATA), PAGE);
      this.area = area;
      this.random = new Random(seed);
    }

    private BufferPool open(AllocatorState state) {
      return new BufferPool(
          data,
          Records.with(
              PoolConfig.ofFrames(PAGE, 64, Translation.PREDICTIVE), "exhaustedMillis", 100L),
          state,
          PoolLog.NONE,
          area ? new DoubleWrite(disk.device(AREA), PAGE, 1) : null);
    }

    /** Creates the file with all its pages, durably. */
    BufferPool begin() {
      BufferPool pool = open(AllocatorState.EMPTY);
      for (int i = 0; i < PAGES; i++) {
        int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
        Versions.fill(pool.pages(), pool.base(frame), PAGE, version);
        pool.releaseExclusive(frame);
      }
      pool.flushAll();
      return pool;
    }

    /** Changes some pages and writes them without requesting a sync. */
    void round(BufferPool pool) {
      version++;
      for (long pid = 3; pid < 3 + PAGES; pid++) {
        if (random.nextInt(3) == 0) {
          int frame = pool.fixExclusive(pid);
          Versions.fill(pool.pages(), pool.base(frame), PAGE, version);
          pool.markDirty(frame);
          pool.releaseExclusive(frame);
        }
      }
      writeDirty(pool);
    }
  }

  private static void writeDirty(BufferPool pool) {
    WriteBack writeBack = pool.writeBack;
    writeBack.begin();
    try {
      for (int frame = 0; frame < pool.frames(); frame++) {
        if (FrameHeader.isDirty(pool.frames.headers, frame) && !writeBack.isFull()) {
          writeBack.add(pool.pid(frame), frame);
        }
      }
      writeBack.write(true);
    } finally {
      writeBack.end();
    }
  }

  private static DoubleWrite.Restored restore(SimDisk disk) {
    return DoubleWrite.restore(disk.device(AREA), disk.device(DATA), PAGE);
  }

  /** Returns what is wrong with a page, or null if it has one of the allowed versions. */
  private static @Nullable String wrong(SimDisk after, Workload work, long pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment page = arena.allocate(PAGE, PAGE);
      after.device(DATA).read(pid * PAGE, page, 0, PAGE);
      if (!PageHeader.isValid(page, 0, PAGE, pid)) {
        return "page " + pid + " is torn";
      }
      long found = Mem.getLong(page, PageHeader.BYTES);
      long least = work.data.synced.getOrDefault(pid, 0L);
      // Not necessarily the newest version written in place: a good copy may be newer.
      long most = work.version;
      return found >= least && found <= most
          ? null
          : "page " + pid + " is of " + found + ", not of " + least + " to " + most;
    }
  }

  private static @Nullable String wrong(SimDisk after, Workload work) {
    for (long pid = 3; pid < 3 + PAGES; pid++) {
      String wrong = wrong(after, work, pid);
      if (wrong != null) {
        return wrong;
      }
    }
    return null;
  }

  /**
   * Runs a workload with a crash before each operation; returns the first fault found after one, or
   * null.
   */
  private static @Nullable String crashEverywhere(long seed, boolean area, long failingWrite) {
    Workload work = new Workload(seed, area);
    BufferPool pool = work.begin();
    AtomicReference<String> wrong = new AtomicReference<>();
    Random nested = new Random(seed);
    work.disk.onOperation(
        n -> {
          SimDisk after = work.disk.crash(SimCrash.RANDOM);
          if (area) {
            if (nested.nextInt(4) == 0) {
              // The power fails again while the pages are restored.
              after.powerOffAt(after.operations() + 1 + nested.nextInt(20));
              try {
                restore(after);
              } catch (StorageException e) {
                // The power is off.
              }
              after = after.crash(SimCrash.RANDOM);
            }
            restore(after);
            after = after.crash(SimCrash.LOSE_ALL);
          }
          String found = wrong(after, work);
          if (found != null) {
            wrong.compareAndSet(null, "seed " + seed + ", operation " + n + ": " + found);
          }
        });
    if (failingWrite > 0) {
      work.disk.fail(SimFault.once(failingWrite).of(IoOp.WRITE));
    }
    for (int i = 0; i < ROUNDS; i++) {
      work.round(pool);
    }
    work.disk.onOperation(n -> {});
    pool.abandon();
    return wrong.get();
  }

  @Tag("slow")
  @Test
  void everyPageIsOldOrNew() {
    for (long seed = 0; seed < 20; seed++) {
      assertEquals(null, crashEverywhere(seed, true, 0));
    }
  }

  @Tag("slow")
  @Test
  void everyPageIsOldOrNewAfterFailedWrites() {
    for (long write = 1; write < 40; write++) {
      assertEquals(null, crashEverywhere(1000 + write, true, write), "write " + write + " fails");
    }
  }

  @Test
  void withoutTheAreaPagesAreTorn() {
    boolean torn = false;
    for (long seed = 0; seed < 5 && !torn; seed++) {
      String wrong = crashEverywhere(seed, false, 0);
      torn = wrong != null && wrong.contains("torn");
    }
    assertTrue(torn, "otherwise the test above proves nothing");
  }

  /** Each operation of the workload fails in turn: no page is lost, and exceptions are typed. */
  @Test
  void anyOperationMayFail() {
    for (IoOp op : new IoOp[] {IoOp.WRITE, IoOp.SYNC}) {
      for (long n = 1; ; n++) {
        Workload work = new Workload(n, true);
        BufferPool pool = work.begin();
        long before = work.disk.faultsHit();
        work.disk.fail(SimFault.once(n).of(op));
        for (int i = 0; i < ROUNDS; i++) {
          work.round(pool);
        }
        boolean hit = work.disk.faultsHit() > before;
        if (hit && op == IoOp.SYNC) {
          work.round(pool);
          assertTrue(pool.writeBack.failure() instanceof FoveaException, "a failed sync is final");
          assertThrows(FoveaException.class, pool::flushAll);
          pool.abandon();
        } else {
          work.disk.heal();
          pool.flushAll();
          for (long pid = 3; pid < 3 + PAGES; pid++) {
            assertEquals(work.data.written.get(pid), Pools.word(pool, pid));
          }
          pool.close();
          assertEquals(null, wrong(work.disk.crash(SimCrash.LOSE_ALL), work));
        }
        if (!hit) {
          break;
        }
      }
    }
  }

  /** The copy that protects a page whose write failed stays until the page is written. */
  @Test
  void failedPageWriteIsRetriedFirst() {
    Workload work = new Workload(7, true);
    BufferPool pool = work.begin();
    // The first write of a round goes to the area, the second in place.
    work.disk.fail(new SimFault(IoOp.WRITE, 2, true, SimFault.Effect.ERROR, 5));
    work.round(pool);
    assertTrue(pool.writeBack.failure() instanceof StorageException);
    long transfers = work.disk.operations();
    work.round(pool);
    assertTrue(pool.writeBack.failure() instanceof StorageException);
    assertTrue(work.disk.operations() > transfers, "the write was retried");
    SimDisk after = work.disk.crash(SimCrash.RANDOM);
    restore(after);
    assertEquals(null, wrong(after, work));
    work.disk.heal();
    work.round(pool);
    assertEquals(null, pool.writeBack.failure());
    pool.close();
  }

  @Test
  void aFailedSyncIsFinalAndTheLogIsNotified() {
    for (String file : new String[] {DATA, AREA}) {
      SimDisk disk = new SimDisk(3);
      AtomicReference<Throwable> told = new AtomicReference<>();
      PoolLog log =
          new PoolLog() {
            @Override
            public long durableLsn() {
              return Long.MAX_VALUE;
            }

            @Override
            public void fail(Throwable reason) {
              told.set(reason);
            }
          };
      BufferPool pool =
          new BufferPool(
              disk.device(DATA),
              PoolConfig.ofFrames(PAGE, 64, Translation.PREDICTIVE),
              AllocatorState.EMPTY,
              log,
              new DoubleWrite(disk.device(AREA), PAGE, 1));
      Pools.page(pool);
      // Of the two syncs of a flush the first covers the area.
      disk.fail(SimFault.once(file.equals(AREA) ? 1 : 2).of(IoOp.SYNC));
      assertThrows(StorageException.class, pool::flushAll);
      assertTrue(told.get() instanceof StorageException);
      Pools.page(pool);
      assertThrows(DurabilityLostException.class, pool::flushAll);
      if (file.equals(DATA)) {
        assertThrows(DurabilityLostException.class, pool.checkpoint()::sync);
      }
      pool.abandon();
    }
  }

  /**
   * Pages are whole in the page cache, but a failed sync has left them torn on the device. The next
   * opening voids their copies, so it must write the pages again.
   */
  @Test
  void pagesOfAFailedSyncAreWrittenAgain() {
    for (long seed = 0; seed < 20; seed++) {
      Workload work = new Workload(seed, true);
      BufferPool pool = work.begin();
      work.round(pool);
      work.disk.fail(SimFault.once(1).of(IoOp.SYNC));
      assertThrows(StorageException.class, () -> work.data.sync());
      work.disk.heal();
      pool.abandon();
      long next = restore(work.disk).nextBatch();
      new DoubleWrite(work.disk.device(AREA), PAGE, next);
      for (int i = 0; i < 10; i++) {
        assertEquals(null, wrong(work.disk.crash(SimCrash.RANDOM), work), "seed " + seed);
      }
    }
  }

  @Test
  void outdatedCopiesAreIgnored() {
    Workload work = new Workload(11, true);
    BufferPool pool = work.begin();
    work.round(pool);
    pool.close();
    // Reopened: earlier copies are void, whatever number the next batch has.
    new DoubleWrite(work.disk.device(AREA), PAGE, 1);
    work.disk.flip(DATA, 5 * PAGE + 700, 3);
    DoubleWrite.Restored restored = restore(work.disk);
    assertEquals(new DoubleWrite.Restored(0, 0, 1), restored);
  }

  @Test
  void restoresNewestCopyOrAnOlderOneIfItIsTorn() {
    Workload work = new Workload(12, true);
    BufferPool pool = work.begin();
    long batch = -1;
    for (int i = 0; i < 2; i++) {
      int frame = pool.fixExclusive(5);
      Versions.fill(pool.pages(), pool.base(frame), PAGE, 100 + i);
      pool.markDirty(frame);
      pool.releaseExclusive(frame);
      writeDirty(pool);
      batch = restore(work.disk.copy()).nextBatch() - 1;
    }
    pool.abandon();
    work.disk.flip(DATA, 5 * PAGE + 700, 3);
    SimDisk second = work.disk.copy();
    assertEquals(new DoubleWrite.Restored(2, 1, batch + 1), restore(work.disk));
    assertEquals(101, word(work.disk, 5));
    long area = (batch & 1) * (4096 + 256L * PAGE);
    second.flip(AREA, area + 4096 + 900, 1);
    assertEquals(new DoubleWrite.Restored(2, 1, batch + 1), restore(second));
    assertEquals(100, word(second, 5));
    assertEquals(0, restore(second).pagesRestored(), "a second restore has nothing to do");
  }

  private static long word(SimDisk disk, long pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment page = arena.allocate(PAGE, PAGE);
      disk.device(DATA).read(pid * PAGE, page, 0, PAGE);
      assertTrue(PageHeader.isValid(page, 0, PAGE, pid));
      return Mem.getLong(page, PageHeader.BYTES);
    }
  }

  /**
   * Any bytes in the area: restore terminates, changes no whole page, and throws typed exceptions.
   */
  @Test
  void anythingMayBeInTheArea() {
    SplittableRandom random = new SplittableRandom(21);
    Workload work = new Workload(21, true);
    BufferPool pool = work.begin();
    work.round(pool);
    work.round(pool);
    pool.close();
    for (int i = 0; i < 400; i++) {
      SimDisk disk = work.disk.copy();
      for (int k = random.nextInt(1, 6); k > 0; k--) {
        long area = random.nextInt(2) * (4096 + 256L * PAGE);
        disk.flip(AREA, area + random.nextInt(k % 2 == 0 ? 40 : 9000), random.nextInt(8));
      }
      restore(disk);
      assertEquals(null, wrong(disk, work));
    }
    // Even with a valid checksum the numbers may be wrong.
    for (long pid : new long[] {-1, 0, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE, 3 + PAGES}) {
      SimDisk disk = work.disk.copy();
      forge(disk, 1, 5, PAGE, pid);
      assertEquals(1, restore(disk).nextBatch() - 5);
      assertEquals(null, wrong(disk, work));
    }
    for (int count : new int[] {0, -1, 257, Integer.MAX_VALUE}) {
      SimDisk disk = work.disk.copy();
      forge(disk, count, 5, PAGE, 3);
      assertTrue(restore(disk).nextBatch() < 6);
    }
    for (long batch : new long[] {0, -1, 6, Long.MAX_VALUE}) {
      SimDisk disk = work.disk.copy();
      forge(disk, 1, batch, PAGE, 3);
      assertFalse(restore(disk).nextBatch() < 0);
    }
    SimDisk disk = work.disk.copy();
    forge(disk, 1, 5, 8192, 3);
    assertThrows(CorruptionException.class, () -> restore(disk));
  }

  /** Writes a header with a valid checksum to area 1. */
  private static void forge(SimDisk disk, int count, long batch, int pageSize, long pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment header = arena.allocate(4096, 4096);
      long at = 4096 + 256L * PAGE;
      BlockDevice device = disk.device(AREA);
      device.read(at, header, 0, 4096);
      Mem.putLong(header, 0, 0x31_42_57_44_56_4F_46L);
      Mem.putInt(header, 12, count);
      Mem.putLong(header, 16, batch);
      Mem.putInt(header, 24, pageSize);
      Mem.putLong(header, 32, pid);
      Mem.putInt(header, 8, io.fovea.memory.Checksum.crc32c(header, 12, 4096 - 12));
      device.write(at, header, 0, 4096);
    }
  }

  @Test
  void emptyAreaIsAccepted() {
    SimDisk disk = new SimDisk(1);
    assertEquals(new DoubleWrite.Restored(0, 0, 1), restore(disk));
  }

  @Test
  void openingReportsWhatIsWrong() {
    SimDisk disk = new SimDisk(1);
    disk.capacity(1 << 20);
    assertThrows(StorageFullException.class, () -> new DoubleWrite(disk.device(AREA), PAGE, 1));
    assertThrows(InvalidUseException.class, () -> new DoubleWrite(disk.device(AREA), PAGE, 0));
    DoubleWrite other = new DoubleWrite(new MemoryDevice(), 8192, 1);
    PoolConfig config = PoolConfig.ofFrames(PAGE, 64, Translation.PREDICTIVE);
    assertThrows(
        InvalidUseException.class,
        () ->
            new BufferPool(new MemoryDevice(), config, AllocatorState.EMPTY, PoolLog.NONE, other));
  }

  /** A large pool writes batches of 256 pages, each a single transfer to the area. */
  @Test
  void largeBatches() {
    TestDevice data = new TestDevice();
    TestDevice area = new TestDevice();
    PoolConfig config = PoolConfig.ofFrames(PAGE, 4096, Translation.PREDICTIVE);
    DoubleWrite copies = new DoubleWrite(area, PAGE, 1);
    area.transfers.set(0);
    area.syncs.set(0);
    BufferPool pool = new BufferPool(data, config, AllocatorState.EMPTY, PoolLog.NONE, copies);
    for (int i = 0; i < 1024; i++) {
      Pools.page(pool);
    }
    pool.flushAll();
    assertEquals(4, area.transfers.get());
    assertEquals(4, area.syncs.get());
    assertEquals(2, data.syncs.get(), "one sync for two batches, and one at the end");
    pool.close();
  }
}
