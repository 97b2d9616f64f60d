package io.fovea.recovery;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.Watermark;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes the two superblocks of a file.
 *
 * <pre>
 *   page 0 (A)                page 1 (B), at pageSize
 *   +--------+-----------+    +--------+-----------+      the first 4096 bytes of each page;
 *   | header | body      |    | header | body      |      the rest of a larger page is zero
 *   +--------+-----------+    +--------+-----------+
 *
 *    0  page header (32 bytes, as every page has): checksum of bytes 4 to 4095, type 1, pid 0 or 1
 *   32  magic "FoveaDB\0"        40  format version, 4 bytes   44  page size, 4 bytes
 *   48  database id, 16 bytes    64  sequence, 8 bytes
 *   72  state, 4 bytes: 0 in use without a log, 1 clean, 2 in use with a log
 *   76  next tree id, 4 bytes    80  root of the catalog tree, 8 bytes
 *   88  allocator: high-water mark, head of the free list, number of free pages, 8 bytes each
 *  112  created, 8 bytes: milliseconds since 1970
 *       from version 2 on, all 0 if there never was a log, and 8 bytes each:
 *  120  redo: the LSN where replay begins
 *  128  snapshot: the LSN that the allocator's numbers refer to
 *  136  incarnation: how often the log was opened for appending
 *  144  size of the log's segments
 *  152  end: the LSN where the log of a clean file ends
 *       from version 3 on, 8 bytes each:
 *  160  durable: the LSN up to which the log was durable when this was written
 *  168  segment: the newest segment of the log that was durable then
 *       from version 4 on:
 *  176  unlogged, 8 bytes: how often changes of pages without a log began
 *  184  counted, 8 bytes: the number of the valid counts in the catalog
 *  192  highest mark, 8 bytes: the maximum of the high-water mark since redo
 *  200  holes, 8 bytes: 1 if free pages may be zeros, else 0
 *  208  changes, 8 bytes: the start of the changes retained by the log
 *  216  session, 8 bytes: a random number of the opening that changed the file last
 *  224  ancestors, up to 64 of 8 bytes each: earlier sessions, the latest first; 0 ends the list
 *       736  zero to the end
 * </pre>
 *
 * <p><b>Rules.</b> Sequence n is written to A if n is even, to B if it is odd: a torn write leaves
 * the other one whole. A write is synced before it is valid. The newer whole superblock is the
 * valid one. State 1 ends before the first page is written and is set after the last one is synced.
 *
 * <p>A new file gets sequence 0 before anything else, and with a log, sequence 1 before anything is
 * appended. So a file with sequence 0 in state 2 is empty, left by an interrupted creation, as is a
 * file of zeros no longer than A. Both are created again.
 *
 * <p>Only the first 4096 bytes are checked, so a file can be read before its page size is known: if
 * A is damaged, B is searched for at every page size.
 */
public final class SuperblockFile {
  private static final int BYTES = 4096;
  private static final int MAGIC = 32;
  private static final int VERSION = 40;
  private static final int PAGE_SIZE = 44;
  private static final int ID = 48;
  private static final int SEQUENCE = 64;
  private static final int STATE = 72;
  private static final int NEXT_TREE_ID = 76;
  private static final int CATALOG_ROOT = 80;
  private static final int HIGH_WATER = 88;
  private static final int FREE_HEAD = 96;
  private static final int FREE_PAGES = 104;
  private static final int CREATED = 112;
  private static final int REDO = 120;
  private static final int SNAPSHOT = 128;
  private static final int INCARNATION = 136;
  private static final int SEGMENT_BYTES = 144;
  private static final int END = 152;
  private static final int DURABLE = 160;
  private static final int DURABLE_SEGMENT = 168;
  private static final int UNLOGGED = 176;
  private static final int COUNTED = 184;
  private static final int MARK_MAX = 192;
  private static final int HOLES = 200;
  private static final int CHANGES = 208;
  private static final int SESSION = 216;
  private static final int ANCESTORS = 224;

