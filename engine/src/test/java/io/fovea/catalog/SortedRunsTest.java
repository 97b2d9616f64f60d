package io.fovea.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.StorageException;
import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Memory and file of a sort that ends early. */
class SortedRunsTest {
  private static final int RECORDS = 3000;
  private static final int VALUE = 100;

  private final SimDisk disk = new SimDisk(1);
  private final SortFile file = new SortFile(new SimStorage(disk), 0, new LoadCounters());
  private final SortedRuns runs = new SortedRuns(64 << 10, file, () -> {});

  /** In descending order, so that each run must be sorted. */
  private static void fill(SortedRuns to, int records) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment record = arena.allocate(8 + VALUE, 8);
      for (int i = 0; i < records; i++) {
        Mem.putLongBE(record, 0, RECORDS - i);
        to.add(record, 0, 8, record, 8, VALUE);
      }
    }
  }

  /** A run cannot be read while others are open: the constructor must close them. */
  @Test
  void aFailedMergeHoldsNoMemory() {
    RecordingStorage storage = new RecordingStorage();
    try (SortFile noted = new SortFile(storage, 0, new LoadCounters());
        SortedRuns some = new SortedRuns(64 << 10, noted, () -> {})) {
      fill(some, RECORDS);
      assertThrows(StorageException.class, some::merged);
      assertEquals(RecordingStorage.READS, storage.buffers.size());
      for (MemorySegment buffer : storage.buffers) {
        assertFalse(buffer.scope().isAlive());
      }
    }
  }

  /** Has one file, records the destinations of reads, and fails the third. */
  private static final class RecordingStorage extends AbstractBlockDevice implements Storage {
    static final int READS = 3;

    final List<MemorySegment> buffers = new ArrayList<>();
    private final MemoryDevice below = new MemoryDevice();

    RecordingStorage() {
      super("noting", 4096);
    }

    @Override
    protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
      buffers.add(seg);
      if (buffers.size() == READS) {
        return 5; // EIO
      }
      below.read(offset, seg, segOff, len);
      return 0;
    }

    @Override
    protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
      below.write(offset, seg, segOff, len);
      return 0;
    }

    @Override
    protected int syncNow() {
      return 0;
    }

    @Override
    protected int resizeNow(long bytes) {
      below.resize(bytes);
      return 0;
    }

    @Override
    protected void closeNow() {
      below.close();
    }

    @Override
    public long size() {
      return below.size();
    }

    @Override
    public String kind() {
      return "noting";
    }

    @Override
    public BlockDevice open(String suffix) {
      return this;
    }

    @Override
    public boolean exists(String suffix) {
      return false; // created on first use
    }

    @Override
    public void delete(String suffix) {}
  }

  @Test
  void aClosedMergeIsNotRead() {
    fill(runs, RECORDS);
    SortedRuns.Merged merged = runs.merged();
    assertTrue(merged.next());
    merged.close();
    assertThrows(AssertionError.class, merged::next);
    runs.close();
    file.close();
  }

  @Test
  void noRecordIsReadAfterTheSorterIsClosed() {
    fill(runs, 10);
    SortedRuns.Merged merged = runs.merged();
    assertTrue(merged.next());
    runs.close();
    assertThrows(AssertionError.class, merged::next, "a partial result would look complete");
    file.close();
  }

  /** Another load may be using a file with that name by then. */
  @Test
  void aClosedFileIsNotRecreated() {
    fill(runs, RECORDS);
    assertTrue(disk.exists("db.load0"));
    file.close();
    assertFalse(disk.exists("db.load0"));
    assertThrows(IllegalStateException.class, () -> fill(runs, RECORDS));
    assertFalse(disk.exists("db.load0"));
    runs.close();
  }
}
