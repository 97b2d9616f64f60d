package io.fovea.catalog;

import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.store.Companions;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A temporary file for the sorted runs of a load. It is created with the first run, written
 * sequentially and deleted by {@link #close}. If the database has no files, the runs stay in
 * memory. After a crash the next opening deletes the file. Confined to one thread.
 */
final class SortFile implements AutoCloseable {
  private final @Nullable Storage storage;
  private final String suffix;
  private final LoadCounters counters;
  private @Nullable BlockDevice device;
  private long end;
  private boolean closed;

  /**
   * @param storage the files of the database; null for none
   * @param number below {@link Storage#LOADS}
   */
  SortFile(@Nullable Storage storage, int number, LoadCounters counters) {
    this.counters = counters;
    this.storage = storage;
    this.suffix = Storage.LOAD + number;
  }

  private BlockDevice device() {
    if (closed) {
      // Another load's file may already have its name.
      throw new IllegalStateException("The file of sorted runs is closed.");
    }
    BlockDevice d = device;
    if (d == null) {
      d = storage == null ? new MemoryDevice() : Companions.openTemporary(storage, suffix);
      device = d;
    }
    return d;
  }

  /** Appends bytes, a multiple of {@link SortedRuns#BLOCK}; returns their position. */
  long append(MemorySegment from, int bytes) {
    long at = end;
    device().write(at, from, 0, bytes);
    end = at + bytes;
    counters.runBytes.add(bytes);
    return at;
  }

  void read(long at, MemorySegment to, long off, int bytes) {
    device().read(at, to, off, bytes);
  }

  void wroteRun() {
    counters.runs.increment();
  }

  long bytes() {
    return end;
  }

  @Override
  public void close() {
    closed = true;
    BlockDevice d = device;
    if (d == null) {
      return;
    }
    device = null;
    try {
      d.close();
    } finally {
      if (storage != null) {
        // An interrupt that ends the load must not prevent the deletion.
        boolean interrupted = Thread.interrupted();
        try {
          storage.delete(suffix);
        } finally {
          if (interrupted) {
            Thread.currentThread().interrupt();
          }
        }
      }
    }
  }
}