  /** "FoveaDB" and a zero, in the byte order of the file. */
  private static final long MAGIC_BE = 0x466F7665_61444200L;

  /** The number of attempts to read superblocks that another process may be writing. */
  private static final int FOREIGN_READS_MAX = 20;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final int PAGE_SIZE_MIN = 4096;
  private static final int PAGE_SIZE_MAX = 65536;

  private final BlockDevice device;
  private final String path;
  private final MemorySegment block;
  private @Nullable Superblock current;

  /**
   * Creates an instance for a file.
   *
   * @param device the file
   * @param path its name, for messages
   */
  public SuperblockFile(BlockDevice device, String path) {
    this.device = device;
    this.path = path;
    this.block = Arena.ofAuto().allocate(Math.max(BYTES, device.blockSize()), 4096);
  }

  /** Returns whether a file is a database, of this or another version, whole or damaged. */
  public static boolean isDatabase(BlockDevice device) {
    SuperblockFile file = new SuperblockFile(device, "");
    boolean is = file.magicAt(0);
    for (int size = PAGE_SIZE_MIN; size <= PAGE_SIZE_MAX && !is; size *= 2) {
      is = file.magicAt(size);
    }
    return is;
  }

  private boolean magicAt(long offset) {
    if (offset >= device.size()) {
      return false;
    }
    device.read(offset, block, 0, (int) block.byteSize());
    return magic();
  }

  /** Returns the name of the file. */
  public String path() {
    return path;
  }

  /**
   * Reads the newer whole superblock.
   *
   * @return null if the file is empty, or its creation was cut short
   * @throws IncompatibleFormatException if this is not a database, or has a newer format
   * @throws CorruptionException if it is a database, but neither superblock is whole
   */
  public synchronized @Nullable Superblock read() {
    if (device.size() == 0) {
      return null;
    }
    boolean seen = false;
    Superblock a = readAt(0, 0);
    seen |= magic();
    Superblock b = null;
    if (a != null) {
      b = readAt(a.pageSize(), 1);
    } else {
      for (int size = PAGE_SIZE_MIN; size <= PAGE_SIZE_MAX && b == null; size *= 2) {
        b = readAt(size, 1);
        seen |= magic();
        b = b != null && b.pageSize() == size ? b : null;
      }
    }
    if (a == null && b == null) {
      if (device.size() <= BYTES && firstBlockIsZero()) {
        return null;
      }
      if (seen) {
        throw new CorruptionException("both superblocks of " + path, 0, 0, 1, 0);
      }
      throw new IncompatibleFormatException(
          path
              + " is not a Fovea database: it has "
              + device.size()
              + " bytes, which do not begin like a database. Open another "
              + "file, or delete this one.");
    }
    Superblock newer = a == null || b != null && b.sequence() > a.sequence() ? b : a;
    if (newer.sequence() == 0 && newer.state() == Superblock.LOGGED) {
      return null;
    }
    int pid = newer == a ? 0 : 1;
    check(pid * (long) newer.pageSize(), pid, newer);
    current = newer;
    return newer;
  }

  /**
   * Returns what was read, if the file is a database.
   *
   * @throws IncompatibleFormatException if it has no superblock
   */
  public Superblock require(@Nullable Superblock found) {
    if (found == null) {
      throw new IncompatibleFormatException(
          path + " is not a Fovea database: it is empty, or its creation was interrupted.");
    }
    return found;
  }

