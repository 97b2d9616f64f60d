package io.fovea.memory;

import io.fovea.bindings.Errno;
import java.util.concurrent.atomic.AtomicInteger;

/** A kernel that refuses every call of one kind, from a given one on. */
public final class RefusingFiles implements MemoryFiles {
  /** The calls that may be refused. */
  public enum Call {
    CREATE,
    RESIZE,
    ALLOCATE,
    MAP,
    POPULATE
  }

  private final Call refused;
  private final int after;
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger open = new AtomicInteger();
  private volatile boolean forgiven;

  /** Refuses a call except for the first {@code after} times. */
  public RefusingFiles(Call refused, int after) {
    this.refused = refused;
    this.after = after;
  }

  /** Refuses nothing from now on. */
  public void stopRefusing() {
    forgiven = true;
  }

  /** Returns the number of open files. */
  public int open() {
    return open.get();
  }

  /** Returns how often the call was refused. */
  public int refusals() {
    return Math.max(0, calls.get() - after);
  }

  private boolean refuses(Call call) {
    return call == refused && !forgiven && calls.incrementAndGet() > after;
  }

  @Override
  public int create(String name) {
    if (refuses(Call.CREATE)) {
      return -Errno.EPERM;
    }
    int fd = KERNEL.create(name);
    if (fd >= 0) {
      open.incrementAndGet();
    }
    return fd;
  }

  @Override
  public int resize(int fd, long bytes) {
    return refuses(Call.RESIZE) ? -Errno.ENOMEM : KERNEL.resize(fd, bytes);
  }

  @Override
  public int allocate(int fd, long off, long len) {
    return refuses(Call.ALLOCATE) ? -Errno.ENOSPC : KERNEL.allocate(fd, off, len);
  }

  @Override
  public long map(long address, long len, int fd, long off) {
    return refuses(Call.MAP) ? -Errno.ENOMEM : KERNEL.map(address, len, fd, off);
  }

  @Override
  public int populate(long address, long len, boolean write) {
    return refuses(Call.POPULATE) ? -Errno.ENOMEM : KERNEL.populate(address, len, write);
  }

  @Override
  public int close(int fd) {
    open.decrementAndGet();
    return KERNEL.close(fd);
  }
}
