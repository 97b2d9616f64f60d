package io.fovea.store;

import io.fovea.btree.KeyLocationCache;
import io.fovea.config.LocationCacheLayout;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.MemoryFiles;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The {@link KeyLocationCache} of a store, created on first use. Thread-safe; closed after all
 * transactions have ended.
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

  KeyLocations(String name, StoreConfig config) {
    this(
        name,
        config.locationCacheBytes(),
        config.pageSize(),
        config.locationCacheLayout() == LocationCacheLayout.SHORTCUT,
        MemoryFiles.KERNEL);
  }

  /** Creates a holder whose kernel calls can be replaced by tests. */
  KeyLocations(String name, long maxBytes, int pageSize, boolean shortcut, MemoryFiles files) {
    this.name = name;
    this.maxBytes = maxBytes;
    this.pageSize = pageSize;
    this.shortcut = shortcut;
    this.files = files;
  }

  /** Returns the cache, creating it on first use; null if it is disabled. */
  @Nullable KeyLocationCache cache() {
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
            () ->
                name
                    + ": the key location cache has the layout FLAT, since SHORTCUT is not possible. "
                    + reason);
      }
    }
    return new KeyLocationCache(maxBytes, pageSize);
  }

  long bytes() {
    KeyLocationCache t = table;
    return t == null ? 0 : t.bytes();
  }

  /** Returns the memory limit in bytes, or 0 if the cache has not been created. */
  long maxBytes() {
    KeyLocationCache t = table;
    return t == null ? 0 : t.maxBytes();
  }

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
