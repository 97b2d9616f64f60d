package io.fovea.store;

import io.fovea.btree.PlaceTable;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.MemoryFiles;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The {@link PlaceTable} of a store, from the first tree on that is remembered. Any thread; closed
 * when no transaction runs any more.
 */
final class Places {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final String name;
  private final long bytesMax;
  private final int pageSize;
  private final boolean shortcut;
  private final MemoryFiles files;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable PlaceTable table;
  private boolean closed;

  /**
   * None yet.
   *
   * @param name in log lines
   * @param config how much memory they may take, 0 for none ever; and which directory they have
   */
  Places(String name, StoreConfig config) {
    this(
        name,
        config.placeBytes(),
        config.pageSize(),
        config.placesByShortcut(),
        MemoryFiles.KERNEL);
  }

  /** With other calls of the kernel, for tests. */
  Places(String name, long bytesMax, int pageSize, boolean shortcut, MemoryFiles files) {
    this.name = name;
    this.bytesMax = bytesMax;
    this.pageSize = pageSize;
    this.shortcut = shortcut;
    this.files = files;
  }

  /** The table, which is made where there is none yet; null where there never is one. */
  @Nullable PlaceTable table() {
    PlaceTable made = table;
    if (made != null || bytesMax == 0) {
      return made;
    }
    lock.lock();
    try {
      if (table == null && !closed) {
        table = make();
      }
      return table;
    } finally {
      lock.unlock();
    }
  }

  private PlaceTable make() {
    if (shortcut) {
      try {
        return PlaceTable.shortcut(name, bytesMax, pageSize, files, MappingBudget.ofProcess());
      } catch (RefusedException e) {
        String reason = e.reason();
        LOG.log(
            Level.WARNING,
            () -> name + ": the places of records have no shortcut, and are flat. " + reason);
      }
    }
    return new PlaceTable(bytesMax, pageSize);
  }

  /** The memory that it has. */
  long bytes() {
    PlaceTable t = table;
    return t == null ? 0 : t.bytes();
  }

  /** The memory that it may have: 0 where no tree is remembered. */
  long bytesMax() {
    PlaceTable t = table;
    return t == null ? 0 : t.bytesMax();
  }

  /** Gives the memory back. */
  void close() {
    lock.lock();
    try {
      closed = true;
      PlaceTable t = table;
      if (t != null) {
        t.close();
      }
    } finally {
      lock.unlock();
    }
  }
}