  /**
   * Reads the newer whole superblock of a file that another process may be writing. Either
   * superblock may be read during its write, and a file being created has only one; then both are
   * read again. Only a persistent failure is damage.
   *
   * @return as {@link #read}
   * @throws IncompatibleFormatException as {@link #read}
   * @throws CorruptionException if neither superblock is whole after repeated reads
   */
  public @Nullable Superblock readForeign() {
    for (int n = 1; ; n++) {
      try {
        return read();
      } catch (CorruptionException e) {
        if (n == FOREIGN_READS_MAX) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private static void check(long offset, int pid, Superblock s) {
    for (long lsn : new long[] {s.redoLsn(), s.snapshotLsn(), s.endLsn(), s.changes()}) {
      if (lsn < 0 || (lsn & 7) != 0) {
        throw new CorruptionException(
            "position in the log, in the superblock", pid, offset, lsn & ~7L, lsn);
      }
    }
    if (s.nextTreeId() <= Superblock.CATALOG_TREE_ID || s.incarnation() < 0) {
      throw new CorruptionException(
          "next tree id in the superblock", pid, offset, 2, s.nextTreeId());
    }
  }

  private boolean firstBlockIsZero() {
    device.read(0, block, 0, (int) block.byteSize());
    return Mem.isZero(block, 0, block.byteSize());
  }

  private boolean magic() {
    return Mem.getLongBE(block, MAGIC) == MAGIC_BE;
  }

  /** Reads the superblock at an offset; returns null if there is none or it is damaged. */
  private @Nullable Superblock readAt(long offset, int pid) {
    // A file that a crash left shorter than a block reads as zeros beyond its end.
    if (offset >= device.size()) {
      Mem.zero(block, 0, block.byteSize());
      return null;
    }
    // If a superblock is unreadable, it may be the newer one: using the other would return to the
    // state before the last checkpoint, or before the last opening.
    device.read(offset, block, 0, (int) block.byteSize());
    // Checksum first: a bit of the version may have flipped, and the other superblock may be whole.
    if (!magic() || PageHeader.checksum(block, 0) != PageHeader.sum(block, 0, BYTES)) {
      return null;
    }
    int version = Mem.getInt(block, VERSION);
    if (version > Superblock.FORMAT_VERSION && version < 1 << 16) {
      throw new IncompatibleFormatException(
          path
              + " has file format "
              + version
              + ", which is newer than "
              + Superblock.FORMAT_VERSION
              + ", the newest that this version of Fovea knows. Use a newer version.");
    }
    int pageSize = Mem.getInt(block, PAGE_SIZE);
    if (version < 1
        || PageHeader.type(block, 0) != PageHeader.SUPERBLOCK
        || PageHeader.pid(block, 0) != pid
        || pageSize < PAGE_SIZE_MIN
        || pageSize > PAGE_SIZE_MAX
        || Integer.bitCount(pageSize) != 1
        || Mem.getInt(block, STATE) < 0
        || Mem.getInt(block, STATE) > Superblock.LOGGED) {
      return null;
    }
    boolean log = version > 1;
    return new Superblock(
        pageSize,
        new UUID(Mem.getLongBE(block, ID), Mem.getLongBE(block, ID + 8)),
        Mem.getLong(block, SEQUENCE),
        Mem.getInt(block, STATE),
        Mem.getInt(block, NEXT_TREE_ID),
        Mem.getLong(block, CATALOG_ROOT),
        new AllocatorState(
            Mem.getLong(block, HIGH_WATER),
            Mem.getLong(block, FREE_HEAD),
            Mem.getLong(block, FREE_PAGES),
            Math.max(
                Mem.getLong(block, HIGH_WATER), version > 3 ? Mem.getLong(block, MARK_MAX) : 0),
            version > 3 && Mem.getLong(block, HOLES) != 0),
        Mem.getLong(block, CREATED),
        log ? Mem.getLong(block, REDO) : 0,
        log ? Mem.getLong(block, SNAPSHOT) : 0,
        log ? Mem.getLong(block, INCARNATION) : 0,
        log ? Mem.getLong(block, SEGMENT_BYTES) : 0,
        log ? Mem.getLong(block, END) : 0,
        version > 2
            ? new Watermark(Mem.getLong(block, DURABLE), Mem.getLong(block, DURABLE_SEGMENT))
            : Watermark.NONE,
        version > 3 ? Mem.getLong(block, UNLOGGED) : 0,
        version > 3 ? Mem.getLong(block, COUNTED) : 0,
        version > 3 ? Mem.getLong(block, CHANGES) : 0,
        version > 3 ? Mem.getLong(block, SESSION) : 0,
        version > 3 ? ancestors(block) : List.of());
  }

  private static List<Long> ancestors(MemorySegment block) {
    return IntStream.range(0, Superblock.ANCESTORS_MAX)
        .mapToObj(i -> Mem.getLong(block, ANCESTORS + 8L * i))
        .takeWhile(a -> a != 0)
        .toList();
  }

  /**
   * Returns the superblock that was last read or written.
   *
   * @return the valid superblock
   * @throws IllegalStateException if there is none yet
   */
  public synchronized Superblock current() {
    Superblock s = current;
    if (s == null) {
      throw new IllegalStateException("There is no superblock yet.");
    }
    return s;
  }

  /**
   * Writes a superblock and syncs it.
   *
   * @param next the new contents; the sequence is set here
   * @return what was written
   */
  public synchronized Superblock write(Superblock next) {
    Superblock s = stage(next);
    sync(s);
    return s;
  }

  /**
   * Writes a superblock that is not valid before {@link #sync}. If this fails, the other one is
   * whole, and the call may be repeated.
   *
   * @param next the new contents; the sequence is set here
   * @return what was written
   */
  public synchronized Superblock stage(Superblock next) {
    Superblock last = current;
    Superblock s = next.withSequence(last == null ? 0 : last.sequence() + 1);
    int pid = (int) (s.sequence() & 1);
    Mem.zero(block, 0, block.byteSize());
    PageHeader.setType(block, 0, PageHeader.SUPERBLOCK);
    Mem.putLong(block, PageHeader.PID, pid);
    Mem.putLongBE(block, MAGIC, MAGIC_BE);
    Mem.putInt(block, VERSION, Superblock.FORMAT_VERSION);
    Mem.putInt(block, PAGE_SIZE, s.pageSize());
    Mem.putLongBE(block, ID, s.id().getMostSignificantBits());
    Mem.putLongBE(block, ID + 8, s.id().getLeastSignificantBits());
    Mem.putLong(block, SEQUENCE, s.sequence());
    Mem.putInt(block, STATE, s.state());
    Mem.putInt(block, NEXT_TREE_ID, s.nextTreeId());
    Mem.putLong(block, CATALOG_ROOT, s.catalogRootPid());
    Mem.putLong(block, HIGH_WATER, s.allocator().highWater());
    Mem.putLong(block, FREE_HEAD, s.allocator().freeHead());
    Mem.putLong(block, FREE_PAGES, s.allocator().freePages());
    Mem.putLong(block, CREATED, s.createdMillis());
    Mem.putLong(block, REDO, s.redoLsn());
    Mem.putLong(block, SNAPSHOT, s.snapshotLsn());
    Mem.putLong(block, INCARNATION, s.incarnation());
    Mem.putLong(block, SEGMENT_BYTES, s.logSegmentBytes());
    Mem.putLong(block, END, s.endLsn());
    Mem.putLong(block, DURABLE, s.durable().lsn());
    Mem.putLong(block, DURABLE_SEGMENT, s.durable().segment());
    Mem.putLong(block, UNLOGGED, s.unlogged());
    Mem.putLong(block, COUNTED, s.counted());
    Mem.putLong(block, MARK_MAX, s.allocator().highWaterMax());
    Mem.putLong(block, HOLES, s.allocator().holes() ? 1 : 0);
    Mem.putLong(block, CHANGES, s.changes());
    Mem.putLong(block, SESSION, s.session());
    for (int i = 0; i < s.ancestors().size(); i++) {
      Mem.putLong(block, ANCESTORS + 8L * i, s.ancestors().get(i));
    }
    PageHeader.seal(block, 0, BYTES);
    device.write((long) pid * s.pageSize(), block, 0, (int) block.byteSize());
    return s;
  }

  /**
   * Makes a staged superblock valid. If this fails, it is not known which of the two is valid.
   *
   * @param staged a result of {@link #stage}
   */
  public synchronized void sync(Superblock staged) {
    device.sync();
    current = staged;
  }
}
