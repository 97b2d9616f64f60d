package io.fovea.catalog;

import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.store.Companions;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The file beside the database in which a load keeps sorted runs: made with the first of them,
 * written from its beginning to its end, removed by {@link #close}. Where the database has no files
 * it is memory. What a crash leaves of it is removed when the database is opened.
 *
 * <p>One thread.
 */
final class SortFile implements AutoCloseable {
  private final @Nullable Storage storage;
  private final String suffix;
  private final LoadCounters counters;
  private @Nullable BlockDevice device;
  private long end;
  private boolean closed;

  /**
   * A file that is not made yet.
   *
   * @param storage where files are; null for none
   * @param number which of the files for runs, below {@link Storage#LOADS}
   * @param counters of what is written
   */
  SortFile(@Nullable Storage storage, int number, LoadCounters counters) {
    this.counters = counters;
    this.storage = storage;
    this.suffix = Storage.LOAD + number;
  }

  private BlockDevice device() {
    if (closed) {
      // Its name may be that of another load's by now.
      throw new IllegalStateException("The file of sorted runs is used after its end.");
    }
    BlockDevice d = device;
    if (d == null) {
      d = storage == null ? new MemoryDevice() : Companions.openTemporary(storage, suffix);
      device = d;
    }
    return d;
  }

  /** Where the next bytes go, which are a multiple of {@link SortedRuns#BLOCK}. */
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

  /** A run was written to its end. */
  void wroteRun() {
    counters.runs.increment();
  }

  /** How many bytes were written. */
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
        // What ends a load may be an interrupt, which is not to end this.
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
