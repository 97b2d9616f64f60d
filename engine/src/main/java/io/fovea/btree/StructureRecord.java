package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageImages;
import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Log records of structure changes: images of the changed pages, and the pages that were released.
 *
 * <pre>
 *   STRUCTURE    0        2          4      8
 *   CHAIN        +--------+----------+------+----------+-----+----------------------+-----+
 *                | images | released | zero | image 1  | ... | released page 1 (64) | ... |
 *                | 16     | 16       | 32   |          |     |                      |     |
 *                +--------+----------+------+----------+-----+----------------------+-----+
 *   CREATE_TREE  | tree id 32        | zero | image of the root |
 *                +-------------------+------+-------------------+
 *   DROPPED      | tree id 32        |
 *                +-------------------+
 * </pre>
 *
 * <p>Images are those of {@link PageImages}: they omit the free space between slots and records.
 *
 * <h2>Writing</h2>
 *
 * <ol>
 *   <li>All pages are changed first and stay latched. Then the record is reserved, filled and
 *       completed, each page gets its LSNs, and only then are the latches released. So no thread
 *       reads, writes out or changes a page whose change is not in the log, and the records of a
 *       page are in the order of its changes.
 *   <li>Log space was granted before anything was latched, and the log was alive then. An append
 *       that still fails means a defect or a log that died meanwhile, and the change cannot be
 *       undone. The pages are then <i>unwritable</i>. Their LSN is {@link Long#MAX_VALUE}, up to
 *       which the log never becomes durable, so they are never written. Their recLsn is 1, so the
 *       redo point does not pass them and the log keeps their durable changes. Readers see a sound
 *       tree; a thread that waits for durability gets an error. A crash leaves file and log as they
 *       were before the change.
 *   <li>Sibling hints set on <i>other</i> pages are not logged. A hint is checked against the
 *       fences when it is used, so any value is safe, including an old one in an image.
 * </ol>
 *
 * <h2>Reading</h2>
 *
 * <p>A body is not trusted: counts, positions and page ids are checked against its length and the
 * page size before a visitor is called.
 */
public final class StructureRecord {
  static final int NONE = -1;

  /**
   * Used instead of a record type: the page gets no record, since it is written to the file before
   * its tree is reachable.
   */
  static final int NO_IMAGE = 0;

  /** No released pages; never modified. */
  private static final LongList NO_PAGES = new LongList();

  static final int HEADER = 8;

  private static final int DROPPED_BYTES = 4;

  /** The first page after the superblocks. */
  private static final long PID_MIN = 2;

  /** Receives the parts of a record. */
  public interface Visitor {
    /**
     * Receives an image, from {@code at} to {@code end}, as {@link PageImages#apply} expects it.
     */
    void image(long pid, long at, long end);

    /** Receives a page that the change released. The same session frees it next. */
    default void released(long pid) {}
  }

  private StructureRecord() {}

  // ------------------------------------------------------------------------------------- writing

  /** Returns the log space needed for a record with {@code images} images and one released page. */
  static long space(int pageSize, int images) {
    return LogSession.space(HEADER + (long) images * PageImages.bytes(pageSize, 0, 0) + 8);
  }

  /**
   * Logs up to three changed pages and sets their LSNs. The frames are latched exclusively and stay
   * latched. Without a log the pages are only marked dirty.
   *
   * @param type STRUCTURE or CHAIN, or {@link #NO_IMAGE}
   * @param released a page that the change released, or 0
   */
  static void append(
      BufferPool pool, LogSession log, int type, long released, int a, int b, int c) {
    if (!log.isLogging() || type == NO_IMAGE) {
      mark(pool, a, 0, 0);
      mark(pool, b, 0, 0);
      mark(pool, c, 0, 0);
      return;
    }
    int images = count(a) + count(b) + count(c);
    LongList one = NO_PAGES;
    if (released != 0) {
      one = new LongList(); // commits without a split do not allocate
      one.add(released);
    }
    appendImages(pool, log, type, images | one.size() << 16, one, a, b, c);
  }

  /**
   * Logs two changed pages and many released pages. The released pages are fewer than the children
   * of an inner node, so their ids take less space than an image.
   */
  static void append(BufferPool pool, LogSession log, LongList released, int a, int b) {
    if (!log.isLogging()) {
      mark(pool, a, 0, 0);
      mark(pool, b, 0, 0);
      return;
    }
    int head = 2 | released.size() << 16;
    appendImages(pool, log, RecordType.STRUCTURE, head, released, a, b, NONE);
  }

  /** Logs the root of a new tree. */
  static void appendCreate(BufferPool pool, LogSession log, int treeId, int root) {
    if (log.isLogging()) {
      appendImages(pool, log, RecordType.CREATE_TREE, treeId, NO_PAGES, root, NONE, NONE);
    } else {
      mark(pool, root, 0, 0);
    }
  }

  private static void appendImages(
      BufferPool pool, LogSession log, int type, int head, LongList released, int a, int b, int c) {
    long start = 1;
    long end = Long.MAX_VALUE;
    try {
      int pids = released.size();
      int bytes = HEADER + 8 * pids + size(pool, a) + size(pool, b) + size(pool, c);
      long at = log.reserve(type, bytes);
      MemorySegment s = log.buffer();
      Mem.putInt(s, at, head);
      Mem.putInt(s, at + 4, 0);
      at = put(pool, s, at + HEADER, a);
      at = put(pool, s, at, b);
      at = put(pool, s, at, c);
      for (int i = 0; i < pids; i++) {
        Mem.putLong(s, at + 8L * i, released.get(i));
      }
      log.complete();
      start = log.recordStart();
      end = log.recordEnd();
    } catch (RuntimeException | Error e) {
      if (e instanceof Error) {
        pool.poolStop().stop(e);
      }
      log.cancel();
      throw e;
    } finally {
      try {
        mark(pool, a, start, end);
        mark(pool, b, start, end);
        mark(pool, c, start, end);
      } catch (Error e) {
        pool.poolStop().stop(e);
        throw e;
      }
    }
  }

  /** Logs that all pages of a tree are free. */
  static void appendDropped(LogSession log, int treeId) {
    if (!log.isLogging()) {
      return;
    }
    log.grant(LogSession.space(DROPPED_BYTES));
    long at = log.reserve(RecordType.DROPPED, DROPPED_BYTES);
    Mem.putInt(log.buffer(), at, treeId);
    log.complete();
  }

  private static int count(int frame) {
    return frame == NONE ? 0 : 1;
  }

  private static void mark(BufferPool pool, int frame, long recLsn, long pageLsn) {
    if (frame != NONE) {
      pool.markDirty(frame, recLsn, pageLsn);
    }
  }

  private static int size(BufferPool pool, int frame) {
    if (frame == NONE) {
      return 0;
    }
    int pageSize = pool.pageSize();
    int from = holeFrom(pool.pages(), pool.base(frame), pageSize);
    return PageImages.bytes(pageSize, from, holeTo(pool.pages(), pool.base(frame), pageSize, from));
  }

  private static long put(BufferPool pool, MemorySegment dst, long at, int frame) {
    if (frame == NONE) {
      return at;
    }
    MemorySegment pages = pool.pages();
    int pageSize = pool.pageSize();
    long base = pool.base(frame);
    int from = holeFrom(pages, base, pageSize);
    int to = holeTo(pages, base, pageSize, from);
    return PageImages.put(dst, at, pool.pid(frame), pages, base, pageSize, from, to);
  }

  /** Returns the offset at which the unused part of a page begins; {@link #holeTo} is its end. */
  private static int holeFrom(MemorySegment s, long base, int pageSize) {
    int from =
        switch (PageHeader.type(s, base)) {
          case PageHeader.LEAF -> BTreeNode.slotsEnd(true, BTreeNode.count(s, base));
          case PageHeader.INNER -> BTreeNode.slotsEnd(false, BTreeNode.count(s, base));
          case PageHeader.OVERFLOW ->
              OverflowChain.DATA + Mem.getInt(s, base + OverflowChain.BYTES);
          default -> pageSize;
        };
    return Math.min(from, pageSize);
  }

  private static int holeTo(MemorySegment s, long base, int pageSize, int from) {
    boolean node = PageHeader.type(s, base) != PageHeader.OVERFLOW;
    return node ? Math.max(from, pageSize - BTreeNode.heap(s, base)) : pageSize;
  }

  // ------------------------------------------------------------------------------------- reading

  /**
   * Parses the body of a STRUCTURE, CHAIN or CREATE_TREE record; images are visited before released
   * pages. Throws {@link CorruptionException} if it is inconsistent.
   */
  public static void visit(
      int type, MemorySegment s, long at, int length, int pageSize, long lsn, Visitor visitor) {
    need(HEADER, length, lsn);
    boolean create = type == RecordType.CREATE_TREE;
    int images = create ? 1 : Mem.getUnsignedShort(s, at);
    int released = create ? 0 : Mem.getUnsignedShort(s, at + 2);
    long end = at + length;
    long next = at + HEADER;
    for (int i = 0; i < images; i++) {
      next = image(s, next, end, pageSize, lsn, visitor);
    }
    if (end - next != 8L * released) {
      throw damaged("length of released pages in a log record", lsn, 8L * released, end - next);
    }
    for (; next < end; next += 8) {
      long pid = Mem.getLong(s, next);
      if (pid < PID_MIN) {
        throw damaged("a released page in a log record", lsn, PID_MIN, pid);
      }
      visitor.released(pid);
    }
  }

  private static long image(
      MemorySegment s, long at, long end, int pageSize, long lsn, Visitor visitor) {
    need(PageImages.HEADER + PageHeader.BYTES, end - at, lsn);
    long pid = Mem.getLong(s, at);
    int from = Mem.getInt(s, at + 8);
    int to = Mem.getInt(s, at + 12);
    if (from < PageHeader.BYTES || from > pageSize) {
      throw damaged("an image in a log record: hole", lsn, pageSize, from);
    }
    if (to < from || to > pageSize) {
      throw damaged("an image in a log record: end of the hole", lsn, pageSize, to);
    }
    int bytes = PageImages.bytes(pageSize, from, to);
    need(bytes, end - at, lsn);
    long inside = Mem.getLong(s, at + PageImages.HEADER + PageHeader.PID);
    if (pid < PID_MIN || pid != inside) {
      throw damaged("an image in a log record: page id", lsn, pid, inside);
    }
    visitor.image(pid, at, at + bytes);
    return at + bytes;
  }

  /**
   * Returns the tree id in a CREATE_TREE or DROPPED record, or throws {@link CorruptionException}.
   */
  public static int treeId(MemorySegment s, long at, int length, long lsn) {
    need(DROPPED_BYTES, length, lsn);
    int treeId = Mem.getInt(s, at);
    if (treeId <= 0) {
      throw damaged("tree id in a log record", lsn, 1, treeId);
    }
    return treeId;
  }

  private static void need(long bytes, long length, long lsn) {
    if (length < bytes) {
      throw damaged("length of a log record", lsn, bytes, length);
    }
  }

  private static CorruptionException damaged(String what, long lsn, long expected, long found) {
    return new CorruptionException(what + " at LSN " + lsn, -1, -1, expected, found);
  }
}
