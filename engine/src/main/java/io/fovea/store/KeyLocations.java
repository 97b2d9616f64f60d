package io.fovea.store;

import io.fovea.btree.KeyLocationCache;
import io.fovea.config.PlaceDirectory;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.MemoryFiles;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The {@link KeyLocationCache} of a store, from the first tree on that is remembered. Any thread;
 * closed when no transaction runs any more.
 */
final class KeyLocations {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final String name;
  private final long maxBytes;
  private final int pageSize;
  private final boolean shortcut;
  private final MemoryFiles files;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable KeyLocationCache table;
  private boolean closed;

  /**
   * None yet.
   *
   * @param name in log lines
   * @param config how much memory they may take, 0 for none ever; and which directory they have
   */
  KeyLocations(String name, StoreConfig config) {
    this(
        name,
        config.locationCacheBytes(),
        config.pageSize(),
        config.placeDirectory() == PlaceDirectory.SHORTCUT,
        MemoryFiles.KERNEL);
  }

  /** With other calls of the kernel, for tests. */
  KeyLocations(String name, long maxBytes, int pageSize, boolean shortcut, MemoryFiles files) {
    this.name = name;
    this.maxBytes = maxBytes;
    this.pageSize = pageSize;
    this.shortcut = shortcut;
    this.files = files;
  }

  /** The table, which is made where there is none yet; null where there never is one. */
  @Nullable KeyLocationCache table() {
    KeyLocationCache made = table;
    if (made != null || maxBytes == 0) {
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

  private KeyLocationCache make() {
    if (shortcut) {
      try {
        return KeyLocationCache.shortcut(
            name, maxBytes, pageSize, files, MappingBudget.ofProcess());
      } catch (RefusedException e) {
        String reason = e.reason();
        LOG.log(
            Level.WARNING,
            () -> name + ": the places of records have no shortcut, and are flat. " + reason);
      }
    }
    return new KeyLocationCache(maxBytes, pageSize);
  }

  /** The memory that it has. */
  long bytes() {
    KeyLocationCache t = table;
    return t == null ? 0 : t.bytes();
  }

  /** The memory that it may have: 0 where no tree is remembered. */
  long maxBytes() {
    KeyLocationCache t = table;
    return t == null ? 0 : t.maxBytes();
  }

  /** Gives the memory back. */
  void close() {
    lock.lock();
    try {
      closed = true;
      KeyLocationCache t = table;
      if (t != null) {
        t.close();
      }
    } finally {
      lock.unlock();
    }
  }
}
