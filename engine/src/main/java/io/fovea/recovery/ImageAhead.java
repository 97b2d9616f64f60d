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
 * Prefetches the pages that the first pass over the log will need next, many at a time.
 *
 * <pre>
 *   log   ── first pass ──► | records ahead of it: images of p1 p2 p3 ... | ──► not read yet
 *                           └── pages of these are read in groups of 32 ──┘
 * </pre>
 *
 * <p>An image is applied to a page that is older, so the page is read first, from the device after
 * a crash. A second reader scans the log ahead of the first, for page ids only, so that the pass
 * does not wait for each read.
 *
 * <p><b>Hints only.</b> Damage ends the prefetch and is found again, and reported, by the pass
 * itself. A page that was not prefetched is read there.
 *
 * <p><b>Cost.</b> The log is read twice, the second time mostly from the system's cache or, with
 * direct reads, in sequential pieces of a few MiB.
 *
 * <p>Used by one thread.
 */
final class ImageAhead implements AutoCloseable, StructureRecord.Visitor {
  /** The number of groups being read concurrently. */
  private static final int GROUPS = 4;

  /** A page requested at most this many requests ago is being read, or is in memory. */
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

  /** The position at which the first pass triggers the next scan. */
  private long nextScanAt;

  /**
   * Creates a prefetcher that has read nothing yet.
   *
   * @param pool its pages
   * @param reader a separate reader, at the start of the pass; closed here
   * @param pidLimit pages at or above this id have all their images in the log, and are not read
   */
  ImageAhead(BufferPool pool, LogReader reader, long pidLimit) {
    this.pool = pool;
    this.reader = reader;
    this.pidLimit = pidLimit;
    this.pageSize = pool.pageSize();
    // Few enough to keep what was read: an eighth of the frames if all of it were images.
    this.bytesAhead = Math.min(1 << 20, (long) pool.capacity() * pageSize >>> 3);
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = new PageGroup();
    }
  }

  /** Sets the position of the first pass. */
  void at(long lsn) {
    if (ended || lsn < nextScanAt) {
      return;
    }
    try {
      while (!ended && reader.end() < lsn + bytesAhead) {
        ended = !reader.next();
        if (!ended) {
          record();
        }
      }
      submitGroup();
    } catch (FoveaException | IndexOutOfBoundsException e) {
      ended = true; // the pass reports it
    }
    nextScanAt = lsn + bytesAhead / 2;
  }

  private void record() {
    MemorySegment s = reader.segment();
    switch (reader.type()) {
      case RecordType.STRUCTURE, RecordType.CHAIN ->
          StructureRecord.visit(
              reader.type(), s, reader.body(), reader.bodyLength(), pageSize, reader.start(), this);
      case RecordType.FREE -> {
        if (reader.bodyLength() >= Long.BYTES) {
          request(Mem.getLong(s, reader.body()));
        }
      }
      default -> {}
    }
  }

  @Override
  public void image(long pid, long at, long end) {
    request(pid);
  }

  @Override
  public void released(long pid) {
    // Freed next, by a separate record.
  }

  private void request(long pid) {
    int slot = (int) (pid & RECENT - 1);
    if (pid < Superblock.CATALOG_ROOT_PID || pid >= pidLimit || recent[slot] == pid) {
      return;
    }
    recent[slot] = pid;
    groups[group].add(pid);
    if (groups[group].size() == PageGroup.CAPACITY) {
      submitGroup();
    }
  }

  /** Starts reading the full group, and waits for the next one to be reusable. */
  private void submitGroup() {
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
