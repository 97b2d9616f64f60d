package io.fovea.buffer;

import io.fovea.bindings.Errno;
import io.fovea.copies.PageCopies;
import io.fovea.copies.PageSnapshot;
import io.fovea.error.FoveaException;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.error.StorageException;
import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * A read-only device that contains the pages of a pool in the state of a snapshot; a second pool
 * over it shows that state.
 *
 * <pre>
 *   read page p
 *     a copy for this snapshot?  ──► that one
 *     in a frame of the pool?    ──► copied, validated, sealed          │ then checked again: a copy
 *     else                       ──► from the pool's device, checked    │ by now ──► that one
 * </pre>
 *
 * <p>For why the second check decides see {@link PageCopies}. The device contains the current
 * version of a page that is in no frame, because pages leave their frames only after they were
 * written. The page may be loaded, changed and written while it is read here; then the second check
 * finds a copy. A torn page is read again.
 *
 * <p>Reads have no effect on the pool: no page is loaded, and none counts as used.
 *
 * <p>Writes are rejected. Thread-safe.
 */
public final class SnapshotDevice extends AbstractBlockDevice {
  private static final int READS_MAX = 64;

  private final BufferPool pool;
  private final Frames frames;
  private final PageCopies copies;
  private final BlockDevice below;
  private final PageSnapshot snapshot;
  private final Runnable onClose;
  private final int pageSize;

  /**
   * Creates the device of a snapshot.
   *
   * @param name its name in messages
   * @param pool the pool
   * @param below the device of that pool
   * @param snapshot the snapshot, which is closed with the device
   * @param onClose the action to run before the snapshot is closed
   */
  public SnapshotDevice(
      String name, BufferPool pool, BlockDevice below, PageSnapshot snapshot, Runnable onClose) {
    super(name, pool.pageSize());
    this.pool = pool;
    this.frames = pool.frames;
    this.copies = pool.copies();
    this.below = below;
    this.snapshot = snapshot;
    this.onClose = onClose;
    this.pageSize = pool.pageSize();
  }

  @Override
  public long size() {
    return snapshot.pidLimit() * pageSize;
  }

  @Override
  public String kind() {
    return "snapshot of " + below.kind();
  }

  // ----------------------------------------------------------------------------------------- reads

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    for (int done = 0; done < len; done += pageSize) {
      int errno = readPage((offset + done) / pageSize, seg, segOff + done);
      if (errno != 0) {
        return errno;
      }
    }
    return 0;
  }

  private int readPage(long pid, MemorySegment seg, long at) {
    if (pid >= snapshot.pidLimit()) {
      Mem.zero(seg, at, pageSize);
      return 0;
    }
    for (int round = 0, reads = 0; ; round = frames.pause(round)) {
      if (readCopy(pid, seg, at)) {
        return 0;
      }
      frames.checkOpen();
      int frame = frames.translator.locate(pid);
      boolean read;
      if (frame >= 0) {
        read = copy(frame, pid, seg, at);
      } else {
        try {
          below.read(pid * pageSize, seg, at, pageSize);
        } catch (StorageException e) {
          return e.errno() == 0 ? Errno.EIO : e.errno();
        }
        // The reader checks it too, and reports the damage.
        read = PageHeader.isValid(seg, at, pageSize, pid) || ++reads == READS_MAX;
      }
      if (read) {
        readCopy(pid, seg, at);
        return 0;
      }
    }
  }

  private boolean readCopy(long pid, MemorySegment seg, long at) {
    boolean copied;
    try {
      copied = copies.read(snapshot, pid, seg, at);
    } catch (RuntimeException e) {
      requireKept(); // otherwise the file is gone, with the copies
      throw e;
    }
    requireKept();
    return copied;
  }

  private void requireKept() {
    if (snapshot.isEvicted()) {
      throw new SnapshotTooOldException(name());
    }
  }

  private boolean copy(int frame, long pid, MemorySegment seg, long at) {
    long version = pool.optimisticUncounted(frame, pid);
    if (version == BufferPool.RESTART) {
      return false;
    }
    Mem.copy(frames.pages, frames.base(frame), seg, at, pageSize);
    if (!pool.validate(frame, version)) {
      return false;
    }
    PageHeader.seal(seg, at, pageSize);
    return true;
  }

  /**
   * Reads pages that have no copies and are in no frame, as many at a time as the pool's device can
   * read.
   *
   * <p>After any failure each entry ends, and nothing is thrown after {@code accept}: a close waits
   * for accepted entries, and a caller reuses the memory when this throws.
   */
  @Override
  public void submit(IoBatch batch) {
    int n = batch.size();
    IoBatch together = new IoBatch(Math.max(1, n));
    int[] entries = new int[n];
    accept(batch);
    int m = readTogether(batch, n, together, entries);
    for (int i = 0, k = 0; i < n; i++) {
      boolean apart = k < m && entries[k] == i;
      int errno = apart ? endApart(batch, i, together, k) : perform(batch, i);
      k += apart ? 1 : 0;
      finish(batch, i, errno);
    }
  }

  private int endApart(IoBatch batch, int i, IoBatch together, int k) {
    try {
      return isSnapshotVersion(batch, i, together, k) ? 0 : perform(batch, i);
    } catch (Throwable t) {
      return unexpected(t);
    }
  }

  /** Returns the number of entries read; {@code entries} contains their indexes. */
  private int readTogether(IoBatch batch, int n, IoBatch together, int[] entries) {
    try {
      for (int i = 0; i < n; i++) {
        if (isApart(batch, i)) {
          entries[together.size()] = i;
          together.read(batch.offset(i), batch.segment(i), batch.segmentOffset(i), batch.length(i));
        }
      }
      below.run(together);
      return together.size();
    } catch (FoveaException e) {
      return 0; // one by one: only the reader of an unreadable page gets the error
    } catch (Throwable t) {
      unexpected(t);
      return 0;
    }
  }

  /** Returns whether an entry is a page that seems to be neither copied nor in a frame. */
  private boolean isApart(IoBatch batch, int i) {
    long pid = batch.offset(i) / pageSize;
    return batch.op(i) == IoOp.READ
        && batch.length(i) == pageSize
        && pid < snapshot.pidLimit()
        && frames.translator.locate(pid) < 0
        && !copies.has(snapshot, pid);
  }

  /** Returns whether a page that was read together with others is the snapshot's version. */
  private boolean isSnapshotVersion(IoBatch batch, int i, IoBatch together, int k) {
    long pid = batch.offset(i) / pageSize;
    return together.error(k) == 0
        && PageHeader.isValid(batch.segment(i), batch.segmentOffset(i), pageSize, pid)
        && !copies.has(snapshot, pid)
        && !snapshot.isEvicted();
  }

  // --------------------------------------------------------------------------- other operations

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    return Errno.EROFS;
  }

  @Override
  protected int syncNow() {
    return 0;
  }

  @Override
  protected int resizeNow(long bytes) {
    return Errno.EROFS;
  }

  @Override
  protected void closeNow() {
    onClose.run();
    copies.close(snapshot);
  }
}
