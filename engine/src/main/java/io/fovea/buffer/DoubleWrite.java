package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The double-write area: copies of pages that are being written in place.
 *
 * <p>The log contains images of only some pages, so it can't repair a page torn by a write in place
 * (the device writes 512 bytes atomically). So a copy is made durable first.
 *
 * <pre>
 *   batch b:   copies ──► area b mod 2 ──► sync ──► in place          and, before b:
 *                                                                     in place of b - 2 is synced
 *   file:      | header | 256 copies     | header | 256 copies     |
 *              0        4096             A        A + 4096          2 A,  A = 4096 + 256 pages
 *
 *   header:    0       8          12      16      24        28     32         2080       3104       3120
 *              +-------+----------+-------+-------+---------+------+----------+----------+----------+---
 *              | magic | checksum | count | batch | pageSize| zero | 256 pids | 256 sums | database | 0
 *              +-------+----------+-------+-------+---------+------+----------+----------+----------+---
 *              the checksum: of bytes 12 to 4096. Sums: the checksums of the copies
 * </pre>
 *
 * <p><b>After a crash every page is old or new.</b> A page in place can be torn only by a write
 * that no sync covers: one of batch b, in progress, or of b - 1, since the writes in place of b - 2
 * were synced before the area of b was touched, and b - 1 uses the other area. The copies of b - 1
 * are whole, because their area has not been written since its sync. Either the copies of b were
 * durable before a page of b was written in place, or no page of b was. So every torn page has a
 * good copy, and the newest good one is at least as new as the write that tore it. It is never
 * newer than the durable log, because copies follow the same rule as writes.
 *
 * <p><b>A failed write in place</b> leaves a torn page whose copy must be kept: {@link WriteBack}
 * writes the same copies again before anything else, until the device accepts them.
 *
 * <p><b>Restore</b> orders copies by batch numbers, not LSNs, because two batches may contain the
 * same page with the same LSN. It also rewrites pages that read as whole, because a failed sync may
 * have left them torn on the device, and ends with a sync. Opening an area for writing voids its
 * contents. They are also wrong after writes to the file without the area; to turn the area off,
 * remove its file.
 *
 * <p>A failed sync of the area is final. Used by one thread at a time: the owner of a batch.
 *
 * @since 0.1.0
 */
public final class DoubleWrite {
  static final int PAGES_MAX = 256;

  static final int HEADER_BYTES = 4096;

  private static final long MAGIC = 0x31_42_57_44_56_4F_46L; // "FOVDWB1"

  private static final int CHECKSUM = 8;
  private static final int COUNT = 12;
  private static final int BATCH = 16;
  private static final int PAGE_SIZE = 24;
  private static final int PIDS = 32;
  private static final int SUMS = PIDS + 8 * PAGES_MAX;
  private static final int DATABASE = SUMS + 4 * PAGES_MAX;

  /** The owner of an area that does not name one, as written by earlier releases. */
  private static final UUID UNKNOWN = new UUID(0, 0);

  private static final int PAGE_SIZE_MIN = 4096;
  private static final int PAGE_SIZE_MAX = 65536;

  private static final long BATCH_LIMIT = 1L << 62;

  private final BlockDevice device;
  private final int pageSize;
  private final UUID database;
  private long batch;
  private @Nullable Throwable failure;

  /** Opens an area for writing that does not name its owner. */
  public DoubleWrite(BlockDevice device, int pageSize, long firstBatch) {
    this(device, pageSize, firstBatch, UNKNOWN);
  }

  /**
   * Opens an area for writing and voids its contents: {@link #restore} comes first.
   *
   * @param device the file, which the caller owns
   * @param pageSize the size of the pages
   * @param firstBatch the number of the next batch, from {@link Restored}, or 1
   * @param database the owner of the area
   * @throws io.fovea.error.StorageFullException if there is no space for it
   */
  public DoubleWrite(BlockDevice device, int pageSize, long firstBatch, UUID database) {
    if (firstBatch < 1 || firstBatch >= BATCH_LIMIT) {
      throw new InvalidUseException(
          "The number of a batch of the double-write area is out of range: " + firstBatch + ".");
    }
    this.device = device;
    this.pageSize = pageSize;
    this.database = database;
    this.batch = firstBatch;
    if (device.size() < 2 * areaBytes(pageSize)) {
      device.resize(2 * areaBytes(pageSize));
    }
    empty();
    device.sync();
  }

