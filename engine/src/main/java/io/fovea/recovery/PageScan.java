package io.fovea.recovery;

import io.fovea.btree.NodeView;
import io.fovea.buffer.PageHeader;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Reads a data file from one end to the other, page by page, without asking what refers to what:
 * checks each page by itself, and adds up what they are.
 *
 * <p>For a file that nobody writes to. One thread.
 */
public final class PageScan {
  private static final int CHUNK_BYTES = 1 << 20;

  /** What pages of one tree add up to. */
  public static final class Sum {
    private long leafPages;
    private long innerPages;
    private long longPages;
    private long entries;
    private long longValues;
    private long usedBytes;
    private long roomBytes;
    private long longBytes;
    private int levels;

    /** Leaves. */
    public long leafPages() {
      return leafPages;
    }

    /** Inner nodes. */
    public long innerPages() {
      return innerPages;
    }

    /** Pages of long values. */
    public long longPages() {
      return longPages;
    }

    /** All pages. */
    public long pages() {
      return leafPages + innerPages + longPages;
    }

    /** Entries of leaves. */
    public long entries() {
      return entries;
    }

    /** Those among them whose value is kept elsewhere. */
    public long longValues() {
      return longValues;
    }

    /** Bytes of leaves that are taken. */
    public long usedBytes() {
      return usedBytes;
    }

    /** Bytes of leaves that can be taken. */
    public long roomBytes() {
      return roomBytes;
    }

    /** Bytes of long values. */
    public long longBytes() {
      return longBytes;
    }

    /** Levels, leaves included. */
    public int levels() {
      return levels;
    }
  }

  private final BlockDevice device;
  private final int pageSize;
  private final long pages;
  private final long endLsn;
  private final Consumer<String> problem;
  private final Consumer<String> tooNew;
  private final NodeView node;
  private final SortedMap<Integer, Sum> trees = new TreeMap<>();
  private long freePages;
  private long unwrittenPages;
  private long damagedPages;
  private long maxPageLsn;

  /**
   * Prepares a scan.
   *
   * @param device the data file
   * @param pageSize the size of its pages
   * @param pages how many there are: the high-water mark
   * @param endLsn where the log ends, which no page may be beyond; {@link Long#MAX_VALUE} where
   *     that is not to be checked
   * @param problem gets what is wrong, in words
   */
  public PageScan(
      BlockDevice device, int pageSize, long pages, long endLsn, Consumer<String> problem) {
    this(device, pageSize, pages, endLsn, problem, problem);
  }

  /**
   * Prepares a scan that tells two kinds of problems apart.
   *
   * @param device the data file
   * @param pageSize the size of its pages
   * @param pages how many there are
   * @param endLsn where the log ends
   * @param problem gets what is wrong with a page by itself
   * @param tooNew gets what is beyond the end of the log
   */
  public PageScan(
      BlockDevice device,
      int pageSize,
      long pages,
      long endLsn,
      Consumer<String> problem,
      Consumer<String> tooNew) {
    this.tooNew = tooNew;
    this.device = device;
    this.pageSize = pageSize;
    this.pages = pages;
    this.endLsn = endLsn;
    this.problem = problem;
    this.node = new NodeView(pageSize);
  }

  /** Reads all pages. */
  public PageScan run() {
    int perChunk = CHUNK_BYTES / pageSize;
    try (Arena arena = Arena.ofShared()) {
      MemorySegment chunk = arena.allocate(CHUNK_BYTES, 4096);
      for (long pid = Superblock.CATALOG_ROOT_PID; pid < pages; pid += perChunk) {
        int n = (int) Math.min(perChunk, pages - pid);
        boolean read = read(chunk, 0, pid, n);
        for (int i = 0; i < n; i++) {
          long at = (long) i * pageSize;
          if (read || read(chunk, at, pid + i, 1)) {
            page(chunk, at, pid + i);
          } else {
            damaged(pid + i, "can't be read");
          }
        }
      }
    }
    return this;
  }

  private boolean read(MemorySegment chunk, long at, long pid, int n) {
    try {
      device.read(pid * pageSize, chunk, at, n * pageSize);
      return true;
    } catch (StorageException e) {
      return false;
    }
  }

  private void page(MemorySegment seg, long at, long pid) {
    if (Mem.isZero(seg, at, pageSize)) {
      unwrittenPages++;
      return;
    }
    int found = PageHeader.checksum(seg, at);
    int expected = PageHeader.sum(seg, at, pageSize);
    if (found != expected) {
      damaged(
          pid,
          "has checksum 0x"
              + Integer.toHexString(found)
              + ", its content has 0x"
              + Integer.toHexString(expected));
      return;
    }
    if (PageHeader.pid(seg, at) != pid) {
      damaged(pid, "holds page " + PageHeader.pid(seg, at));
      return;
    }
    long lsn = PageHeader.pageLsn(seg, at);
    maxPageLsn = Math.max(maxPageLsn, lsn);
    if (lsn > endLsn) {
      damagedPages++;
      tooNew.accept(where(pid) + "has LSN " + lsn + ", the log ends at " + endLsn);
    }
    Sum sum = trees.computeIfAbsent(PageHeader.treeId(seg, at), id -> new Sum());
    switch (PageHeader.type(seg, at)) {
      case PageHeader.FREE -> freePages++;
      case PageHeader.OVERFLOW -> {
        sum.longPages++;
        sum.longBytes += node.load(seg, at).partBytes();
      }
      case PageHeader.INNER -> {
        sum.innerPages++;
        sum.levels = Math.max(sum.levels, PageHeader.level(seg, at) + 1);
      }
      case PageHeader.LEAF -> leaf(seg, at, pid, sum);
      default -> damaged(pid, "has type " + PageHeader.type(seg, at));
    }
  }

  private void leaf(MemorySegment seg, long at, long pid, Sum sum) {
    sum.leafPages++;
    sum.levels = Math.max(sum.levels, 1);
    node.load(seg, at);
    if (!node.isSane()) {
      damaged(pid, "has " + node.count() + " entries, which do not fit");
      return;
    }
    sum.entries += node.count();
    sum.usedBytes += node.usedBytes();
    sum.roomBytes += node.roomBytes();
    for (int i = 0; i < node.count(); i++) {
      sum.longValues += node.isLong(i) ? 1 : 0;
    }
  }

  private void damaged(long pid, String what) {
    damagedPages++;
    problem.accept(where(pid) + what);
  }

  private String where(long pid) {
    return "page " + pid + " (file offset " + pid * pageSize + ") ";
  }

  /** What the pages of each tree add up to, by the tree's id; 0 has the free pages. */
  public SortedMap<Integer, Sum> trees() {
    return trees;
  }

  /** Pages of type FREE. */
  public long freePages() {
    return freePages;
  }

  /** Pages that are all zeros. */
  public long unwrittenPages() {
    return unwrittenPages;
  }

  /** Pages about which something was said. */
  public long damagedPages() {
    return damagedPages;
  }

  /** The highest LSN of a page. */
  public long maxPageLsn() {
    return maxPageLsn;
  }
}
