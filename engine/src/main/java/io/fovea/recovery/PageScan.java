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
 * Reads a data file from beginning to end, without following references: checks each page on its
 * own, and adds up their contents.
 *
 * <p>For a file that is not being written. Used by one thread.
 */
public final class PageScan {
  private static final int CHUNK_BYTES = 1 << 20;

  /** The totals of the pages of one tree. */
  public static final class Sum {
    private long leafPages;
    private long innerPages;
    private long longPages;
    private long entries;
    private long longValues;
    private long usedBytes;
    private long capacityBytes;
    private long longBytes;
    private int levels;

    /** Returns the number of leaves. */
    public long leafPages() {
      return leafPages;
    }

    /** Returns the number of inner nodes. */
    public long innerPages() {
      return innerPages;
    }

    public long longPages() {
      return longPages;
    }

    public long pages() {
      return leafPages + innerPages + longPages;
    }

    /** Returns the number of entries in leaves. */
    public long entries() {
      return entries;
    }

    /** Returns the number of entries whose values are stored in separate pages. */
    public long longValues() {
      return longValues;
    }

    /** Returns the bytes used in leaves. */
    public long usedBytes() {
      return usedBytes;
    }

    /** Returns the capacity of leaves in bytes. */
    public long capacityBytes() {
      return capacityBytes;
    }

    public long longBytes() {
      return longBytes;
    }

    /** Returns the number of levels, including leaves. */
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

  /**
   * Prepares a scan.
   *
   * @param device the data file
   * @param pageSize the size of its pages
   * @param pages the number of pages: the high-water mark
   * @param endLsn the end of the log, which no page may exceed; {@link Long#MAX_VALUE} to skip that
   *     check
   * @param problem receives problems, in words
   */
  public PageScan(
      BlockDevice device, int pageSize, long pages, long endLsn, Consumer<String> problem) {
    this(device, pageSize, pages, endLsn, problem, problem);
  }

  /**
   * Prepares a scan that separates two kinds of problems.
   *
   * @param device the data file
   * @param pageSize the size of its pages
   * @param pages the number of pages
   * @param endLsn the end of the log
   * @param problem receives problems of single pages
   * @param tooNew receives pages beyond the end of the log
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
    if (lsn > endLsn) {
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
    sum.capacityBytes += node.capacityBytes();
    for (int i = 0; i < node.count(); i++) {
      sum.longValues += node.isLong(i) ? 1 : 0;
    }
  }

  private void damaged(long pid, String what) {
    problem.accept(where(pid) + what);
  }

  private String where(long pid) {
    return "page " + pid + " (file offset " + pid * pageSize + ") ";
  }

  /** Returns the totals of each tree, by the tree's id; 0 stands for the free pages. */
  public SortedMap<Integer, Sum> trees() {
    return trees;
  }

  /** Returns the number of pages of type FREE. */
  public long freePages() {
    return freePages;
  }

  /** Returns the number of pages that are all zeros. */
  public long unwrittenPages() {
    return unwrittenPages;
  }
}