  /**
   * Voids the copies, which requires that the data file is whole and durable without them. Not
   * synced.
   */
  public void empty() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment zeros = arena.allocate(HEADER_BYTES, HEADER_BYTES);
      device.write(0, zeros, 0, HEADER_BYTES);
      device.write(areaBytes(pageSize), zeros, 0, HEADER_BYTES);
    }
  }

  private static long areaBytes(int pageSize) {
    return HEADER_BYTES + (long) PAGES_MAX * pageSize;
  }

  int pageSize() {
    return pageSize;
  }

  long nextBatch() {
    return batch;
  }

  /**
   * Makes copies durable. The writes in place of batch {@code nextBatch() - 2} are durable already.
   *
   * @param buffer sealed pages, beginning at {@link #HEADER_BYTES}; the bytes before them are
   *     overwritten
   * @param count the number of pages
   * @return the batch's number
   */
  long protect(MemorySegment buffer, int count) {
    Throwable earlier = failure;
    if (earlier != null) {
      throw new DurabilityLostException(
          "An earlier sync of the double-write area failed, and later ones can't make up for it.",
          earlier);
    }
    fillHeader(buffer, count);
    long at = (batch & 1) * areaBytes(pageSize);
    // A failed write is harmless: nothing was written in place, and the area is written again.
    device.write(at, buffer, 0, HEADER_BYTES + count * pageSize);
    try {
      device.sync();
    } catch (DatabaseClosedException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      failure = e;
      throw e;
    }
    return batch++;
  }

  boolean failed() {
    return failure != null;
  }

  private void fillHeader(MemorySegment buffer, int count) {
    Mem.zero(buffer, 0, HEADER_BYTES);
    Mem.putLong(buffer, 0, MAGIC);
    Mem.putInt(buffer, COUNT, count);
    Mem.putLong(buffer, BATCH, batch);
    Mem.putInt(buffer, PAGE_SIZE, pageSize);
    for (int i = 0; i < count; i++) {
      long page = HEADER_BYTES + (long) i * pageSize;
      Mem.putLong(buffer, PIDS + 8L * i, PageHeader.pid(buffer, page));
      Mem.putInt(buffer, SUMS + 4L * i, PageHeader.checksum(buffer, page));
    }
    Mem.putLong(buffer, DATABASE, database.getMostSignificantBits());
    Mem.putLong(buffer, DATABASE + 8, database.getLeastSignificantBits());
    Mem.putInt(buffer, CHECKSUM, headerSum(buffer, 0));
  }

  private static int headerSum(MemorySegment seg, long at) {
    return Checksum.crc32c(seg, at + COUNT, HEADER_BYTES - COUNT);
  }

  // ----------------------------------------------------------------------------------- identity

  /**
   * Returns a description of contents that must not be overwritten.
   *
   * @param device the file, with any contents
   * @param database the owner that the area should have; null if it should hold nothing
   * @return the end of a sentence; null if the area may be overwritten
   */
  public static @Nullable String foreign(BlockDevice device, @Nullable UUID database) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment header = arena.allocate(HEADER_BYTES, HEADER_BYTES);
      String found = foreign(device, 0, header, database);
      // The second area follows the first, whose size depends on the page size.
      for (int size = PAGE_SIZE_MIN; size <= PAGE_SIZE_MAX && found == null; size *= 2) {
        long at = areaBytes(size);
        if (at < device.size()) {
          device.read(at, header, 0, HEADER_BYTES);
          if (Mem.getLong(header, 0) == MAGIC && Mem.getInt(header, PAGE_SIZE) == size) {
            found = foreign(device, at, header, database);
          }
        }
      }
      return found;
    }
  }

  private static @Nullable String foreign(
      BlockDevice device, long at, MemorySegment header, @Nullable UUID database) {
    if (at >= device.size()) {
      return null;
    }
    device.read(at, header, 0, HEADER_BYTES);
    long magic = Mem.getLong(header, 0);
    if (magic != MAGIC) {
      return magic == 0 ? null : "holds data, but is not a double-write area";
    }
    UUID owner = new UUID(Mem.getLong(header, DATABASE), Mem.getLong(header, DATABASE + 8));
    boolean whole = Mem.getInt(header, CHECKSUM) == headerSum(header, 0);
    // A damaged header was torn by a crash before any page of its batch was written in place.
    if (!whole || owner.equals(database) || owner.equals(UNKNOWN) && database != null) {
      return null;
    }
    return "has copies of pages of "
        + (owner.equals(UNKNOWN) ? "a database of an earlier release" : "database " + owner);
  }

  // ------------------------------------------------------------------------------------ restore

  /**
   * The result of a restore.
   *
   * @param pagesChecked the number of pages of the file that were checked
   * @param pagesRestored the number of torn pages that were restored
   * @param nextBatch the number of the next batch
   */
  public record Restored(int pagesChecked, int pagesRestored, long nextBatch) {}

  /**
   * Restores pages that were torn in place from the newest whole copy; synced on return. To be
   * called before anything reads the data file. Idempotent, so a crash during restore is harmless.
   *
   * @param device the area, with any contents
   * @param data the pages
   * @param pageSize the size of the pages
   * @return the result
   * @throws CorruptionException if the area belongs to a database with a different page size
   */
  public static Restored restore(BlockDevice device, BlockDevice data, int pageSize) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(2 * HEADER_BYTES + 2L * pageSize, HEADER_BYTES);
      Restore restore = new Restore(device, data, pageSize, memory);
      long even = restore.readHeader(0);
      long odd = restore.readHeader(1);
      int newest = even > odd ? 0 : 1;
      restore.restore(newest, Math.max(even, odd));
      restore.restore(1 - newest, Math.min(even, odd));
      data.sync(); // always: the copies of these pages are voided next
      return new Restored(restore.checked, restore.restored, Math.max(even, odd) + 1);
    }
  }

  /** One restore; memory: two headers, a page in place, a copy. */
  private static final class Restore {
    private final BlockDevice device;
    private final BlockDevice data;
    private final int pageSize;
    private final MemorySegment memory;
    private final long inPlace;
    private final long copy;
    private int checked;
    private int restored;

    Restore(BlockDevice device, BlockDevice data, int pageSize, MemorySegment memory) {
      this.device = device;
      this.data = data;
      this.pageSize = pageSize;
      this.memory = memory;
      this.inPlace = 2 * HEADER_BYTES;
      this.copy = inPlace + pageSize;
    }

    /** Returns the area's batch; 0 if it has no whole header. */
    long readHeader(int area) {
      long at = (long) area * HEADER_BYTES;
      device.read(area * areaBytes(pageSize), memory, at, HEADER_BYTES);
      long batch = Mem.getLong(memory, at + BATCH);
      int count = Mem.getInt(memory, at + COUNT);
      if (Mem.getLong(memory, at) != MAGIC
          || Mem.getInt(memory, at + CHECKSUM) != headerSum(memory, at)) {
        return 0;
      }
      int size = Mem.getInt(memory, at + PAGE_SIZE);
      if (size != pageSize) {
        throw new CorruptionException(
            "page size of the double-write area",
            -1,
            area * areaBytes(pageSize) + PAGE_SIZE,
            pageSize,
            size);
      }
      boolean sound =
          count > 0
              && count <= PAGES_MAX
              && batch > 0
              && batch < BATCH_LIMIT - 1
              && (batch & 1) == area;
      return sound ? batch : 0;
    }

    void restore(int area, long batch) {
      if (batch == 0) {
        return;
      }
      long header = (long) area * HEADER_BYTES;
      long copies = area * areaBytes(pageSize) + HEADER_BYTES;
      int count = Mem.getInt(memory, header + COUNT);
      for (int i = 0; i < count; i++) {
        long pid = Mem.getLong(memory, header + PIDS + 8L * i);
        int sum = Mem.getInt(memory, header + SUMS + 4L * i);
        restorePage(pid, sum, copies + (long) i * pageSize);
      }
    }

    private void restorePage(long pid, int sum, long copyAt) {
      // A page beyond the end: the file grew without a sync since, so the log has its image.
      if (pid <= 0 || pid >= data.size() / pageSize) {
        return;
      }
      checked++;
      data.read(pid * pageSize, memory, inPlace, pageSize);
      if (PageHeader.isValid(memory, inPlace, pageSize, pid)) {
        // It may be whole only in the page cache. After a failed sync, a later sync covers the page
        // only if it is written again, and its copy is voided next.
        data.write(pid * pageSize, memory, inPlace, pageSize);
        return;
      }
      device.read(copyAt, memory, copy, pageSize);
      if (PageHeader.checksum(memory, copy) == sum
          && PageHeader.isValid(memory, copy, pageSize, pid)) {
        data.write(pid * pageSize, memory, copy, pageSize);
        restored++;
      }
    }
  }
}
