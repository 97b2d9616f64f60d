package io.fovea.recovery;

import io.fovea.btree.StructureRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageGroup;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogReader;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Has the pages read that the first pass over the log will look at next, many at a time.
 *
 * <pre>
 *   log   ── first pass ──► | records ahead of it: images of p1 p2 p3 ... | ──► not looked at yet
 *                           └── pages of these are read in groups of 32 ──┘
 * </pre>
 *
 * <p>An image is applied to a page that is older, so the page is read first: after a crash, from
 * the device. One at a time they would take the device's latency each. So a second reader goes
 * through the log ahead of the first, for the page ids alone.
 *
 * <p><b>Advice.</b> Nothing is believed that it reads: what is damaged ends it, and is found again,
 * and reported, by the pass itself. A page that was not brought in is read there.
 *
 * <p><b>Cost.</b> The log is read twice, the second time mostly from the system's cache or, where
 * it is read directly, in pieces of some MiB in a row.
 *
 * <p>One thread.
 */
final class ImageAhead implements AutoCloseable, StructureRecord.Visitor {
  /** So many groups are read at a time. */
  private static final int GROUPS = 4;

  /** A page that was asked for so few others ago is on its way, or there. */
  private static final int RECENT = 1 << 10;

  private final BufferPool pool;
  private final LogReader reader;
  private final long pidLimit;
  private final int pageSize;
  private final long bytesAhead;
  private final PageGroup[] groups = new PageGroup[GROUPS];
  private final long[] recent = new long[RECENT];
  private int group;
  private boolean ended;

  /** Where the first pass has to be before more is looked at. */
  private long again;

  /**
   * Looks at nothing yet.
   *
   * @param pool its pages
   * @param reader a reader of its own, from where the pass begins; closed here
   * @param pidLimit pages from here on have all their images in the log, and are not read
   */
  ImageAhead(BufferPool pool, LogReader reader, long pidLimit) {
    this.pool = pool;
    this.reader = reader;
    this.pidLimit = pidLimit;
    this.pageSize = pool.pageSize();
    // So few that what was read is still there: an eighth of the frames, were all of it images.
    this.bytesAhead = Math.min(1 << 20, (long) pool.capacity() * pageSize >>> 3);
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = new PageGroup();
    }
  }

  /** The first pass is at a position of the log. */
  void at(long lsn) {
    if (ended || lsn < again) {
      return;
    }
    try {
      while (!ended && reader.end() < lsn + bytesAhead) {
        ended = !reader.next();
        if (!ended) {
          record();
        }
      }
      hand();
    } catch (FoveaException | IndexOutOfBoundsException e) {
      ended = true; // the pass will meet it
    }
    again = lsn + bytesAhead / 2;
  }

  private void record() {
    MemorySegment s = reader.segment();
    switch (reader.type()) {
      case RecordType.STRUCTURE, RecordType.CHAIN ->
          StructureRecord.visit(
              reader.type(), s, reader.body(), reader.bodyLength(), pageSize, reader.start(), this);
      case RecordType.FREE -> {
        if (reader.bodyLength() >= Long.BYTES) {
          want(Mem.getLong(s, reader.body()));
        }
      }
      default -> {}
    }
  }

  @Override
  public void image(long pid, long at, long end) {
    want(pid);
  }

  @Override
  public void released(long pid) {
    // Freed next, which is a record of its own.
  }

  private void want(long pid) {
    int slot = (int) (pid & RECENT - 1);
    if (pid < Superblock.CATALOG_ROOT_PID || pid >= pidLimit || recent[slot] == pid) {
      return;
    }
    recent[slot] = pid;
    groups[group].add(pid);
    if (groups[group].size() == PageGroup.CAPACITY) {
      hand();
    }
  }

  /** Has the group read that was filled, and goes on with the next when that has come. */
  private void hand() {
    if (groups[group].size() > 0) {
      pool.begin(groups[group], false);
      group = (group + 1) % GROUPS;
      groups[group].clear();
    }
  }

  @Override
  public void close() {
    for (PageGroup g : groups) {
      g.await();
    }
    reader.close();
  }
}
